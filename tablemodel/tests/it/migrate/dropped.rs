//! Tables that are dropped, by a program that dies meanwhile.

use std::time::Duration;

use tablemodel::{
    ErrorKind,
    prelude::*,
    testing::{Fault, Script},
};

use super::{MODES, assert_clean, store_of};

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
        let prepared = store_of::<Houses>(mode).await;
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
