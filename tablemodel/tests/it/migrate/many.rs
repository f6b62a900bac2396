//! More steps than one batch has room for the states of.

use std::{collections::BTreeSet, time::Duration};

use tablemodel::{
    IndexState,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, all_rows, assert_clean, crashes::moves_of_states, next, store_of};

/// Two entities without an index, and with fifty each.
macro_rules! release {
    ($name:ident $(, $index:ident $row:literal)*) => {
        mod $name {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Things", partition = "{place}", row = "cup_{id:04}")]
            $(#[table(index($index, row = $row, keys_only))])*
            pub(super) struct Cup {
                pub(super) place: String,
                pub(super) id: u32,
            }

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Plates", partition = "{place}", row = "plate_{id:04}")]
            $(#[table(index($index, row = $row, keys_only))])*
            pub(super) struct Plate {
                pub(super) place: String,
                pub(super) id: u32,
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Things {
                Cup(Cup),
                Plate(Plate),
            }
        }
    };
}

release!(bare);
release!(
    full,
    by_00 "x00_{id:04}", by_01 "x01_{id:04}", by_02 "x02_{id:04}", by_03 "x03_{id:04}", by_04 "x04_{id:04}",
    by_05 "x05_{id:04}", by_06 "x06_{id:04}", by_07 "x07_{id:04}", by_08 "x08_{id:04}", by_09 "x09_{id:04}",
    by_10 "x10_{id:04}", by_11 "x11_{id:04}", by_12 "x12_{id:04}", by_13 "x13_{id:04}", by_14 "x14_{id:04}",
    by_15 "x15_{id:04}", by_16 "x16_{id:04}", by_17 "x17_{id:04}", by_18 "x18_{id:04}", by_19 "x19_{id:04}",
    by_20 "x20_{id:04}", by_21 "x21_{id:04}", by_22 "x22_{id:04}", by_23 "x23_{id:04}", by_24 "x24_{id:04}",
    by_25 "x25_{id:04}", by_26 "x26_{id:04}", by_27 "x27_{id:04}", by_28 "x28_{id:04}", by_29 "x29_{id:04}",
    by_30 "x30_{id:04}", by_31 "x31_{id:04}", by_32 "x32_{id:04}", by_33 "x33_{id:04}", by_34 "x34_{id:04}",
    by_35 "x35_{id:04}", by_36 "x36_{id:04}", by_37 "x37_{id:04}", by_38 "x38_{id:04}", by_39 "x39_{id:04}",
    by_40 "x40_{id:04}", by_41 "x41_{id:04}", by_42 "x42_{id:04}", by_43 "x43_{id:04}", by_44 "x44_{id:04}",
    by_45 "x45_{id:04}", by_46 "x46_{id:04}", by_47 "x47_{id:04}", by_48 "x48_{id:04}", by_49 "x49_{id:04}"
);

async fn filled(mode: tablemodel::Consistency) -> TestDatabase {
    let store = store_of::<bare::Things>(mode).await;
    store.insert(&bare::Cup { place: "shelf".into(), id: 1 }).await.expect("written");
    store.insert(&bare::Plate { place: "shelf".into(), id: 1 }).await.expect("written");
    store.clock().advance(Duration::from_secs(130));
    store
}

async fn assert_all_there(db: &Database, told: &str) {
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    assert_clean(db, told).await;
    assert_eq!(full::Cup::by_49().place("shelf").id(1).count(db).await.expect("readable"), 1, "{told}");
    assert_eq!(all_rows(db, "Plates").await.len(), 51, "{told}");
}

#[tokio::test]
async fn more_indexes_than_a_batch_has_room_for_are_built_and_taken_back() {
    for mode in MODES {
        let (store, told) = (filled(mode).await, format!("{mode:?}"));
        let db = next::<full::Things>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_all_there(&db, &told).await;
        let gone = db.migrations().rollback().await.expect("taken back");
        assert!(gone.steps.len() == 100 && gone.steps.iter().all(|step| step.state == IndexState::Absent), "{told}");
        assert_eq!(all_rows(&db, "Plates").await.len(), 1, "{told}");
    }
}

/// It dies after each call that writes states: between two such batches, too, of each state.
#[tokio::test]
async fn a_call_that_died_between_two_batches_of_states_is_gone_on_with() {
    // Few entities are migrated when tables are ensured, in the atomic mode.
    let build = async |db: &Database| {
        db.ensure_tables().await?;
        db.migrations().apply().workers(1).await
    };
    for mode in MODES {
        let whole = filled(mode).await;
        let store = whole.fork().expect("in memory");
        let db = super::program::<full::Things>(&store).await;
        store.forget_calls();
        build(&db).await.expect("applied");
        let mut halves = BTreeSet::new();
        for call in moves_of_states(&store.calls()) {
            let (store, told) = (whole.fork().expect("in memory"), format!("{mode:?}, call {call}"));
            let db = super::program::<full::Things>(&store).await;
            store.fail(Script::new().at(call, Fault::CrashAfter));
            let _ = build(&db).await;
            drop(db);
            store.fail(Script::new());
            let store = store.reopen::<bare::Things>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = super::program::<full::Things>(&store).await;
            let Some(status) = db.migrations().status().await.expect("read") else { continue };
            let met: BTreeSet<_> = status.steps.into_iter().map(|step| step.state).collect();
            if met.len() == 2 && halves.insert(met) {
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_all_there(&db, &told).await;
            }
        }
        assert_eq!(halves.len(), 3, "{mode:?}: {halves:?}");
    }
}

#[tokio::test]
async fn a_program_without_many_indexes_says_so_of_all() {
    for mode in MODES {
        let (store, told) = (filled(mode).await, format!("{mode:?}"));
        next::<full::Things>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let old = next::<bare::Things>(&store).await;
        old.insert(&bare::Cup { place: "shelf".into(), id: 9 }).await.expect("written");
        drop(old);
        let db = super::program::<full::Things>(&store).await;
        let steps = db.migrations().plan().await.expect("planned").steps;
        assert!(
            steps.len() == 100 && steps.iter().all(|step| step.state == IndexState::WriteOnly),
            "{told}: {steps:?}"
        );
    }
}
