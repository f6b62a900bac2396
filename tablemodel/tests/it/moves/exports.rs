//! Exports of a store whose entity moves: none leaves entities out in silence, or says that they stand where their rows are not.

use std::{cell::Cell, time::Duration};

use tablemodel::{Consistency, ErrorKind, format::Fingerprint, prelude::*, testing::TestDatabase};

use super::{
    Flights, MODES, ORIGINS, ahead::third, before, crashes::applied, filled, first, new_flights, next, old_flights,
    program, second,
};
use crate::{crashes::replay, migrate::store_of, stall::Program};

/// Longer than a lease lives.
const LONG: Duration = Duration::from_secs(130);

async fn exported(db: &Database) -> tablemodel::Result<Vec<u8>> {
    let mut lines = Vec::new();
    db.export(&mut lines).await?;
    Ok(lines)
}

/// A store that has nothing but what was exported.
async fn imported(lines: &[u8], mode: Consistency) -> TestDatabase {
    let copy = store_of::<second::Model>(mode).await;
    copy.drop_tables().await.expect("empty");
    copy.import(lines).await.expect("imported");
    copy.clock().advance(LONG);
    copy
}

/// The flights of a store once they are where the new form has them.
async fn switched(store: &TestDatabase) -> Flights {
    let db = next::<second::Model>(store).await;
    db.migrations().apply().await.expect("applied");
    store.clock().advance(LONG);
    db.migrations().contract().await.expect("switched");
    new_flights(&db, 1).await.expect("readable")
}

#[tokio::test]
async fn who_looks_for_an_entity_where_it_is_not_kept_is_told_so_by_an_export() {
    for mode in MODES {
        let store = filled(mode, 1, 9).await;
        let early = program::<before::Model>(&store).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let ahead = program::<third::Model>(&store).await;
        let refused = exported(&ahead).await.expect_err("these are shadows");
        assert_eq!(*refused.kind(), ErrorKind::NotSwitched { from: 1 }, "{mode:?}: {refused}");
        drop(ahead);
        store.clock().advance(LONG);
        db.migrations().contract().await.expect("switched");
        for old in [early, program::<before::Model>(&store).await] {
            let refused = exported(&old).await.expect_err("it has moved");
            assert_eq!(*refused.kind(), ErrorKind::Moved { to: 2 }, "{mode:?}: {refused}");
        }
        let late = program::<third::Model>(&store).await;
        let copy = imported(&exported(&late).await.expect("it is here"), mode).await;
        assert_eq!(switched(&copy).await, new_flights(&db, 1).await.expect("read"), "{mode:?}");
    }
}

/// An export by a program of this model, before each call of which others apply and switch the move.
async fn beside_a_switch<M: TableModel>(whole: &TestDatabase, flights: &Flights) {
    let mut told = 0;
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let (new, clock) = (next::<second::Model>(&store).await, store.clock().clone());
        let meanwhile = async move {
            new.migrations().apply().await.expect("applied");
            clock.advance(LONG);
            new.migrations().contract().await.expect("switched");
        };
        let exporter = Program::sleeping::<M>(&store, at, Box::pin(meanwhile)).await;
        match exported(&exporter.db).await {
            Ok(lines) => {
                let copy = imported(&lines, Consistency::Azure).await;
                assert_eq!(&switched(&copy).await, flights, "before call {at}");
            }
            Err(error) => {
                let is_it = matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Moved { to: 2 });
                assert!(is_it, "before call {at}: {error:?}");
                told += 1;
            }
        }
        if !exporter.has_stalled() {
            break;
        }
    }
    assert!(told > 3, "{told}");
}

#[tokio::test]
async fn an_export_beside_a_switch_holds_every_entity_or_fails() {
    let whole = filled(Consistency::Azure, 1, 9).await;
    let flights = old_flights(&next::<first::Model>(&whole).await, 1).await;
    whole.clock().advance(LONG);
    beside_a_switch::<before::Model>(&whole, &flights).await;
    beside_a_switch::<first::Model>(&whole, &flights).await;
    beside_a_switch::<second::Model>(&whole, &flights).await;
}

#[tokio::test]
async fn an_export_without_the_form_that_an_entity_moves_to_lets_the_move_begin_anew() {
    for mode in MODES {
        let store = filled(mode, 1, 9).await;
        let flights = old_flights(&program::<first::Model>(&store).await, 1).await;
        next::<second::Model>(&store).await.migrations().apply().await.expect("applied");
        let lines = exported(&program::<before::Model>(&store).await).await.expect("it is where it was");
        let copy = imported(&lines, mode).await;
        let early =
            new_flights(&program::<second::Model>(&copy).await, 1).await.expect_err("no row of that form is there");
        assert!(matches!(early.kind(), ErrorKind::NotSwitched { .. }), "{mode:?}: {early}");
        assert_eq!(switched(&copy).await, flights, "{mode:?}");
    }
}

/// That a copy is as if the move had not begun: the release that exported it migrates it and writes, the one that knows of the move too,
/// and that begins anew.
async fn assert_begins_anew(lines: &[u8], mode: Consistency, flights: &Flights, told: &str) {
    let copy = imported(lines, mode).await;
    let late = next::<before::Model>(&copy).await;
    let plan = late.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    assert_eq!(late.migrations().plans().await.expect("read"), [], "{told}");
    assert!(late.migrations().apply().await.expect("there is nothing to do").is_complete(), "{told}");
    late.insert(&before::flight("C0", 900)).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    drop(late);
    copy.clock().advance(LONG);
    let early = program::<first::Model>(&copy).await;
    early.patch(first::Flight::find().carrier("C0").number(900), first::Flight::SEATS.set(1_i64)).await.expect("open");
    let mut all = flights.clone();
    all.insert(("C0".to_owned(), 900), (ORIGINS[0].to_owned(), 1));
    assert_eq!(old_flights(&early, 1).await, all, "{told}");
    drop(early);
    copy.clock().advance(LONG);
    assert_eq!(switched(&copy).await, all, "{told}");
}

#[tokio::test]
async fn an_export_without_the_form_leaves_out_what_of_its_move_was_interrupted() {
    for mode in MODES {
        let was = filled(mode, 1, 4).await;
        let flights = old_flights(&program::<first::Model>(&was).await, 1).await;
        let exports = Cell::new(0);
        let end = async |store: &TestDatabase, told: &str| match exported(&program::<before::Model>(store).await).await
        {
            Ok(lines) => {
                exports.set(exports.get() + 1);
                assert_begins_anew(&lines, mode, &flights, told).await;
            }
            Err(error) => assert_eq!(*error.kind(), ErrorKind::Moved { to: 2 }, "{told}: {error:?}"),
        };
        let apply = async |db: &Database| {
            db.ensure_tables().await?;
            let plans = [("0002_moves".to_owned(), Fingerprint(7))];
            db.migrations().begin_plans(&plans).await?;
            db.migrations().apply().workers(1).await.map(drop)
        };
        let early = async |store: &TestDatabase| program::<first::Model>(store).await;
        replay::<before::Model, _, _>(("applied", 20), &was, early, apply, &end).await;
        let contract = async |db: &Database| db.migrations().contract().await.map(drop);
        let late = async |store: &TestDatabase| program::<second::Model>(store).await;
        let both = applied::<second::Model>(mode).await;
        replay::<before::Model, _, _>(("switched", 20), &both, late, contract, &end).await;
        assert!(exports.get() > 10, "{exports:?}");
    }
}
