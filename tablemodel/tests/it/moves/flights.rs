//! The flights of a store, by every path of either form.
//!
//! Of the forms of the module above.

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{
    Consistency, IndexState, Row, ValueRef,
    prelude::*,
    store::{KeyRange, Query, TableStoreExt},
    testing::TestDatabase,
};

use super::{ORIGINS, before, first, second};

/// So many flights of so many carriers, as the first program wrote them, which has ended.
pub(crate) async fn filled(mode: Consistency, carriers: u32, flights: u32) -> TestDatabase {
    let db = crate::migrate::store_of::<before::Model>(mode).await;
    let all = (0..carriers).flat_map(|of| (0..flights).map(move |number| before::flight(&format!("C{of}"), number)));
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    db.clock().advance(Duration::from_secs(130));
    db
}

/// The rows of a table that remember nothing that was, parts of entities among them.
pub(crate) async fn live_rows(db: &Database, table: &str) -> Vec<Row> {
    // A table that is not there has none.
    let mut rows = db.store().query_all(&Query::new(table, KeyRange::table())).await.unwrap_or_default();
    let is_of_entity = |row: &Row| !kind(row).replace(".~part@", "@").contains('~');
    let is_live = |row: &Row| is_of_entity(row) && row.properties.get("_dead").is_none();
    rows.retain(is_live);
    rows
}

pub(crate) fn kind(row: &Row) -> String {
    match row.properties.get("EntityType") {
        Some(ValueRef::String(text)) => text.to_owned(),
        _ => String::new(),
    }
}

/// The rows of the old form, wherever they stand.
pub(crate) async fn old_rows(db: &Database) -> Vec<Row> {
    rows_of(db, "@1").await
}

/// The rows of the new form, wherever they stand.
pub(crate) async fn new_rows(db: &Database) -> Vec<Row> {
    rows_of(db, "@2").await
}

async fn rows_of(db: &Database, version: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for table in ["Flights", "ByOrigin", "Departures", "Carriers"] {
        all.extend(live_rows(db, table).await.into_iter().filter(|row| kind(row).ends_with(version)));
    }
    all
}

/// Flights by carrier and number: origin and seats.
pub(crate) type Flights = BTreeMap<(String, u32), (String, i64)>;

pub(crate) async fn old_flights(db: &Database, carriers: u32) -> Flights {
    let mut all = Flights::new();
    for of in 0..carriers {
        let found = first::Flight::find().carrier(format!("C{of}")).all(db).await.expect("read");
        let carrier = || format!("C{of}");
        assert_eq!(first::Flight::find().carrier(carrier()).count(db).await.expect("counted"), found.len() as u64);
        assert_eq!(first::Flight::sorted().carrier(carrier()).all(db).await.expect("read").len(), found.len());
        assert_eq!(first::Flight::scan_partition(carrier()).all(db).await.expect("scanned").len(), found.len());
        let rows = first::Model::rows(first::Flight::in_partition(carrier())).all(db).await.expect("read");
        assert_eq!(rows.len(), found.len(), "{rows:?}");
        all.extend(found.into_iter().map(|f| ((f.carrier.clone(), f.number), (f.origin.clone(), f.seats))));
    }
    all
}

/// The flights in the new form, by every path of it.
pub(crate) async fn new_flights(db: &Database, carriers: u32) -> tablemodel::Result<Flights> {
    let mut all = Flights::new();
    for origin in ORIGINS {
        for f in second::Flight::find().origin(origin).all(db).await? {
            assert_eq!(f.code, format!("{}{}", f.carrier, f.number));
            all.insert((f.carrier.clone(), f.number), (f.origin.clone(), f.seats));
        }
        let seats = second::Flight::sorted().origin(origin).all(db).await?;
        let there = all.values().filter(|(of, _)| of == origin).count();
        assert_eq!(seats.len(), there, "{origin}");
        assert_eq!(second::Flight::scan_partition(origin).all(db).await?.len(), there, "{origin}");
        assert_eq!(second::Model::rows(second::Flight::in_partition(origin)).all(db).await?.len(), there, "{origin}");
    }
    let mut of_carriers = 0;
    for of in 0..carriers {
        of_carriers += second::Flight::of_carrier().carrier(format!("C{of}")).all(db).await?.len();
    }
    assert_eq!(of_carriers, all.len());
    Ok(all)
}

pub(crate) async fn states(db: &Database) -> Vec<IndexState> {
    let status = db.migrations().status().await.expect("read").expect("a migration");
    status.steps.into_iter().map(|step| step.state).collect()
}
