//! Bulk writing of entities that add to one total beside themselves and to another elsewhere, which a neighbour of theirs adds to beside
//! itself: plans that meet so do not go as one commit, and none is lost by it.

use tablemodel::{prelude::*, testing::TestDatabase};

use crate::migrate::{MODES, assert_clean, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Ports", partition = "{from}", row = "trip_{id:05}")]
#[table(count(Port, key(number = from), into = departures))]
#[table(count(Port, key(number = to), into = arrivals))]
#[table(sum(Port, key(number = to), of = passengers, into = visitors))]
struct Trip {
    from: u32,
    id: u32,
    to: u32,
    passengers: i64,
    #[table(copy_of(Port, key(number = to)))]
    there: Option<Sign>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Ports", partition = "{number}", row = "port")]
struct Port {
    number: u32,
    name: String,
    #[table(aggregate)]
    departures: i64,
    #[table(aggregate)]
    arrivals: i64,
    #[table(aggregate)]
    visitors: i64,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Port)]
struct Sign {
    name: String,
}

#[derive(TableModel)]
enum Model {
    Trip(Trip),
    Port(Port),
}

fn trip(id: u32, ports: u32) -> Trip {
    let (from, to) = (id % ports, id / ports % ports); // some end where they began
    Trip { from, id, to, passengers: i64::from(id), there: None }
}

async fn assert_counted(db: &TestDatabase, trips: &[Trip], told: &str) {
    assert_clean(db, told).await;
    for number in 0..5 {
        let port = Port::find().number(number).one(db).await.unwrap().unwrap();
        let came = trips.iter().filter(|trip| trip.to == number);
        let left = trips.iter().filter(|trip| trip.from == number).count() as i64;
        let expected = (left, came.clone().count() as i64, came.map(|trip| trip.passengers).sum::<i64>());
        assert_eq!((port.departures, port.arrivals, port.visitors), expected, "{told}: {number}");
    }
    for trip in trips {
        let found = Trip::find().from(trip.from).id(trip.id).one(db).await.unwrap().unwrap();
        assert_eq!(found.there.as_ref().map(|sign| sign.name.clone()), Some(format!("port {}", trip.to)), "{told}");
    }
}

#[tokio::test]
async fn what_is_added_beside_and_elsewhere_is_all_counted() {
    for mode in MODES {
        let db = store_of::<Model>(mode).await;
        for number in 0..5 {
            let name = format!("port {number}");
            db.insert(&Port { number, name, departures: 0, arrivals: 0, visitors: 0 }).await.unwrap();
        }
        let trips: Vec<_> = (0..200).map(|id| trip(id, 5)).collect();
        let report = db.bulk().insert_iter(trips.clone()).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (200, 0), "{mode:?}: {:?}", report.failed.first());
        assert_counted(&db, &trips, &format!("{mode:?}, inserted")).await;
        let trips: Vec<_> = (0..250).map(|id| Trip { to: (id + 3) % 5, ..trip(id, 5) }).collect();
        let report = db.bulk().upsert_iter(trips.clone()).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (250, 0), "{mode:?}: {:?}", report.failed.first());
        assert_counted(&db, &trips, &format!("{mode:?}, upserted")).await;
    }
}
