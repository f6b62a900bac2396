//! An entity that moves to other keys in another table: beside writers, through any fault, and back.
//!
//! One store, and programs of up to three releases over it; time passes where somebody sleeps.

mod colliding;
mod crashes;
mod random;
mod sabotage;
mod switching;
mod together;

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{Consistency, IndexState, Row, ValueRef, prelude::*, testing::TestDatabase};

pub(crate) use crate::migrate::{MODES, Passing, assert_clean, next, program};

/// The release that knows of no move.
pub(crate) mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", partition = "{carrier}", row = "f_{number:05}")]
    #[table(index(by_origin, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }

    pub(crate) fn flight(carrier: &str, number: u32) -> Flight {
        let origin = ["OSL", "FCO", "BRN"][number as usize % 3].to_owned();
        Flight { carrier: carrier.into(), number, origin, seats: i64::from(number) }
    }
}

/// The release that keeps both: the old form is the truth.
pub(crate) mod first {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", partition = "{carrier}", row = "f_{number:05}", moves_to = FlightV2)]
    #[table(index(by_origin, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) origin: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(
        name = "Departures",
        entity_type = "Flight",
        version = 2,
        partition = "{origin}",
        row = "d_{carrier}_{number:05}"
    )]
    #[table(index(by_seats, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(crate) struct FlightV2 {
        origin: String,
        carrier: String,
        number: u32,
        code: String,
        seats: i64,
    }

    impl Upgrade<Flight> for FlightV2 {
        fn upgrade(old: Flight) -> Result<Self, UpgradeError> {
            if old.seats < 0 {
                return Err(UpgradeError::new("fewer seats than none"));
            }
            let code = format!("{}{}", old.carrier, old.number);
            Ok(Self { origin: old.origin, carrier: old.carrier, number: old.number, code, seats: old.seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }
}

/// The release that takes the new form.
pub(crate) mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", frozen, partition = "{carrier}", row = "f_{number:05}")]
    #[table(index(by_origin, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(crate) struct FlightV1 {
        carrier: String,
        number: u32,
        origin: String,
        seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}", moved_from = FlightV1)]
    #[table(index(by_seats, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) origin: String,
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) code: String,
        pub(crate) seats: i64,
    }

    impl Upgrade<FlightV1> for Flight {
        fn upgrade(old: FlightV1) -> Result<Self, UpgradeError> {
            if old.seats < 0 {
                return Err(UpgradeError::new("fewer seats than none"));
            }
            let code = format!("{}{}", old.carrier, old.number);
            Ok(Self { origin: old.origin, carrier: old.carrier, number: old.number, code, seats: old.seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }
}

/// So many flights of so many carriers, as the first program wrote them, which has ended.
pub(crate) async fn filled(mode: Consistency, carriers: u32, flights: u32) -> TestDatabase {
    let made = match mode {
        Consistency::Azure => TestDatabase::new::<before::Model>().await,
        Consistency::Atomic => TestDatabase::atomic::<before::Model>().await,
    };
    let db = made.expect("a database in memory");
    let all = (0..carriers).flat_map(|of| (0..flights).map(move |number| before::flight(&format!("C{of}"), number)));
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    db.clock().advance(Duration::from_secs(130));
    db
}

/// The rows of a table that remember nothing that was.
pub(crate) async fn live_rows(db: &Database, table: &str) -> Vec<Row> {
    let query = tablemodel::store::Query::new(table, tablemodel::store::KeyRange::table());
    let (mut rows, mut query) = (Vec::new(), query);
    loop {
        let page = match db.store().query(&query).await {
            Ok(page) => page,
            Err(_) => return rows,
        };
        rows.extend(page.rows);
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => break,
        }
    }
    let is_live = |row: &Row| !kind(row).contains('~') && row.properties.get("_dead").is_none();
    rows.retain(is_live);
    rows
}

pub(crate) fn kind(row: &Row) -> String {
    match row.properties.get("EntityType") {
        Some(ValueRef::String(text)) => text.to_owned(),
        _ => String::new(),
    }
}

/// Flights by carrier and number: origin and seats.
pub(crate) type Flights = BTreeMap<(String, u32), (String, i64)>;

pub(crate) async fn old_flights(db: &Database, carriers: u32) -> Flights {
    let mut all = Flights::new();
    for of in 0..carriers {
        let found = first::Flight::find().carrier(format!("C{of}")).all(db).await.expect("read");
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
        let seats = second::Flight::by_seats().origin(origin).all(db).await?;
        assert_eq!(seats.len(), all.values().filter(|(of, _)| of == origin).count(), "{origin}");
    }
    let mut of_carriers = 0;
    for of in 0..carriers {
        of_carriers += second::Flight::of_carrier().carrier(format!("C{of}")).all(db).await?.len();
    }
    assert_eq!(of_carriers, all.len());
    Ok(all)
}

pub(crate) const ORIGINS: [&str; 5] = ["OSL", "FCO", "BRN", "CDG", "KBP"];

pub(crate) async fn states(db: &Database) -> Vec<IndexState> {
    let status = db.migrations().status().await.expect("read").expect("a migration");
    status.steps.into_iter().map(|step| step.state).collect()
}
