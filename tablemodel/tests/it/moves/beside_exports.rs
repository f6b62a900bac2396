//! Exports from a table in which both forms of an entity stand, by a program that knows of one.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind};

use super::{MODES, assert_clean, before, filled, first, new_flights, new_rows, next, old_flights, program, second};
use crate::{migrate::store_of, stall::Program};

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
