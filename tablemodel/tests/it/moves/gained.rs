//! An index that the new form of a move gains, or a program's lacks, between the build and the switch.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*};

use super::{MODES, assert_clean, filled, new_flights, next, program, second};

/// The release whose new form has one more index.
mod more {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", entity_type = "Flight", frozen, partition = "{carrier}", row = "f_{number:05}")]
    #[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
    #[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
    pub(super) struct FlightV1 {
        carrier: String,
        number: u32,
        origin: String,
        seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}", moved_from = FlightV1)]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    #[table(index(by_code, row = "c_{code}_{carrier}_{number:05}", keys_only))]
    pub(super) struct Flight {
        pub(super) origin: String,
        pub(super) carrier: String,
        pub(super) number: u32,
        pub(super) code: String,
        pub(super) seats: i64,
    }

    impl Upgrade<FlightV1> for Flight {
        fn upgrade(FlightV1 { carrier, number, origin, seats }: FlightV1) -> Result<Self, UpgradeError> {
            Ok(Self { code: format!("{carrier}{number}"), origin, carrier, number, seats })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Flight(Flight),
    }
}

async fn by_code(db: &Database) -> tablemodel::Result<u64> {
    more::Flight::by_code().origin(super::ORIGINS[1]).count(db).await
}

#[tokio::test]
async fn an_index_that_the_new_form_gained_after_it_was_built_is_not_read_before_the_switch() {
    for mode in MODES {
        let store = filled(mode, 1, 4).await;
        let built = next::<second::Model>(&store).await;
        built.migrations().apply().await.expect("applied");
        drop(built);
        store.clock().advance(Duration::from_secs(130));

        let db = next::<more::Model>(&store).await;
        let error = by_code(&db).await.expect_err("its rows are of no entity that was there");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{mode:?}: {error:?}");
        let found = more::Flight::find().origin(super::ORIGINS[1]).all(&db).await.expect("the rest is complete");
        assert!(!found.is_empty());
        db.migrations().contract().await.expect("switched");
        assert_eq!(by_code(&db).await.expect("complete"), found.len() as u64, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

/// Two programs of a release whose new form lacks the index, beside one that has built it.
#[tokio::test]
async fn an_index_of_the_new_form_that_a_program_writes_without_is_not_read_before_the_switch() {
    for mode in MODES {
        let store = filled(mode, 1, 4).await;
        let db = next::<more::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let built = by_code(&db).await.expect("complete");
        drop(db);
        let (lacks, other) =
            (program::<super::first::Model>(&store).await, program::<super::first::Model>(&store).await);
        for (program, number) in [(&lacks, 7), (&other, 10)] {
            program.ensure_tables().await.expect("known");
            program.insert(&flight(number)).await.expect("written");
        }
        let db = next::<more::Model>(&store).await;
        let error = by_code(&db).await.expect_err("it lacks two");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{mode:?}: {error:?}");
        assert_eq!(new_flights(&next::<second::Model>(&store).await, 1).await.expect("the rest is complete").len(), 6);
        let plan = lacks.migrations().plan().await.expect("planned");
        assert!(plan.steps.is_empty(), "{mode:?}: nothing is to be built for it: {plan:?}");
        drop((lacks, other));
        store.clock().advance(Duration::from_secs(130));
        db.migrations().contract().await.expect("switched");
        assert_eq!(by_code(&db).await.expect("complete"), built + 2, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

fn flight(number: u32) -> super::first::Flight {
    super::first::Flight { carrier: "C0".into(), number, origin: super::ORIGINS[1].into(), seats: 7 }
}
