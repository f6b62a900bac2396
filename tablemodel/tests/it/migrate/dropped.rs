//! Tables that are dropped: by a program that dies meanwhile, and beside another that has them open.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    testing::{Fault, Script},
};

use super::{Club, MODES, Person, assert_clean, first, next, program, store};

/// Whose index stands in a table that is dropped before its own.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rooms", partition = "{house}", row = "r_{id:04}")]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{house}_{id:04}", keys_only))]
struct Room {
    house: String,
    id: u32,
    name: String,
}

#[derive(Debug, TableModel)]
enum Houses {
    Room(Room),
}

const ROOMS: u32 = 3;

#[tokio::test]
async fn what_is_left_of_a_drop_that_was_cut_short_is_never_found_in_part() {
    for mode in MODES {
        let prepared = super::store_of::<Houses>(mode).await;
        for id in 0..ROOMS {
            prepared.insert(&Room { house: "A".into(), id, name: "blue".into() }).await.expect("written");
        }
        let mut cut = 0;
        for call in 0.. {
            let store = prepared.fork().expect("a copy");
            store.fail(Script::new().at(call, Fault::CrashAfter));
            if store.drop_tables().await.is_ok() {
                break;
            }
            cut += 1;
            store.fail(Script::new());
            store.clock().advance(Duration::from_secs(130));
            let db = store.reopen::<Houses>().await.expect("another program");
            db.ensure_tables().await.expect("ensured");
            let there = Room::find().house("A").all(&db).await.expect("read").len();
            match Room::by_name().name("blue").all(&db).await {
                Ok(found) => assert_eq!(found.len(), there, "{mode:?}, after call {call}"),
                Err(error) => assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{error}"),
            }
            db.migrations().apply().await.expect("applied").into_result().expect("complete");
            let found = Room::by_name().name("blue").all(&db).await.expect("built").len();
            assert_eq!(found, there, "{mode:?}, after call {call}");
            assert_clean(&db, &format!("{mode:?}, after call {call}")).await;
        }
        assert!(cut >= 5, "{cut}");
    }
}

/// The states of indexes begin anew with the tables: that they have changed, no number of changes tells.
#[tokio::test]
async fn who_has_the_tables_open_looks_at_the_states_of_those_that_are_made_again() {
    let store = store(Consistency::Azure).await;
    let old = program::<first::Club>(&store).await;
    let new = program::<Club>(&store).await;
    old.insert(&first::person("c0", 1)).await.expect("written");
    new.drop_tables().await.expect("dropped");
    new.ensure_tables().await.expect("made again");
    for id in 2..8 {
        store.clock().advance(Duration::from_secs(15)); // its lease never ends
        old.insert(&first::person("c0", id)).await.expect("written");
    }
    let new = next::<Club>(&store).await;
    let unready = Person::by_city().club("c0").all(&new).await.map(|found| found.len()).expect_err("it lacks persons");
    assert!(matches!(unready.kind(), ErrorKind::IndexNotReady { .. }), "{unready}");
    new.migrations().apply().await.expect("applied").into_result().expect("complete");
    assert_eq!(Person::by_city().club("c0").all(&new).await.expect("built").len(), 6);
    assert_clean(&new, "built").await;
}
