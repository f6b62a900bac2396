//! Faults at the store calls of what concerns notes of several rows while they move: every note is as before or as after, under
//! both forms, and after an hour no part is nobody's.
//!
//! A call fails in one way of moving of several, in the next one another call: all calls do, and no way is left out.

use std::time::Duration;

use tablemodel::{Consistency, IndexState, prelude::*, testing::TestDatabase};

use super::{Before, Kept, Notes, assert_clean, filled, kept::notes, next, of_all, orphans, program, rows};
use crate::moves::{crashes::at_calls, states, told_or_unknown};

/// The ways of moving that the module above has.
const WAYS: [&str; 7] = [
    "one_to_several",
    "one_to_others",
    "several_to_one",
    "others_to_one",
    "several_to_others",
    "others_to_several",
    "several_to_several",
];

/// One call of so many, another for each way and mode.
fn some(step: usize, way: &str, mode: Consistency) -> (usize, usize) {
    let number =
        WAYS.iter().position(|known| *known == way).expect("a way") * 2 + usize::from(mode == Consistency::Azure);
    (number % step, step)
}

/// After this a part that no head names is nobody's.
const GRACE: Duration = Duration::from_secs(3_700);

/// What is done to the notes: each is one operation.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Insert,
    Grow,
    Shrink,
    Patch,
    /// To another key of the new form.
    Retitle,
    /// To another key of the old form.
    Reshelve,
    Delete,
}

const OPERATIONS: [Operation; 7] = [
    Operation::Insert,
    Operation::Grow,
    Operation::Shrink,
    Operation::Patch,
    Operation::Retitle,
    Operation::Reshelve,
    Operation::Delete,
];

impl Operation {
    async fn run<N: Kept>(self, db: &Database) -> tablemodel::Result<()> {
        let mut there = N::one(db, ("S0", 1), "Alba").await?.expect("there");
        match self {
            Self::Insert => return db.insert(&N::made(("S0", 5), ("Brut".into(), 3, 9))).await.map(drop),
            Self::Patch => return N::patch(db, ("S0", 1), "Alba", 7).await,
            Self::Delete => return told_or_unknown(db.delete(there).await),
            Self::Grow => there.set(("Alba".into(), 3, 0)),
            Self::Shrink => there.set(("Alba".into(), 0, 0)),
            Self::Retitle => there.set(("S1".into(), 2, 0)),
            Self::Reshelve => {
                *there = N::made(("S1", 6), ("Alba".into(), 1, 0));
                return told_or_unknown(db.rekey(&mut there).await);
            }
        }
        db.save(&mut there).await
    }

    /// What it makes of the notes.
    fn told(self, notes: &mut Notes) {
        let key = |shelf: &str, id: u32| (shelf.to_owned(), id);
        match self {
            Self::Insert => drop(notes.insert(key("S0", 5), ("Brut".into(), 3, 9))),
            Self::Grow => drop(notes.insert(key("S0", 1), ("Alba".into(), 3, 0))),
            Self::Shrink => drop(notes.insert(key("S0", 1), ("Alba".into(), 0, 0))),
            Self::Patch => drop(notes.insert(key("S0", 1), ("Alba".into(), 1, 7))),
            Self::Retitle => drop(notes.insert(key("S0", 1), ("S1".into(), 2, 0))),
            Self::Reshelve => {
                notes.remove(&key("S0", 1));
                notes.insert(key("S1", 6), ("Alba".into(), 1, 0));
            }
            Self::Delete => drop(notes.remove(&key("S0", 1))),
        }
    }
}

/// A store whose notes have both forms.
async fn applied<Was: Before, Old: Kept>(mode: Consistency) -> (TestDatabase, Database) {
    let store = filled::<Was>(mode, 2).await;
    let db = next::<Old::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    (store, db)
}

/// Switches, and gives what the new form then says, of which nothing is beside it.
async fn finish<New: Kept>(store: &TestDatabase, told: &str) -> Notes {
    let db = next::<New::Model>(store).await;
    db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    let was = notes::<New>(&db).await.expect("complete shadows can be read");
    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    store.clock().advance(GRACE);
    let repaired = db.repair().await.expect("repair runs");
    assert!(repaired.left.is_empty(), "{told}: {repaired:#?}");
    assert_clean(&db, told).await;
    assert_eq!(notes::<New>(&db).await.expect("read"), was, "{told}");
    assert_eq!((rows(&db, 1).await.len(), orphans(&db, 2).await), (0, vec![]), "{told}");
    was
}

async fn written<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    let (_store, db) = applied::<Was, Old>(mode).await;
    let before = notes::<Old>(&db).await.expect("read");
    for operation in OPERATIONS {
        let mut after = before.clone();
        operation.told(&mut after);
        let calls = at_calls::<Was::Model, _, _>(
            some(5, told, mode),
            async || applied::<Was, Old>(mode).await,
            async |db| operation.run::<Old>(db).await,
            async |store, at| {
                let told = format!("{told} {operation:?} {at}");
                let db = program::<Old::Model>(store).await;
                assert_clean(&db, &told).await;
                let now = notes::<Old>(&db).await.expect("read");
                assert!(now == before || now == after, "{told}: {now:?}");
                drop(db);
                store.clock().advance(Duration::from_secs(130));
                assert_eq!(finish::<New>(store, &told).await, now, "{told}");
            },
        )
        .await;
        assert!(calls > 2, "{told} {operation:?}: {calls} calls");
    }
}

#[tokio::test]
async fn a_write_that_died_anywhere_leaves_both_forms_of_several_rows_alike() {
    of_all!(written);
}

async fn taken_up<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    at_calls::<Was::Model, _, _>(
        some(14, told, mode),
        async || {
            let store = filled::<Was>(mode, 2).await;
            let db = program::<Old::Model>(&store).await;
            (store, db)
        },
        async |db| {
            db.ensure_tables().await?;
            db.migrations().apply().workers(1).await.map(drop)
        },
        async |store, at| {
            let told = format!("{told} {at}");
            let was = notes::<Old>(&program::<Old::Model>(store).await).await.expect("read");
            assert_eq!((was.len(), finish::<New>(store, &told).await), (4, was), "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_application_over_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(taken_up);
}

async fn switched<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    at_calls::<Was::Model, _, _>(
        some(14, told, mode),
        async || {
            let (store, db) = applied::<Was, Old>(mode).await;
            drop(db);
            store.clock().advance(Duration::from_secs(130));
            let db = next::<New::Model>(&store).await;
            (store, db)
        },
        async |db| db.migrations().contract().await.map(drop),
        async |store, at| {
            let told = format!("{told} {at}");
            let db = program::<New::Model>(store).await;
            assert_clean(&db, &told).await;
            assert_eq!(notes::<New>(&db).await.expect("read").len(), 4, "{told}");
            db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            drop(db);
            assert_eq!(finish::<New>(store, &told).await.len(), 4, "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_switch_to_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(switched);
}

async fn taken_back<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    at_calls::<Was::Model, _, _>(
        some(14, told, mode),
        async || applied::<Was, Old>(mode).await,
        async |db| db.migrations().rollback().await.map(drop),
        async |store, at| {
            let told = format!("{told} {at}");
            let db = program::<Old::Model>(store).await;
            let is_over = states(&db).await == [IndexState::Absent]
                && db.migrations().plan().await.expect("planned").unfinished.is_none();
            if !is_over {
                db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            }
            assert_clean(&db, &told).await;
            assert_eq!(notes::<Old>(&db).await.expect("read").len(), 4, "{told}");
            assert!(rows(&db, 2).await.is_empty(), "{told}");
            drop(db);
            assert_eq!(finish::<New>(store, &told).await.len(), 4, "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_rollback_of_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(taken_back);
}
