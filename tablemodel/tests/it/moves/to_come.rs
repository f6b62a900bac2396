//! What a later release keeps beside an entity that moves: no switch takes it away, nor leaves it behind.

use tablemodel::{
    ErrorKind, Properties, RowKey,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{MODES, assert_clean, filled, first, new_flights, new_rows, next, old_flights, old_rows, program, second};

/// Where entities of either form stand: a table, and a partition.
const OLD: [&str; 2] = ["Flights", "C0"];
const NEW: [&str; 2] = ["Departures", super::ORIGINS[0]];

/// An intent of an archive, which relays would work on, and a row beside the entities.
fn to_come() -> [(String, &'static str); 2] {
    [(format!("~~out_archive|f_00001|{}", "0".repeat(32)), "~to-archive"), ("~~later|f_00001".to_owned(), "~later")]
}

/// Puts them into a partition of entities of that version.
async fn plant(store: &TestDatabase, [table, partition]: [&str; 2], version: u32) {
    for (row, kind) in to_come() {
        let properties = Properties::from_iter([("EntityType", format!("Flight.{kind}@{version}"))]);
        let batch = Batch::new(table, partition).with(row, Action::Insert(properties));
        store.store().commit(&[batch]).await.expect("planted");
    }
}

/// How many of them are there.
async fn planted(store: &TestDatabase, [table, partition]: [&str; 2]) -> usize {
    let mut there = 0;
    for (row, _) in to_come() {
        let found = store.store().get(table, &RowKey::new(partition, row)).await.expect("read");
        there += usize::from(found.is_some());
    }
    there
}

#[tokio::test]
async fn no_switch_takes_away_what_only_a_later_release_has() {
    for mode in MODES {
        let store = filled(mode, 1, 5).await;
        let old = next::<first::Model>(&store).await;
        old.migrations().apply().await.expect("applied");
        let flights = old_flights(&old, 1).await;
        drop(old);
        plant(&store, OLD, 1).await;

        let new = program::<second::Model>(&store).await;
        new.ensure_tables().await.expect("ensured");
        // Each of them, alone too.
        for (row, kind) in to_come() {
            let error = new.migrations().contract().await.expect_err("a row of the old form is of a later release");
            assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Flight")), "{mode:?}: {error}");
            assert!(error.to_string().contains("Flight.~"), "{error}");
            assert!(error.to_string().contains("`contract` again"), "{error}");
            let others = planted(&store, OLD).await;
            let delete = Batch::new(OLD[0], OLD[1]).with(row, Action::Delete(Condition::Exists));
            store.store().commit(&[delete]).await.expect("it was there");
            assert_eq!(planted(&store, OLD).await, others - 1, "{mode:?}: {kind}");
        }
        let old = program::<first::Model>(&store).await;
        assert_eq!(old_flights(&old, 1).await, flights, "{mode:?}: the old form is open again");
        drop(old);
        new.migrations().contract().await.expect("switched");
        assert_clean(&new, "switched").await;
        assert_eq!(new_flights(&new, 1).await.expect("readable"), flights);
        assert!(old_rows(&new).await.is_empty());
    }
}

#[tokio::test]
async fn a_move_that_is_taken_back_leaves_what_only_a_later_release_has() {
    for mode in MODES {
        let store = filled(mode, 1, 5).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let flights = old_flights(&db, 1).await;
        plant(&store, NEW, 2).await;
        db.migrations().rollback().await.expect("taken back");
        assert_eq!(planted(&store, NEW).await, 2, "{mode:?}");
        assert!(new_rows(&db).await.is_empty());
        assert_eq!(old_flights(&db, 1).await, flights);
    }
}
