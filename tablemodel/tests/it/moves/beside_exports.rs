//! Exports from a table in which both forms of an entity stand, by a program that knows of one.

use std::time::Duration;

use super::{MODES, assert_clean, before, filled, first, new_flights, new_rows, next, old_flights, program, second};
use crate::migrate::store_of;

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
