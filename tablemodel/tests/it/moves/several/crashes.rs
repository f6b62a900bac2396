//! Faults at the store calls of what concerns notes of several rows while they move: every note is as before or as after, under
//! both forms, and after an hour no part is nobody's.
//!
//! In a usual run few calls fail of each way of moving, other ones of the next.

use std::time::Duration;

use tablemodel::{Consistency, IndexState, prelude::*, testing::TestDatabase};

use super::{Before, Kept, Notes, assert_clean, filled, kept::notes, next, of_all, orphans, program, rows};
use crate::{
    crashes::{GONE, replay},
    moves::{states, told_or_unknown},
};

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

/// A store whose notes have both forms, as a program left it that has ended.
async fn applied<Was: Before, Old: Kept>(mode: Consistency) -> TestDatabase {
    let store = filled::<Was>(mode, 2).await;
    let db = next::<Old::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    db.close().await.expect("ended");
    store
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
    let both = applied::<Was, Old>(mode).await;
    let before = notes::<Old>(&program::<Old::Model>(&both).await).await.expect("read");
    for operation in OPERATIONS {
        let mut after = before.clone();
        operation.told(&mut after);
        let calls = replay::<Was::Model, _, _>(
            (&format!("{told} {operation:?}"), 1),
            &both,
            async |store| program::<Old::Model>(store).await,
            async |db| operation.run::<Old>(db).await,
            async |store, told| {
                let db = program::<Old::Model>(store).await;
                assert_clean(&db, told).await;
                let now = notes::<Old>(&db).await.expect("read");
                assert!(now == before || now == after, "{told}: {now:?}");
                drop(db);
                store.clock().advance(GONE);
                assert_eq!(finish::<New>(store, told).await, now, "{told}");
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
    replay::<Was::Model, _, _>(
        (told, 6),
        &filled::<Was>(mode, 2).await,
        async |store| program::<Old::Model>(store).await,
        async |db| {
            db.ensure_tables().await?;
            db.migrations().apply().workers(1).await.map(drop)
        },
        async |store, told| {
            let was = notes::<Old>(&program::<Old::Model>(store).await).await.expect("read");
            assert_eq!((was.len(), finish::<New>(store, told).await), (4, was), "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_application_over_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(taken_up);
}

async fn switched<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    replay::<Was::Model, _, _>(
        (told, 6),
        &applied::<Was, Old>(mode).await,
        async |store| next::<New::Model>(store).await,
        async |db| db.migrations().contract().await.map(drop),
        async |store, told| {
            let db = program::<New::Model>(store).await;
            assert_clean(&db, told).await;
            assert_eq!(notes::<New>(&db).await.expect("read").len(), 4, "{told}");
            db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            drop(db);
            assert_eq!(finish::<New>(store, told).await.len(), 4, "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_switch_to_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(switched);
}

async fn taken_back<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    replay::<Was::Model, _, _>(
        (told, 6),
        &applied::<Was, Old>(mode).await,
        async |store| program::<Old::Model>(store).await,
        async |db| db.migrations().rollback().await.map(drop),
        async |store, told| {
            let db = program::<Old::Model>(store).await;
            let is_over = states(&db).await == [IndexState::Absent]
                && db.migrations().plan().await.expect("planned").unfinished.is_none();
            if !is_over {
                db.migrations().rollback().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            }
            assert_clean(&db, told).await;
            assert_eq!(notes::<Old>(&db).await.expect("read").len(), 4, "{told}");
            assert!(rows(&db, 2).await.is_empty(), "{told}");
            drop(db);
            assert_eq!(finish::<New>(store, told).await.len(), 4, "{told}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_rollback_of_several_rows_that_died_anywhere_is_taken_up() {
    of_all!(taken_back);
}
