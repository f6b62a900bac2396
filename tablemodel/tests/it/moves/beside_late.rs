//! Programs of a form that the store does not keep, and what an older release took away.

use tablemodel::{Consistency, ErrorKind, Upgrade, UpgradeError, prelude::*, testing::TestDatabase};

use super::{
    MODES, ORIGINS, assert_clean, before, filled, first, kind, new_flights, new_rows, next, old_rows, program, second,
};

/// The release that keeps both, and drops an index of the old form, of which the new one has one of the same name.
mod thinner {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Flights", partition = "{carrier}", row = "{number:05}", moves_to = super::first::FlightV2)]
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
}

impl Upgrade<thinner::Flight> for first::FlightV2 {
    fn upgrade(old: thinner::Flight) -> Result<Self, UpgradeError> {
        let thinner::Flight { carrier, number, origin, seats } = old;
        <Self as Upgrade<first::Flight>>::upgrade(first::Flight { carrier, number, origin, seats })
    }
}

async fn assert_has_moved(late: &Database, told: &str) {
    let moved = ErrorKind::Moved { to: 2 };
    let read = before::Flight::find().carrier("C0").number(1).one(late).await;
    assert_eq!(read.unwrap_err().kind(), &moved, "{told}");
    let read = before::Flight::find().carrier("C0").all(late).await;
    assert_eq!(read.unwrap_err().kind(), &moved, "{told}");
    assert_eq!(late.insert(&before::flight("C0", 900)).await.unwrap_err().kind(), &moved, "{told}");
    assert_eq!(late.ensure_tables().await.unwrap_err().kind(), &moved, "{told}");
}

#[tokio::test]
async fn a_program_that_knows_of_no_move_is_told_of_it_once_the_entity_has_moved() {
    for mode in MODES {
        let store = filled(mode, 1, 4).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let early = program::<before::Model>(&store).await;
        assert_eq!(before::Flight::find().carrier("C0").number(1).one(&early).await.unwrap().unwrap().number, 1);
        drop(early);
        db.migrations().contract().await.expect("switched");
        assert_has_moved(&program::<before::Model>(&store).await, &format!("{mode:?}")).await;
    }
    // A store that never had the old form says so too.
    let store = TestDatabase::new::<second::Model>().await.unwrap();
    assert_has_moved(&program::<before::Model>(&store).await, "new").await;
}

#[tokio::test]
async fn the_form_that_the_store_does_not_keep_is_neither_read_nor_written() {
    for mode in MODES {
        let store = filled(mode, 1, 4).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let not_switched = ErrorKind::NotSwitched { from: 1 };
        let read = first::FlightV2::find().origin(ORIGINS[0]).all(&db).await;
        assert_eq!(read.unwrap_err().kind(), &not_switched, "{mode:?}");
        let new =
            first::FlightV2 { origin: "KBP".into(), carrier: "C9".into(), number: 1, code: "C91".into(), seats: 1 };
        assert_eq!(db.insert(&new).await.unwrap_err().kind(), &not_switched, "{mode:?}");
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        db.migrations().contract().await.expect("switched");
        let late = program::<first::Model>(&store).await;
        let read = first::Flight::find().carrier("C0").all(&late).await;
        assert_eq!(read.unwrap_err().kind(), &ErrorKind::Moved { to: 2 }, "{mode:?}");
    }
}

#[tokio::test]
async fn an_index_that_the_old_form_drops_takes_no_shadows_of_its_name_along() {
    for mode in MODES {
        let store = filled(mode, 1, 6).await;
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<thinner::Model>(&store).await;
        let sorted = async |version: &str| {
            let rows = if version == "@1" { old_rows(&db).await } else { new_rows(&db).await };
            rows.iter().filter(|row| kind(row).starts_with("Flight.sorted@")).count()
        };
        assert_eq!((sorted("@1").await, sorted("@2").await), (6, 6), "{mode:?}");
        assert_eq!(db.migrations().contract().await.expect("dropped").rows, 6, "{mode:?}");
        assert_eq!((sorted("@1").await, sorted("@2").await), (0, 6), "{mode:?}");
        assert_clean(&db, "dropped").await;
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        assert_eq!(new_flights(&db, 1).await.expect("readable").len(), 6);
        db.migrations().contract().await.expect("switched");
        assert_eq!(new_flights(&db, 1).await.expect("readable").len(), 6);
        assert_clean(&db, "switched").await;
    }
}

#[tokio::test]
async fn a_program_that_knows_of_no_move_writes_nothing_while_the_entity_is_on_its_way() {
    for mode in MODES {
        let (store, told) = (filled(mode, 1, 4).await, format!("{mode:?}"));
        let db = next::<first::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let back = program::<before::Model>(&store).await;
        let moved = ErrorKind::Moved { to: 2 };
        assert_eq!(back.insert(&before::flight("C0", 900)).await.unwrap_err().kind(), &moved, "{told}");
        let mut found = before::Flight::find().carrier("C0").number(1).one(&back).await.unwrap().expect("is read");
        found.seats += 1;
        assert_eq!(back.save(&mut found).await.unwrap_err().kind(), &moved, "{told}");
        assert_eq!(back.delete(found).await.unwrap_err().kind(), &moved, "{told}");
        let refused = back.migrations().rollback().await.unwrap_err();
        assert_eq!(*refused.kind(), ErrorKind::Unsupported, "it does not know what to take away: {told}");
        assert_clean(&db, &told).await;
        db.migrations().rollback().await.expect("taken back");
        store.clock().advance(std::time::Duration::from_secs(130));
        back.insert(&before::flight("C0", 900)).await.expect("written again");
        assert!(new_rows(&back).await.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn a_program_that_only_reads_learns_that_the_entity_has_moved() {
    let store = filled(tablemodel::Consistency::Azure, 1, 4).await;
    let old = next::<first::Model>(&store).await;
    old.migrations().apply().await.expect("applied");
    assert!(first::Flight::find().carrier("C0").number(1).one(&old).await.expect("read").is_some());
    store.clock().advance(std::time::Duration::from_secs(130));
    let new = next::<second::Model>(&store).await;
    new.migrations().contract().await.expect("switched, since the other is taken for gone");
    let moved = ErrorKind::Moved { to: 2 };
    let read = first::Flight::find().carrier("C0").number(1).one(&old).await.expect_err("there is nothing there");
    assert_eq!(read.kind(), &moved);
    let read = first::Flight::find().carrier("C0").all(&old).await.expect_err("there is nothing there");
    assert_eq!(read.kind(), &moved);
}

/// An entity that stays where it is, with rows elsewhere.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", partition = "{carrier}", row = "x_{id}")]
#[table(index(of_base, table = "Bases", partition = "{base}", row = "{carrier}_{id}", keys_only))]
struct Crew {
    carrier: String,
    id: u32,
    base: String,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum WithCrew {
    Flight(before::Flight),
    Crew(Crew),
}

#[tokio::test]
async fn a_relay_of_a_program_that_an_entity_has_left_behind_goes_on_with_the_others() {
    let store = filled(Consistency::Azure, 1, 3).await;
    let old = next::<WithCrew>(&store).await;
    let db = next::<second::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    db.migrations().contract().await.expect("switched");
    // Of each a row elsewhere becomes another: the tombstones are swept later.
    let flight = second::Flight::find().origin("C0").carrier("C0").number(0).one(&db).await.expect("read").expect("is");
    for base in ["OSL", "BRN"] {
        old.upsert(&Crew { carrier: "C9".into(), id: 1, base: base.into() }).await.expect("written");
    }
    db.delete(flight).await.expect("deleted");

    let report = old.relay().run_once().await.expect("the round goes on");
    assert!(report.waiting > 0, "what is of flights is left to others: {report:?}");
    assert_eq!((report.fenced, report.failed), (1, 0), "{report:?}");
}
