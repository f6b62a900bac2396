//! Exports from a table in which both forms of an entity stand, by a program that knows of one.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use async_trait::async_trait;
use tablemodel::{
    Consistency, ErrorKind,
    store::{Page, Query, StoreError, TableStore},
    testing::TestDatabase,
};

use super::{MODES, assert_clean, before, filled, first, new_flights, new_rows, next, old_flights, program, second};
use crate::{
    between::{Around, Between},
    migrate::{program_over, store_of},
    stall::{Meanwhile, Program},
};

/// Longer than a lease lives.
const LONG: Duration = Duration::from_secs(130);

#[tokio::test]
async fn an_export_without_the_form_that_an_entity_moves_to_leaves_its_rows_out() {
    for mode in MODES {
        let (store, told) = (filled(mode, 2, 9).await, format!("{mode:?}"));
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert!(!new_rows(&db).await.is_empty(), "{told}");
        let mut lines = Vec::new();
        program::<before::Model>(&store).await.export(&mut lines).await.expect("it is where it was");

        let copy = store_of::<before::Model>(mode).await;
        copy.drop_tables().await.expect("empty");
        copy.import(lines.as_slice()).await.expect("imported");
        copy.clock().advance(LONG);
        let late = next::<before::Model>(&copy).await;
        assert!(new_rows(&late).await.is_empty(), "{told}");
        assert_clean(&late, &told).await;
        drop(late);
        copy.clock().advance(LONG);
        let flights = old_flights(&program::<first::Model>(&copy).await, 2).await;
        assert_eq!(flights.len(), 18, "{told}");
        copy.clock().advance(LONG);
        let db = next::<second::Model>(&copy).await;
        db.migrations().apply().await.expect("applied");
        copy.clock().advance(LONG);
        db.migrations().contract().await.expect("switched");
        assert_eq!(new_flights(&db, 2).await.expect("readable"), flights, "{told}");
        assert_clean(&db, &told).await;
    }
}

/// The state of the move, which is read last, was exported as if that had not begun, behind rows of its form.
#[tokio::test]
async fn an_export_while_a_move_begins_has_no_row_of_its_form_or_fails() {
    let whole = filled(Consistency::Azure, 1, 9).await;
    whole.clock().advance(LONG);
    let mut told = 0;
    for at in 0.. {
        let store = whole.fork().expect("in memory");
        let new = next::<second::Model>(&store).await;
        let meanwhile = async move { drop(new.migrations().apply().await.expect("applied")) };
        let exporter = Program::sleeping::<before::Model>(&store, at, Box::pin(meanwhile)).await;
        let mut lines = Vec::new();
        match exporter.db.export(&mut lines).await {
            Ok(_) => {
                let copy = store_of::<before::Model>(Consistency::Azure).await;
                copy.drop_tables().await.expect("empty");
                copy.import(lines.as_slice()).await.expect("imported");
                let late = next::<before::Model>(&copy).await;
                assert!(new_rows(&late).await.is_empty(), "before call {at}");
            }
            Err(error) => {
                assert_eq!(error.kind(), &ErrorKind::Unavailable, "before call {at}: {error}");
                told += 1;
            }
        }
        if !exporter.has_stalled() {
            break;
        }
    }
    assert!(told > 0, "none met the beginning of the move");
}

/// A store before whose reads of these tables others do this, one after the other.
#[derive(Default)]
struct Steps(Mutex<VecDeque<(&'static str, Meanwhile)>>);

impl Steps {
    fn before(&self, table: &str) -> Option<Meanwhile> {
        let mut steps = self.0.lock().unwrap();
        let is_next = steps.front().is_some_and(|(next, _)| *next == table);
        if is_next { steps.pop_front().map(|(_, step)| step) } else { None }
    }
}

#[async_trait]
impl Between for Steps {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        if let Some(step) = self.before(&query.table) {
            step.await;
        }
        inner.query(query).await
    }
}

/// How an export by the release that knows of no move ends beside these steps, and what it has written by then.
async fn exported_beside(
    store: &TestDatabase,
    steps: Vec<(&'static str, Meanwhile)>,
) -> (tablemodel::Result<u64>, String) {
    let beside = Around::over(store.store(), Steps::default());
    let exporter = program_over::<before::Model>(store, beside.clone()).await;
    beside.0.lock().unwrap().extend(steps); // opening reads too
    let mut lines = Vec::new();
    let exported = exporter.export(&mut lines).await.map(|exported| exported.rows);
    assert!(beside.0.lock().unwrap().is_empty(), "all has happened");
    (exported, String::from_utf8(lines).expect("text"))
}

/// The state is as if the move had not begun, behind rows of its form: also where it was recorded only after the export began.
#[tokio::test]
async fn an_export_while_a_move_begins_and_is_taken_back_fails() {
    for is_recorded in [true, false] {
        let store = filled(Consistency::Azure, 1, 9).await;
        let new = program::<first::Model>(&store).await;
        if is_recorded {
            new.ensure_tables().await.expect("recorded");
        }
        let beginner = new.clone();
        let begins: Meanwhile = Box::pin(async move {
            beginner.ensure_tables().await.expect("recorded");
            drop(beginner.migrations().apply().await.expect("applied"));
        });
        let is_taken_back: Meanwhile =
            Box::pin(async move { drop(new.migrations().rollback().await.expect("taken back")) });
        let steps = vec![("Flights", begins), ("tmschema", is_taken_back)];
        let (exported, lines) = exported_beside(&store, steps).await;
        assert!(lines.contains("Flight@2"), "{is_recorded}: {lines}");
        let error = exported.expect_err("nothing would take these rows away");
        assert_eq!(error.kind(), &ErrorKind::Unavailable, "{is_recorded}: {error}");
        let rows = new_rows(&program::<before::Model>(&store).await).await;
        assert!(rows.is_empty(), "{is_recorded}: {rows:?}");
    }
}

#[tokio::test]
async fn an_export_while_a_move_is_only_recorded_is_whole() {
    let store = filled(Consistency::Azure, 1, 9).await;
    let new = program::<first::Model>(&store).await;
    let is_recorded: Meanwhile = Box::pin(async move { new.ensure_tables().await.expect("recorded") });
    let (exported, lines) = exported_beside(&store, vec![("Flights", is_recorded)]).await;
    assert!(exported.expect("nothing has begun") > 0);
    assert!(!lines.contains("Flight@2") && lines.contains("Flight|~moved@2"), "the move is on record: {lines}");
}
