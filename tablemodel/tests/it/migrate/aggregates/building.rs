//! The way there and back, without faults.

use std::{collections::BTreeSet, time::Duration};

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    prelude::*,
    store::{KeyRange, RowRange},
    testing::{CallKind, CallRecord, Fault, Script},
};

use super::{
    super::{MODES, all_rows, assert_clean, crashes::moves_of_states, next, program, states},
    Club, Person, Team, assert_counted, assert_uncounted, before, filled, person, team, town,
};
use crate::points::points;

/// Whatever may change the aggregates, once.
async fn change(db: &Database) {
    db.update(Person::find().club("c0").id(1), |p| Ok((p.city, p.visits) = ("Paris".into(), 70)))
        .await
        .expect("updated");
    db.update(Person::find().club("c0").id(2), |p| Ok(p.active = !p.active)).await.expect("updated");
    db.delete(Person::find().club("c1").id(5).one(db).await.unwrap().unwrap()).await.expect("deleted");
    db.insert(&person("c1", 900, -3)).await.expect("inserted");
    db.insert(&person("c3", 1, 4)).await.expect("inserted");
    let mut moved = Person::find().club("c0").id(3).one(db).await.unwrap().unwrap();
    moved.id = 801;
    db.save(&mut moved).await.expect("moved");
    db.upsert(&team("c2", "Late")).await.expect("written");
    db.upsert(&town("Bern", "Late")).await.expect("written");
    if let Some(first) = Team::find().club("c0").one(db).await.unwrap() {
        db.delete(first).await.expect("deleted");
    }
}

/// Of programs that only read, and so have no lease.
#[tokio::test]
async fn totals_and_verify_go_by_states_that_others_changed() {
    let store = filled(Consistency::Azure, 2, 12).await;
    let (db, reader) = (next::<Club>(&store).await, program::<Club>(&store).await);
    let members = async |db: &Database| db.total(Team::find().club("c0"), Team::MEMBERS).await;
    let error = members(&reader).await.expect_err("not built");
    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Members" });
    db.migrations().apply().await.expect("applied");
    assert_eq!(members(&reader).await.expect("it was built meanwhile"), 9);
    let watcher = program::<Club>(&store).await;
    assert_eq!(members(&watcher).await.expect("built"), 9);
    db.migrations().rollback().await.expect("taken back");
    db.relay().drain().await.expect("drained");
    let error = members(&reader).await.expect_err("it was taken back meanwhile");
    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Members" });
    let verified = watcher.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{:?}", verified.violations);
}

#[tokio::test]
async fn what_is_added_is_counted_kept_taken_back_and_counted_again() {
    for mode in MODES {
        let store = filled(mode, 3, 70).await;
        let db = next::<Club>(&store).await;
        let plan = db.migrations().plan().await.expect("planned");
        assert_eq!((plan.steps.len(), plan.unsupported.len()), (7, 0), "{plan:?}");
        assert_uncounted(&db, "before").await;
        let sized = db.migrations().apply().dry_run(None).await.expect("sized");
        assert_eq!((sized.entities, sized.rows, sized.failed), (210, 840, 0), "a contribution each to four of them");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.failed == 0, "{applied:?}");
        assert_counted(&db, &format!("{mode:?}, built")).await;
        change(&db).await;
        assert_counted(&db, &format!("{mode:?}, changed")).await;
        let status = db.migrations().status().await.unwrap().unwrap();
        assert!(status.steps.iter().all(|step| step.state == IndexState::Readable) && status.finished.is_some());
        let gone = db.migrations().rollback().await.expect("taken back");
        assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent), "{gone:?}");
        assert_uncounted(&db, &format!("{mode:?}, taken back")).await;
        db.update(Person::find().club("c1").id(1), |p| Ok(p.visits = 1_000)).await.expect("updated");
        assert_uncounted(&db, &format!("{mode:?}, changed")).await;
        db.migrations().apply().await.expect("applied again");
        assert_counted(&db, &format!("{mode:?}, built again")).await;
    }
}

/// No entity is written where the cell alone tells.
#[tokio::test]
async fn counting_beside_writes_no_source() {
    mod counts {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
        #[table(count(Team, key(club = club), into = members))]
        pub(super) struct Person {
            pub(super) club: String,
            pub(super) id: u32,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", wide, partition = "{club}", row = "team")]
        pub(super) struct Team {
            pub(super) club: String,
            #[table(aggregate, default)]
            pub(super) members: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(super) enum Club {
            Person(Person),
            Team(Team),
        }
    }
    for mode in MODES {
        let store = filled(mode, 3, 70).await;
        let before = all_rows(&store, "Club").await;
        let db = next::<counts::Club>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 0, "{applied:?}");
        for club in ["c0", "c1", "c2"] {
            let path = || counts::Team::find().club(club);
            assert_eq!(db.total(path(), counts::Team::MEMBERS).await.expect("built"), 70);
            let there = path().one(&db).await.expect("read");
            assert!(there.is_none_or(|team| team.members == 70));
        }
        let people = |rows: Vec<tablemodel::Row>| -> Vec<_> {
            rows.into_iter().filter(|row| row.key.row.starts_with("p_")).collect()
        };
        assert_eq!(people(all_rows(&db, "Club").await), people(before));
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

/// More cells in one partition than a page has rows.
#[tokio::test]
async fn a_partition_is_read_once_for_all_its_cells() {
    mod plain {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Hall", partition = "{hall}", row = "g_{id:04}")]
        pub(super) struct Guest {
            pub(super) hall: String,
            pub(super) id: u32,
            pub(super) seat: u32,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Hall", partition = "{hall}", row = "s_{number:04}")]
        pub(super) struct Seat {
            pub(super) hall: String,
            pub(super) number: u32,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(super) enum Hall {
            Guest(Guest),
            Seat(Seat),
        }
    }
    mod counted {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Hall", partition = "{hall}", row = "g_{id:04}")]
        #[table(count(Seat, key(hall = hall, number = seat), into = guests))]
        pub(super) struct Guest {
            pub(super) hall: String,
            pub(super) id: u32,
            pub(super) seat: u32,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Hall", partition = "{hall}", row = "s_{number:04}")]
        pub(super) struct Seat {
            pub(super) hall: String,
            pub(super) number: u32,
            #[table(aggregate, default)]
            pub(super) guests: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(super) enum Hall {
            Guest(Guest),
            Seat(Seat),
        }
    }
    const SEATS: u32 = 2_500;
    for mode in MODES {
        let store = crate::migrate::store_of::<plain::Hall>(mode).await;
        let seats = (0..SEATS).map(|number| plain::Seat { hall: "A".into(), number });
        let guests = (0..SEATS).map(|id| plain::Guest { hall: "A".into(), id, seat: id });
        store.bulk().insert_iter(seats).await.expect("written").into_result().expect("all of them");
        store.bulk().insert_iter(guests).await.expect("written").into_result().expect("all of them");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<counted::Hall>(&store).await;
        store.forget_calls();
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        let whole = KeyRange::rows("A", RowRange::all());
        let read = store.calls().into_iter().filter_map(|call| match call.call {
            CallKind::Query { table, range, rows, .. } if table == "Hall" && range == whole => Some(rows),
            _ => None,
        });
        let read: usize = read.sum();
        let there = all_rows(&db, "Hall").await.len();
        assert_eq!(there, 3 * SEATS as usize, "{mode:?}: each seat has a cell");
        assert!((there..=2 * there).contains(&read), "{mode:?}: {read} rows read of a partition of {there}");
        let seats = counted::Seat::find().hall("A").all(&db).await.expect("read");
        assert!(seats.len() == SEATS as usize && seats.iter().all(|seat| seat.guests == 1), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

/// Where a migration that makes these calls dies: before each change of states, after the last one, and between.
fn stops(calls: &[CallRecord], mode: Consistency) -> Vec<(usize, Fault)> {
    let moves = moves_of_states(calls);
    let last = moves.last().copied().expect("the states are changed");
    let before = moves.into_iter().map(|call| (call, Fault::CrashBefore));
    let between = points(calls.len(), 4, &format!("{mode:?}")).into_iter().map(|call| (call, Fault::CrashAfter));
    before.chain([(last, Fault::CrashAfter)]).chain(between).collect()
}

/// The migration stops at each of its states, by dying; programs write; it is taken back.
#[tokio::test]
async fn at_every_state_it_can_be_taken_back() {
    let apply = async |db: &Database| db.migrations().apply().workers(1).batch(50).await;
    for mode in MODES {
        let mut met = BTreeSet::new();
        let whole = filled(mode, 2, if mode == Consistency::Azure { 7 } else { 101 }).await;
        let store = whole.fork().expect("in memory");
        let db = next::<Club>(&store).await;
        store.forget_calls();
        apply(&db).await.expect("applied");
        for (call, fault) in stops(&store.calls(), mode) {
            let told = format!("{mode:?}, {fault:?} at call {call}");
            let store = whole.fork().expect("in memory");
            let db = next::<Club>(&store).await;
            store.fail(Script::new().at(call, fault));
            let _ = apply(&db).await;
            store.fail(Script::new());
            let store = store.reopen::<before::Club>().await.expect("opened");
            store.clock().advance(Duration::from_secs(130));
            let db = program::<Club>(&store).await;
            if db.migrations().status().await.unwrap().is_none() {
                continue;
            }
            met.extend(states(&db).await);
            change(&db).await;
            assert_clean(&db, &told).await;
            db.migrations().rollback().await.expect("taken back");
            assert_uncounted(&db, &told).await;
        }
        assert_eq!(met.len(), 4, "every state was met: {met:?}");
    }
}

#[tokio::test]
async fn what_the_model_dropped_is_taken_away_and_can_be_counted_anew() {
    for mode in MODES {
        let store = filled(mode, 3, 70).await;
        next::<Club>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<before::Club>(&store).await;
        let plan = db.migrations().plan().await.unwrap();
        assert_eq!((plan.steps.len(), plan.dropped.len()), (0, 7), "{plan:?}");
        db.migrations().contract().await.expect("taken away");
        for table in ["Club", "Towns"] {
            let left: Vec<_> =
                all_rows(&db, table).await.into_iter().filter(|row| row.key.row.starts_with("~~agg")).collect();
            assert!(left.is_empty(), "{mode:?}: {left:?}");
        }
        assert_clean(&db, &format!("{mode:?}, taken away")).await;
        let mut first = before::Person::find().club("c0").id(1).one(&db).await.unwrap().unwrap();
        first.visits = 5_000;
        db.save(&mut first).await.expect("saved");
        store.clock().advance(Duration::from_secs(130));
        let again = next::<Club>(&store).await;
        again.migrations().apply().await.expect("applied anew");
        assert_counted(&again, &format!("{mode:?}, counted anew")).await;
    }
}
