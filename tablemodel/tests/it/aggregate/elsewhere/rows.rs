//! Contributions as FORMAT.md draws them, targets that come and go, sources that meet, and what reads and writes cost.

use tablemodel::{Consistency, ErrorKind, RowKey, Value, prelude::*, testing::TestDatabase};

use super::{
    super::{rows_in, settle},
    Club, MODES, Model, Order, Shop, assert_exact, club, database, order, shop, shops,
};

async fn named(db: &TestDatabase, row: &str) -> Option<Vec<(String, Value)>> {
    let row = db.store().get("Shops", &RowKey::new("X", row)).await.unwrap()?;
    Some(row.properties.iter().map(|(name, value)| (name.as_str().to_owned(), value.to_value())).collect())
}

#[tokio::test]
async fn the_rows_are_those_that_the_format_page_draws() {
    for mode in MODES {
        let db = database(mode).await;
        let stored = db.insert(&order("A", 1)).await.unwrap();
        let sequence = db.store().get("Orders", stored.key()).await.unwrap().unwrap();
        let sequence = sequence.properties.get("_seq").unwrap().to_value();
        let wanted = |kind: &str, value: Value| {
            let text = |text: &str| Value::from(text.to_owned());
            let named = [
                ("EntityType", text(kind)),
                ("_pk", text("A")),
                ("_rk", text("o_0001")),
                ("_seq", sequence.clone()),
                ("_value", value),
            ];
            Some(named.map(|(name, value)| (name.to_owned(), value)).to_vec())
        };
        let turnover = wanted("Order.~Shop.Turnover@1", Value::Int64(10));
        assert_eq!(named(&db, "~~agg|shop_01|Turnover!A!o_0001").await, turnover, "{mode:?}");
        let least = wanted("Order.~Shop.Least@1", Value::Int64(10));
        assert_eq!(named(&db, "~~agg|shop_01|Least|09223372036854775818!A!o_0001").await, least, "{mode:?}");
    }
}

#[tokio::test]
async fn a_target_that_comes_later_takes_what_its_sources_come_to() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&order("A", 1)).await.unwrap();
        db.insert(&Order { amount: 5, weight: Some(2.0), paid: false, ..order("B", 1) }).await.unwrap();
        assert_exact(&db, "no shop").await;
        assert_eq!(db.total(Shop::find().city("X").number(1), Shop::ORDERS).await.unwrap(), 1, "there is no shop");
        assert_eq!(db.total(Shop::find().city("X").number(1), Shop::LEAST).await.unwrap(), Some(10));
        assert_eq!(db.total(Shop::find().city("Y").number(1), Shop::HEAVIEST).await.unwrap(), None);
        let stored = db.insert(&shop(1)).await.unwrap();
        assert_eq!((stored.orders, stored.turnover, stored.least, stored.heaviest), (1, 15, Some(10), Some(2.0)));
        db.insert(&club("A")).await.unwrap();
        assert_exact(&db, "a shop").await;

        // Overwritten with other values: they are not asked.
        let mut stored = Shop::find().city("X").number(1).one(&db).await.unwrap().unwrap();
        (stored.orders, stored.least, stored.heaviest) = (50, None, Some(f64::MAX));
        db.save(&mut stored).await.unwrap();
        assert_eq!((stored.orders, stored.least, stored.heaviest), (1, Some(10), Some(2.0)));
        db.upsert(&shop(1)).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "overwritten").await;

        // Gone, changed meanwhile, and there again.
        db.delete(Shop::find().city("X").number(1).one(&db).await.unwrap().unwrap()).await.unwrap();
        db.delete(Order::find().customer("A").id(1).one(&db).await.unwrap().unwrap()).await.unwrap();
        assert_exact(&db, "deleted").await;
        assert_eq!(db.insert(&shop(1)).await.unwrap().least, None);
        settle(&db).await;
        assert_exact(&db, "there again").await;
    }
}

#[tokio::test]
async fn what_is_least_gives_way_to_the_next_and_none_is_left_of_nothing() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&shop(1)).await.unwrap();
        for id in 1..9 {
            db.insert(&order("A", id)).await.unwrap();
        }
        for id in 1..9 {
            let least = db.total(Shop::find().city("X").number(1), Shop::LEAST).await.unwrap();
            assert_eq!(least, Some(10 * i64::from(id)), "{mode:?}");
            let mut there = Order::find().customer("A").id(id).one(&db).await.unwrap().unwrap();
            if id % 2 == 0 {
                there.paid = false;
                db.save(&mut there).await.unwrap();
            } else {
                db.delete(there).await.unwrap();
            }
        }
        assert_eq!(db.total(Shop::find().city("X").number(1), Shop::LEAST).await.unwrap(), None);
        settle(&db).await;
        assert_exact(&db, "tombstones before what is left").await;
    }
}

#[tokio::test]
async fn sources_of_one_batch_and_targets_beside_them_meet() {
    for mode in MODES {
        let db = database(mode).await;
        let gone = db.insert(&order("A", 1)).await.unwrap();
        db.insert(&shop(1)).await.unwrap();
        let mut batch = db.batch(Order::in_partition("A"));
        // The club is in the partition of its members by chance alone.
        batch.insert(&order("A", 2)).insert(&club("A")).insert(&order("A", 3)).delete(gone);
        batch.upsert(&Order { shop: 2, ..order("A", 3) });
        batch.commit().await.unwrap();
        settle(&db).await;
        assert_exact(&db, "one batch").await;
        let club = Club::find().name("A").one(&db).await.unwrap().unwrap();
        assert_eq!((club.orders, club.best), (2, Some(30)));
        // And the club of another name, from the same batch.
        let mut batch = db.batch(Order::in_partition("A"));
        batch.insert(&Order { club: "B".into(), ..order("A", 4) }).insert(&order("A", 5)).delete(club);
        batch.commit().await.unwrap();
        settle(&db).await;
        assert_exact(&db, "the club goes").await;
    }
}

#[tokio::test]
async fn a_source_that_moves_is_counted_once() {
    for mode in MODES {
        let db = database(mode).await;
        for name in ["A", "B"] {
            db.insert(&club(name)).await.unwrap();
        }
        db.insert(&shop(1)).await.unwrap();
        let mut moving = db.insert(&order("A", 1)).await.unwrap();
        (moving.customer, moving.id) = ("B".into(), 2);
        db.rekey(&mut moving).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "to the same shop").await;
        (moving.customer, moving.shop, moving.club) = ("A".into(), 2, "B".into());
        db.rekey(&mut moving).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "to another").await;
        moving.id = 9;
        db.save(&mut moving).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "within its partition").await;
    }
}

#[tokio::test]
async fn a_change_of_no_term_reaches_no_other_partition() {
    for mode in MODES {
        let db = database(mode).await;
        let mut stored = db.insert(&order("A", 1)).await.unwrap();
        let before = rows_in(&db, "Shops").await;
        stored.note = "gift".into();
        db.forget_calls();
        db.save(&mut stored).await.unwrap();
        assert_eq!((db.calls().len(), rows_in(&db, "Shops").await == before), (1, true), "{mode:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_added_is_refused_before_anything_is_written() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&shop(1)).await.unwrap();
        let before = rows_in(&db, "Orders").await;
        let error = db.insert(&Order { weight: Some(f64::NAN), ..order("A", 1) }).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Invalid);
        assert!(error.to_string().contains("field `weight` is summed"), "{error}");
        let long = "x".repeat(1_010);
        let error = db.insert(&Order { customer: long.clone(), club: long, ..order("A", 1) }).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::KeyTooLong, "{error}");
        assert_eq!(rows_in(&db, "Orders").await, before);
    }
}

#[tokio::test]
async fn writers_of_several_partitions_meet_in_one_target() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&shop(1)).await.unwrap();
        let tasks = (1..=12).map(|id| {
            let db = db.clone();
            async move {
                loop {
                    match db.insert(&order(["A", "B", "C"][id as usize % 3], id)).await {
                        Ok(_) => return,
                        Err(error) if error.is_retryable() => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        futures_util::future::join_all(tasks).await;
        settle(&db).await;
        assert_eq!(shops(&db).await[0].orders, 12);
        assert_exact(&db, "12 writers").await;
    }
}

#[tokio::test]
async fn bulk_loads_reach_every_target() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&shop(1)).await.unwrap();
        db.insert(&club("A")).await.unwrap();
        let all = (0..150).map(|id| Order { shop: 1 + (id % 3) as u8, ..order(["A", "B"][id as usize % 2], id) });
        let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (150, 0), "{mode:?}");
        settle(&db).await;
        assert_exact(&db, "in bulk").await;
    }
}

#[tokio::test]
async fn opening_in_the_atomic_mode_delivers_what_the_other_mode_left() {
    use tablemodel::testing::{Fault, Script};
    let db = database(Consistency::Azure).await;
    db.insert(&shop(1)).await.unwrap();
    let gone = db.insert(&order("A", 1)).await.unwrap();
    let mut changed = db.insert(&order("A", 2)).await.unwrap();
    (changed.amount, changed.shop) = (1, 2);
    db.fail(Script::new().at(2, Fault::CrashBefore)); // after the marker is known and the batch is written
    let _ = db.delete(gone).await;
    let reopened = db.reopen::<Model>().await.unwrap();
    reopened.fail(Script::new().at(2, Fault::CrashBefore));
    let _ = reopened.save(&mut changed).await;
    let read = reopened.reopen::<Model>().await.unwrap();
    let builder = tablemodel::Database::builder().clock(std::sync::Arc::new(db.clock().clone()));
    let atomic = builder.consistency(Consistency::Atomic).with_store::<Model>(db.store()).await.unwrap();
    assert_exact(&read, "drained").await;
    for table in ["Orders", "Shops"] {
        assert!(!rows_in(&read, table).await.values().any(|row| row.get("_dead").is_some()), "{table}");
    }
    atomic.insert(&order("A", 3)).await.unwrap();
    assert_exact(&read, "atomic").await;
}
