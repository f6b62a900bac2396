//! What a move does, in both modes.

use tablemodel::{Consistency, ErrorKind, RowKey, prelude::*, testing::TestDatabase};

use super::{Guest, MODES, Member, all_rows, assert_exact, database, find, guests, member, members, settle};

#[tokio::test]
async fn an_entity_moves_with_all_its_rows_and_is_current_again() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let db = database(mode).await;
        let mut moved = db.insert(&member("A", 1)).await.unwrap();
        db.insert(&Member { seat: Some(9), ..member("B", 2) }).await.unwrap();
        moved.club = "B".into();
        db.rekey(&mut moved).await.unwrap();
        assert_eq!(moved.key(), &RowKey::new("B", "m_0001"));
        let expected = [member("B", 1), Member { seat: Some(9), ..member("B", 2) }];
        assert_eq!(members(&db).await, expected, "{told}");
        assert_exact(&db, &told).await;

        moved.name = "Ann".into();
        db.save(&mut moved).await.unwrap(); // what it gave back can be saved
        (moved.club, moved.id, moved.name) = ("C".into(), 7, "Bea".into());
        db.rekey(&mut moved).await.unwrap(); // another row key, and another field with it
        (moved.club, moved.id) = ("A".into(), 1);
        db.rekey(&mut moved).await.unwrap(); // back to a key where it has been
        assert_exact(&db, &told).await;
        let found = Member::by_email().email("e1@x").one(&db).await.unwrap().unwrap();
        assert_eq!((found.club.as_str(), found.name.as_str()), ("A", "Bea"));
        db.delete(found).await.unwrap();
        db.insert(&Member { email: Some("e1@x".into()), ..member("C", 3) }).await.unwrap();
        settle(&db).await;
        assert_exact(&db, &told).await;
    }
}

#[tokio::test]
async fn values_change_with_the_move_or_are_let_go() {
    for mode in MODES {
        let db = database(mode).await;
        let mut moved = db.insert(&member("A", 1)).await.unwrap();
        (moved.club, moved.email, moved.nick, moved.seat) = ("B".into(), Some("new@x".into()), None, Some(4));
        db.rekey(&mut moved).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
        db.insert(&member("A", 1)).await.unwrap(); // what it let go is free
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn an_entity_without_rows_elsewhere_moves_and_leaves_nothing() {
    for mode in MODES {
        let db = database(mode).await;
        let mut moved = db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
        (moved.club, moved.pass) = ("B".into(), 8);
        db.rekey(&mut moved).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
        assert_eq!(all_rows(&db).await.len(), 2, "{mode:?}: {:?}", all_rows(&db).await.keys());
    }
}

#[tokio::test]
async fn within_the_partition_it_is_a_save_and_a_unique_value_goes_with_the_entity() {
    for mode in MODES {
        let db = database(mode).await;
        let mut moved = db.insert(&member("A", 1)).await.unwrap();
        if mode == Consistency::Azure {
            let mut other = moved.clone();
            other.id = 5;
            let error = db.save(&mut other).await.unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::KeyChanged, "{error}");
            assert!(error.to_string().contains("rekey"), "{error}");
        }
        moved.id = 5;
        db.rekey(&mut moved).await.unwrap();
        assert_eq!(members(&db).await[0].id, 5);
        assert_exact(&db, &format!("{mode:?}")).await;
        moved.name = "Ann".into();
        db.rekey(&mut moved).await.unwrap(); // an unchanged key
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn save_names_rekey_where_the_partition_changed() {
    let db = database(Consistency::Azure).await;
    let mut moved = db.insert(&member("A", 1)).await.unwrap();
    moved.club = "B".into();
    let error = db.save(&mut moved).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::KeyChanged);
    assert!(error.to_string().contains("`db.rekey()`"), "{error}");
}

#[tokio::test]
async fn a_taken_key_or_value_leaves_everything_as_it_was() {
    for mode in MODES {
        let db = database(mode).await;
        let stored = db.insert(&member("A", 1)).await.unwrap();
        let others = [
            (member("B", 1), ErrorKind::AlreadyExists),
            (
                Member { seat: Some(1), ..member("B", 2) },
                ErrorKind::UniqueViolation { index: "by_seat", owner: Some(RowKey::new("B", "m_0002")) },
            ),
            (
                Member { nick: Some("nick1".into()), ..member("B", 2) },
                ErrorKind::UniqueViolation { index: "by_nick", owner: Some(RowKey::new("B", "m_0002")) },
            ),
        ];
        for (other, kind) in others {
            let told = format!("{mode:?} {kind:?}");
            let other = db.insert(&Member { email: None, ..other }).await.unwrap();
            let before = members(&db).await;
            let mut moved = stored.clone();
            moved.club = "B".into();
            let error = db.rekey(&mut moved).await.unwrap_err();
            assert_eq!(error.kind(), &kind, "{told}: {error}");
            assert_eq!(error.entity(), Some("Member"), "{told}");
            assert_eq!(members(&db).await, before, "{told}");
            assert_exact(&db, &told).await;
            assert_eq!((moved.key(), moved.club.as_str()), (stored.key(), "B"), "it is as the caller left it");
            db.delete(other).await.unwrap();
            settle(&db).await;
            db.clock().advance(std::time::Duration::from_secs(61));
        }
        let mut moved = stored.clone();
        moved.club = "B".into();
        db.rekey(&mut moved).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn an_entity_that_changed_or_went_is_not_moved() {
    for mode in MODES {
        let db = database(mode).await;
        let stale = db.insert(&member("A", 1)).await.unwrap();
        db.update(Member::find().club("A").id(1), |m| Ok(m.name = "newer".into())).await.unwrap();
        let mut moved = stale.clone();
        moved.club = "B".into();
        let error = db.rekey(&mut moved).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{mode:?}: {error}");
        assert_exact(&db, &format!("{mode:?}")).await;

        let current = find(&db, "A", 1).await.unwrap();
        db.delete(current.clone()).await.unwrap();
        let mut moved = current;
        moved.club = "B".into();
        assert_eq!(db.rekey(&mut moved).await.unwrap_err().kind(), &ErrorKind::NotFound, "{mode:?}");
        settle(&db).await;
        assert!(members(&db).await.is_empty());
        // The reserved key is free again.
        db.insert(&member("B", 1)).await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn in_the_atomic_mode_a_move_is_one_commit() {
    let db = database(Consistency::Atomic).await;
    let mut moved = db.insert(&member("A", 1)).await.unwrap();
    moved.club = "B".into();
    db.forget_calls();
    db.rekey(&mut moved).await.unwrap();
    assert_eq!(db.calls().len(), 1, "{:?}", db.calls());
    assert_eq!(all_rows(&db).await.len(), 6);
}

/// An index row that another program took away does not keep its entity from moving.
#[tokio::test]
async fn drift_at_the_old_key_is_no_obstacle() {
    use tablemodel::store::{Action, Batch, Condition};
    for mode in MODES {
        for (table, partition, row) in [("Club", "A", "n_name1_0001"), ("Cities", "Rome", "A_0001")] {
            let db = database(mode).await;
            let mut moved = db.insert(&member("A", 1)).await.unwrap();
            let delete = Action::Delete(Condition::Exists);
            db.store().commit(&[Batch::new(table, partition).with(row, delete)]).await.unwrap();
            moved.club = "B".into();
            db.rekey(&mut moved).await.unwrap();
            assert_exact(&db, &format!("{mode:?} {table}")).await;
        }
    }
}

#[tokio::test]
async fn what_a_newer_version_wrote_moves_with_the_entity() {
    use tablemodel::store::{Action, Batch, Condition};
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
        let unknown = [("Later", 5_i32)].into_iter().collect();
        let merge = Action::Merge(unknown, Condition::Exists);
        db.store().commit(&[Batch::new("Club", "A").with("g_0001", merge)]).await.unwrap();
        let mut moved = Guest::find().club("A").id(1).one(&db).await.unwrap().unwrap();
        moved.club = "B".into();
        db.rekey(&mut moved).await.unwrap();
        assert_eq!(guests(&db).await.len(), 1);
        let row = &all_rows(&db).await[&("Club".into(), "B".into(), "g_0001".into())];
        assert_eq!(row.get("Later"), Some(tablemodel::ValueRef::Int32(5)), "{mode:?}");
        assert!(row.iter().all(|(name, _)| !["_move", "_from", "_due", "_claim"].contains(&name.as_str())), "{row:?}");
    }
}

#[derive(TableModel)]
enum Guests {
    Guest(Guest),
}

/// Nothing of the model stands elsewhere, so that it has no table of markers until the first move.
#[tokio::test]
async fn a_model_without_rows_elsewhere_has_moves_that_a_relay_finishes() {
    use tablemodel::testing::{Script, TestDatabase};
    let db = TestDatabase::new::<Guests>().await.unwrap();
    let mut moved = db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
    moved.club = "B".into();
    db.fail(super::crashes::left());
    assert!(db.rekey(&mut moved).await.is_err());
    db.fail(Script::new());
    let db = db.reopen::<Guests>().await.unwrap();
    settle(&db).await;
    assert!(Guest::find().club("B").id(1).exists(&db).await.unwrap());
    assert!(!Guest::find().club("A").id(1).exists(&db).await.unwrap());
}

/// Without rows elsewhere, its model has no table of markers until something moves.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rooms", partition = "{house}", row = "r_{id:02}")]
struct Room {
    house: String,
    id: u32,
}

#[derive(TableModel)]
enum Rooms {
    Room(Room),
}

#[tokio::test]
async fn the_markers_of_a_first_move_go_with_the_tables() {
    let db = TestDatabase::new::<Rooms>().await.unwrap();
    let mut room = db.insert(&Room { house: "A".into(), id: 1 }).await.unwrap();
    assert_eq!(db.list_tables().await.unwrap(), ["Rooms", "tmschema"]);
    room.house = "B".into();
    db.rekey(&mut room).await.unwrap();
    assert_eq!(db.list_tables().await.unwrap(), ["Rooms", "tmdirty", "tmschema"]);
    db.drop_tables().await.unwrap();
    assert_eq!(db.list_tables().await.unwrap(), Vec::<String>::new());
}

/// A move whose markers are gone with their table.
#[tokio::test]
async fn a_first_move_that_no_relay_finds_is_finished_by_a_repair() {
    let db = TestDatabase::new::<Rooms>().await.unwrap();
    let mut room = db.insert(&Room { house: "A".into(), id: 1 }).await.unwrap();
    room.house = "B".into();
    db.fail(super::crashes::left());
    assert!(db.rekey(&mut room).await.is_err());
    db.fail(tablemodel::testing::Script::new());
    let db = db.reopen::<Rooms>().await.unwrap();
    db.store().delete_table("tmdirty").await.unwrap();
    assert_eq!(db.verify().await.unwrap().violations.len(), 1);
    let repaired = db.repair().await.unwrap();
    assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{:?}", repaired.left);
    assert!(Room::find().house("B").id(1).exists(&db).await.unwrap());
}

/// Counted in another partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pupils", partition = "{class}", row = "p_{id:02}")]
#[table(index(by_email, table = "Mails", partition = "{email}", row = "email", unique, keys_only))]
#[table(count(School, key(name = school), into = pupils))]
struct Pupil {
    class: String,
    id: u32,
    email: String,
    school: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Schools", partition = "{name}", row = "school")]
struct School {
    name: String,
    #[table(aggregate)]
    pupils: i64,
}

#[derive(TableModel)]
enum Schools {
    Pupil(Pupil),
    School(School),
}

#[tokio::test]
async fn a_taken_value_is_told_of_an_entity_that_counts_elsewhere() {
    for mode in MODES {
        let db = match mode {
            Consistency::Azure => TestDatabase::new::<Schools>().await.unwrap(),
            Consistency::Atomic => TestDatabase::atomic::<Schools>().await.unwrap(),
        };
        db.insert(&School { name: "S".into(), pupils: 0 }).await.unwrap();
        let pupil = |id: u32| Pupil { class: "A".into(), id, email: format!("e{id}@x"), school: "S".into() };
        let mut moved = db.insert(&pupil(1)).await.unwrap();
        db.insert(&pupil(2)).await.unwrap();
        (moved.class, moved.email) = ("B".into(), "e2@x".into());
        let error = db.rekey(&mut moved).await.unwrap_err();
        let taken = ErrorKind::UniqueViolation { index: "by_email", owner: Some(RowKey::new("A", "p_02")) };
        assert_eq!((error.kind(), error.entity()), (&taken, Some("Pupil")), "{mode:?}: {error}");
        let pupils = Pupil::find().class("A").all(&db).await.unwrap();
        assert_eq!(pupils.into_iter().map(Stored::into_inner).collect::<Vec<_>>(), [pupil(1), pupil(2)], "{mode:?}");
        assert_eq!(School::find().name("S").one(&db).await.unwrap().unwrap().pupils, 2, "{mode:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}
