//! A holder that one batch changes several times: what an earlier change copies is held by nobody in the end.

use tablemodel::{ErrorKind, prelude::*, testing::TestDatabase};

use super::settle;
use crate::migrate::{MODES, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rooms", partition = "{id}", row = "room")]
struct Room {
    id: u8,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Room)]
struct Sign {
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Desks", partition = "{floor}", row = "desk_{id:02}")]
struct Desk {
    floor: String,
    id: u8,
    room: Option<u8>,
    #[table(copy_of(Room, key(id = room), on_delete = restrict))]
    sign: Option<Sign>,
}

#[derive(Debug, PartialEq, TableModel)]
enum Office {
    Room(Room),
    Desk(Desk),
}

fn desk(room: Option<u8>) -> Desk {
    Desk { floor: "a".into(), id: 1, room, sign: None }
}

async fn with_rooms() -> Vec<TestDatabase> {
    let mut made = Vec::new();
    for mode in MODES {
        let db = store_of::<Office>(mode).await;
        for id in 0..3 {
            db.insert(&Room { id, name: format!("room {id}") }).await.unwrap();
        }
        made.push(db);
    }
    made
}

/// That this room is held by the desk, and no other is.
async fn assert_held(db: &TestDatabase, held: Option<u8>) {
    settle(db).await;
    assert!(db.verify().await.unwrap().is_clean());
    for id in 0..3 {
        let room = Room::find().id(id).one(db).await.unwrap().unwrap();
        let kind = db.delete(room).await.map_err(|error| error.kind().clone());
        assert_eq!(kind.is_ok(), held != Some(id), "{:?}: {id}: {kind:?}", db.consistency());
        assert!(kind.is_ok() || matches!(kind, Err(ErrorKind::Restricted { .. })), "{kind:?}");
    }
    settle(db).await;
    db.clock().advance(std::time::Duration::from_secs(3_000));
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{:?}: {:?}", db.consistency(), verified.violations);
}

#[tokio::test]
async fn a_source_that_a_later_change_of_the_batch_does_not_name_is_free_at_once() {
    for db in with_rooms().await {
        let mut batch = db.batch(Desk::in_partition("a"));
        batch.upsert(&desk(Some(0))).upsert(&desk(Some(2))).upsert(&desk(Some(1)));
        batch.commit().await.unwrap();
        assert_held(&db, Some(1)).await;
    }
}

#[tokio::test]
async fn a_source_of_a_holder_that_the_batch_deletes_is_free_at_once() {
    for db in with_rooms().await {
        let stored = db.insert(&desk(None)).await.unwrap();
        let mut batch = db.batch(Desk::in_partition("a"));
        batch.upsert(&desk(Some(0))).delete(stored);
        batch.commit().await.unwrap();
        assert_held(&db, None).await;
    }
}

#[tokio::test]
async fn a_source_that_the_last_change_names_is_held() {
    for db in with_rooms().await {
        let stored = db.insert(&desk(Some(0))).await.unwrap();
        let mut batch = db.batch(Desk::in_partition("a"));
        batch.delete(stored).insert(&desk(Some(2)));
        batch.commit().await.unwrap();
        assert_held(&db, Some(2)).await;
    }
}
