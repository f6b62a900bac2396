//! Entities that an index row names: what is changed is only one that still has what the row says.

use std::sync::{Arc, Mutex};

use tablemodel::{
    Consistency, ErrorKind, RowKey,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use crate::stall::Program;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Hall", entity_type = "Guest", partition = "{hall}", row = "g_{id:04}")]
#[table(index(by_seat, row = "seat_{seat:04}", unique, keys_only))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{hall}_{id:04}", keys_only))]
struct Guest {
    hall: String,
    id: u32,
    seat: Option<u32>,
    city: String,
    drinks: u32,
    #[table(aggregate, default)]
    orders: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Hall", partition = "{hall}", row = "o_{number:04}")]
#[table(count(Guest, key(hall = hall, id = guest), into = orders))]
struct Order {
    hall: String,
    number: u32,
    guest: u32,
}

#[derive(TableModel)]
enum Model {
    Guest(Guest),
    Order(Order),
}

fn guest(id: u32) -> Guest {
    Guest { hall: "A".into(), id, seat: Some(id), city: "Rome".into(), drinks: 0, orders: 0 }
}

async fn find(db: &Database, id: u32) -> Stored<Guest> {
    Guest::find().hall("A").id(id).one(db).await.expect("read").expect("there")
}

/// The writer dies after its entity is written: the row elsewhere says what was.
async fn outdated() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut one = db.insert(&guest(1)).await.unwrap();
    one.city = "Oslo".into();
    db.fail(Script::new().at(1, Fault::CrashBefore));
    let _ = db.save(&mut one).await;
    db.reopen::<Model>().await.unwrap()
}

#[tokio::test]
async fn an_index_row_that_is_behind_names_nobody() {
    let db = outdated().await;
    db.insert(&guest(2)).await.unwrap();
    assert_eq!(find(&db, 1).await.city, "Oslo");
    let behind = || Guest::by_city().city("Rome").hall("A").id(1);
    assert!(behind().select::<Key>().one(&db).await.unwrap().is_some(), "the row still stands");
    db.forget_calls();
    let updated = db.update(behind(), |guest| Ok(guest.drinks += 1)).await.unwrap_err();
    let patched = db.patch(behind(), Guest::DRINKS.set(1)).await.unwrap_err();
    let counted = db.total(behind(), Guest::ORDERS).await.unwrap_err();
    assert_eq!([updated.kind(), patched.kind(), counted.kind()], [&ErrorKind::NotFound; 3]);
    assert_eq!(db.tally().commits, 0, "{}", db.tally());
    db.clock().advance(std::time::Duration::from_secs(60));
    db.relay().drain().await.unwrap();
    db.insert(&Order { hall: "A".into(), number: 1, guest: 1 }).await.unwrap();
    let now = || Guest::by_city().city("Oslo").hall("A").id(1);
    assert_eq!(db.total(now(), Guest::ORDERS).await.unwrap(), 1);
    db.update(now(), |guest| Ok(guest.drinks += 1)).await.unwrap();
    db.patch(now(), Guest::DRINKS.set(2)).await.unwrap();
    assert_eq!(find(&db, 1).await.drinks, 2);
}

#[tokio::test]
async fn an_index_row_that_outlives_its_entity_names_nobody() {
    let behind = || Guest::by_city().city("Rome").hall("A").id(1);
    let mut call = 0;
    let db = loop {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let one = db.insert(&guest(1)).await.unwrap();
        db.fail(Script::new().at(call, Fault::CrashBefore));
        let _ = db.delete(one).await; // what was not delivered is no failure of it
        let db = db.reopen::<Model>().await.unwrap();
        if db.get::<Guest>(&RowKey::new("A", "g_0001")).await.unwrap().is_none() {
            break db;
        }
        call += 1;
    };
    assert!(behind().select::<Key>().one(&db).await.unwrap().is_some(), "the row still stands");
    let updated = db.update(behind(), |guest| Ok(guest.drinks += 1)).await.unwrap_err();
    let patched = db.patch(behind(), Guest::DRINKS.set(1)).await.unwrap_err();
    let counted = db.total(behind(), Guest::ORDERS).await.unwrap_err();
    assert_eq!([updated.kind(), patched.kind(), counted.kind()], [&ErrorKind::NotFound; 3]);
}

#[derive(Projection)]
#[table(of = Guest)]
struct Key {
    #[expect(dead_code, reason = "that there is one is what is asked")]
    id: u32,
}

/// The second guest takes the seat of the first; what the first had drunk by then.
async fn hand_over(db: Database, drunk: Arc<Mutex<Option<u32>>>) {
    let (mut one, mut two) = (find(&db, 1).await, find(&db, 2).await);
    one.seat = None;
    db.save(&mut one).await.expect("left");
    two.seat = Some(1);
    db.save(&mut two).await.expect("taken");
    *drunk.lock().unwrap() = Some(one.drinks);
}

#[tokio::test]
async fn who_has_left_a_seat_is_not_changed_by_it() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        for patches in [false, true] {
            let mut calls = 0;
            loop {
                let db = crate::migrate::store_of::<Model>(mode).await;
                db.insert(&guest(1)).await.unwrap();
                db.insert(&guest(2)).await.unwrap();
                let drunk = Arc::new(Mutex::new(None));
                let meanwhile = Box::pin(hand_over((*db).clone(), drunk.clone()));
                let program = Program::stalling_in::<Model>(mode, &db, calls, meanwhile).await;
                let seat = || Guest::by_seat().hall("A").seat(1);
                let changed = match patches {
                    true => program.db.patch(seat(), Guest::DRINKS.set(1)).await,
                    false => program.db.update(seat(), |guest| Ok(guest.drinks += 1)).await.map(drop),
                };
                let (one, two) = (find(&db, 1).await.drinks, find(&db, 2).await.drinks);
                let told = format!("{mode:?}, patches: {patches}, call {calls}: {changed:?}");
                if !program.has_stalled() {
                    assert!(changed.is_ok() && one == 1, "{told}");
                    break;
                }
                assert_eq!(drunk.lock().unwrap().take(), Some(one), "{told}");
                match changed {
                    Ok(()) => assert_eq!(one + two, 1, "{told}"),
                    Err(error) => assert_eq!((error.kind(), one + two), (&ErrorKind::NotFound, 0), "{told}"),
                }
                calls += 1;
            }
            assert!(calls >= 3, "{calls}");
        }
    }
}
