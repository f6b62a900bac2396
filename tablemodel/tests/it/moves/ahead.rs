//! A program of the release after next, which comes before the entity is kept in the form that it knows.

use tablemodel::{ErrorKind, prelude::*};

use super::{MODES, ORIGINS, filled, next, program, second};

/// The release after the one that takes the new form: it knows nothing of the old one.
pub(super) mod third {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Departures", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}")]
    #[table(index(sorted, row = "s_{seats}_{carrier}_{number:05}", keep(code)))]
    #[table(index(of_carrier, table = "Carriers", partition = "{carrier}", row = "{number:05}_{origin}", keys_only))]
    pub(crate) struct Flight {
        pub(crate) origin: String,
        pub(crate) carrier: String,
        pub(crate) number: u32,
        pub(crate) code: String,
        pub(crate) seats: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Model {
        Flight(Flight),
    }
}

#[tokio::test]
async fn a_program_that_knows_the_new_form_alone_is_refused_until_that_is_the_one() {
    for mode in MODES {
        let (store, told) = (filled(mode, 1, 4).await, format!("{mode:?}"));
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let early = program::<third::Model>(&store).await;
        let read = third::Flight::find().origin(ORIGINS[0]).all(&early).await.expect_err("it is a shadow");
        assert!(matches!(read.kind(), ErrorKind::NotSwitched { .. }), "{told}: {read}");
        let ensured = early.ensure_tables().await.expect_err("too early");
        assert!(matches!(ensured.kind(), ErrorKind::NotSwitched { .. }), "{told}: {ensured}");
        drop(early);
        store.clock().advance(std::time::Duration::from_secs(130));
        db.migrations().contract().await.expect("switched");
        let late = next::<third::Model>(&store).await;
        assert!(!third::Flight::find().origin(ORIGINS[1]).all(&late).await.expect("read").is_empty(), "{told}");
    }
}
