//! Entities that follow for several reasons at once: they copy two sources of one batch, are what a source is counted in, or copy
//! both keys of a source that moves. Each row of them is written once, with all of it.

use tablemodel::{ErrorKind, prelude::*, testing::TestDatabase};

use super::settle;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Airports", partition = "{country}", row = "{code}")]
struct Airport {
    country: String,
    code: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Airport)]
struct Place {
    name: String,
}

/// Planned each, because of its whole copy.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", partition = "{day}", row = "{number:04}")]
#[table(index(by_code, row = "c_{to}_{number:04}"))]
struct Flight {
    day: String,
    number: u32,
    country: String,
    from: String,
    to: String,
    #[table(copy_of(Airport, key(country = country, code = from)))]
    origin: Option<Place>,
    #[table(copy_of(Airport, key(country = country, code = to)))]
    destination: Option<Place>,
}

#[derive(Debug, PartialEq, TableModel)]
enum Travel {
    Airport(Airport),
    Flight(Flight),
}

async fn both_modes<M: TableModel>() -> [TestDatabase; 2] {
    [TestDatabase::new::<M>().await.unwrap(), TestDatabase::atomic::<M>().await.unwrap()]
}

async fn assert_clean(db: &TestDatabase) {
    settle(db).await;
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{:?}: {:?}", db.consistency(), verified.violations);
}

#[tokio::test]
async fn rows_of_a_model_leave_out_what_entities_of_another_table_keep_beside_their_sources() {
    for db in both_modes::<Travel>().await {
        let airport = Airport { country: "no".into(), code: "OSL".into(), name: "n".into() };
        db.insert(&airport).await.unwrap();
        let (day, from, to) = ("d".into(), "OSL".into(), "OSL".into());
        let flight = Flight { day, number: 1, country: "no".into(), from, to, origin: None, destination: None };
        let flight = db.insert(&flight).await.unwrap();
        let all = || Travel::rows(Airport::in_partition("no")).all(&db);
        assert_eq!(all().await.unwrap(), [Travel::Airport(airport.clone())], "beside back-references");
        settle(&db).await;
        assert_eq!(all().await.unwrap(), [Travel::Airport(airport.clone())], "beside settled ones");
        let mut flight = Flight::find().day("d").number(flight.number).one(&db).await.unwrap().unwrap();
        flight.from = "BGO".into();
        db.save(&mut flight).await.unwrap();
        db.delete(flight).await.unwrap();
        assert_eq!(all().await.unwrap(), [Travel::Airport(airport.clone())], "beside their tombstones");
        settle(&db).await;
        assert_eq!(all().await.unwrap(), [Travel::Airport(airport)]);
    }
}

#[tokio::test]
async fn one_who_copies_two_sources_of_a_batch_follows_both() {
    for flights in [2, 3, 70] {
        for db in both_modes::<Travel>().await {
            let airport =
                |code: &str, name: &str| Airport { country: "no".into(), code: code.into(), name: name.into() };
            db.insert(&airport("OSL", "old")).await.unwrap();
            db.insert(&airport("BGO", "old")).await.unwrap();
            for number in 0..flights {
                let (day, country) = ("d".into(), "no".into());
                let (from, to) = ("OSL".into(), "BGO".into());
                db.insert(&Flight { day, number, country, from, to, origin: None, destination: None }).await.unwrap();
            }
            settle(&db).await;
            let mut batch = db.batch(Airport::in_partition("no"));
            batch.upsert(&airport("OSL", "new")).upsert(&airport("BGO", "new"));
            batch.commit().await.unwrap();
            settle(&db).await;
            for flight in Flight::find().day("d").all(&db).await.unwrap() {
                let told = (flight.origin.as_ref(), flight.destination.as_ref());
                let place = Place { name: "new".into() };
                assert_eq!(told, (Some(&place), Some(&place)), "{:?}: {}", db.consistency(), flight.number);
            }
            assert_clean(&db).await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "m_{id:04}")]
#[table(sum(Team, key(name = team), of = pay, into = payroll))]
#[table(list(of_rank, row = "r_{rank}"))]
struct Member {
    team: String,
    id: u32,
    name: String,
    rank: u32,
    pay: u32,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Member)]
struct Card {
    name: String,
    rank: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{name}", row = "team")]
struct Team {
    name: String,
    leader: u32,
    #[table(copy_of(Member, key(team = name, id = leader)))]
    led_by: Option<Card>,
    #[table(aggregate)]
    payroll: i64,
}

/// More than one batch takes, with the rows that are derived from them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "desk_{number:04}")]
#[table(index(by_leader, row = "l_{leader:04}_{number:04}"))]
struct Desk {
    team: String,
    number: u32,
    leader: u32,
    #[table(copy_of(Member, key(team = team, id = leader)))]
    led_by: Option<Card>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "chair_{number:04}")]
struct Chair {
    team: String,
    number: u32,
    leader: u32,
    #[table(copy_of(Member, key(team = team, id = leader)))]
    led_by: Option<Card>,
}

#[derive(TableModel)]
enum Office {
    Member(Member),
    Team(Team),
    Desk(Desk),
    Chair(Chair),
}

#[tokio::test]
async fn a_holder_that_counts_its_source_has_copy_and_total_however_many_others_follow() {
    for (desks, chairs) in [(3, 3), (120, 0), (0, 120), (60, 60)] {
        for db in both_modes::<Office>().await {
            let team = || "A".to_owned();
            let member = |id, pay| Member { team: team(), id, name: format!("m{id}"), rank: 1, pay };
            db.insert(&Team { name: team(), leader: 1, led_by: None, payroll: 0 }).await.unwrap();
            db.insert(&member(1, 10)).await.unwrap();
            db.insert(&member(2, 5)).await.unwrap();
            for number in 0..desks {
                db.insert(&Desk { team: team(), number, leader: 1, led_by: None }).await.unwrap();
            }
            for number in 0..chairs {
                db.insert(&Chair { team: team(), number, leader: 1, led_by: None }).await.unwrap();
            }
            settle(&db).await;
            db.update(Member::find().team("A").id(1), |leader| {
                (leader.name, leader.rank, leader.pay) = ("new".into(), 2, 77);
                Ok(())
            })
            .await
            .unwrap();
            settle(&db).await;
            let told = format!("{:?}, {desks} desks, {chairs} chairs", db.consistency());
            let read = Team::find().name("A").one(&db).await.unwrap().unwrap();
            let card = Some(Card { name: "new".into(), rank: 2 });
            assert_eq!((read.payroll, &read.led_by), (82, &card), "{told}");
            for desk in Desk::find().team("A").all(&db).await.unwrap() {
                assert_eq!(desk.led_by, card, "{told}");
            }
            for chair in Chair::find().team("A").all(&db).await.unwrap() {
                assert_eq!(chair.led_by, card, "{told}");
            }
            assert_clean(&db).await;
        }
    }
}

/// Beside one of the two keys that it copies.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "pair_{number:04}")]
struct Pair {
    team: String,
    number: u32,
    one: Option<String>,
    two: Option<String>,
    id: u32,
    #[table(copy_of(Member, key(team = one, id = id)))]
    first: Option<Card>,
    #[table(copy_of(Member, key(team = two, id = id)))]
    second: Option<Card>,
}

#[derive(TableModel)]
enum Pairs {
    Member(Member),
    Team(Team),
    Pair(Pair),
}

#[tokio::test]
async fn one_beside_a_key_of_two_that_it_copies_is_named_or_follows_both() {
    for beside in ["A", "B"] {
        for db in both_modes::<Pairs>().await {
            let member = Member { team: "A".into(), id: 1, name: "m".into(), rank: 1, pay: 10 };
            db.insert(&member).await.unwrap();
            let (one, two) = (Some("A".into()), Some("B".into()));
            let pair = Pair { team: beside.into(), number: 7, one, two, id: 1, first: None, second: None };
            db.insert(&pair).await.unwrap();
            settle(&db).await;
            let mut member = Member::find().team("A").id(1).one(&db).await.unwrap().unwrap();
            member.team = "B".into();
            let moved = db.rekey(&mut member).await;
            settle(&db).await;
            let read = Pair::find().team(beside).number(7).one(&db).await.unwrap().unwrap();
            let (has_first, has_second) = (read.first.is_some(), read.second.is_some());
            match moved {
                Ok(()) => assert_eq!((has_first, has_second), (false, true), "{:?}", db.consistency()),
                Err(error) => {
                    assert_eq!(error.kind(), &ErrorKind::Unsupported, "{error}");
                    assert!(error.to_string().contains(&format!("{beside}/pair_0007")), "{error}");
                    assert_eq!((has_first, has_second), (true, false), "{:?}", db.consistency());
                }
            }
            assert_clean(&db).await;
        }
    }
}

/// In one commit over several partitions each of the sources that were not there has left a tombstone.
#[tokio::test]
async fn sources_may_be_loaded_after_those_that_copy_them() {
    for db in both_modes::<Travel>().await {
        let code = |number: u32| format!("C{number:02}");
        let flights = (0..40).map(|number| {
            let (day, country, from, to) = (format!("d{}", number % 3), "no".into(), code(number), code(number + 1));
            Flight { day, number, country, from, to, origin: None, destination: None }
        });
        db.bulk().insert_iter(flights).await.unwrap().into_result().unwrap();
        let airports = (0..41).map(|number| Airport { country: "no".into(), code: code(number), name: code(number) });
        let report = db.bulk().insert_iter(airports).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (41, 0), "{:?}", report.failed.first());
        assert_clean(&db).await;
        let flight = Flight::find().day("d1").number(7).one(&db).await.unwrap().unwrap();
        assert_eq!(flight.destination.as_ref().map(|place| place.name.as_str()), Some("C08"));
    }
}

/// A leg of a journey beside its ends, which may be one place.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Airports", partition = "{country}", row = "leg_{number:04}")]
struct Leg {
    country: String,
    number: u32,
    from: String,
    to: String,
    #[table(copy_of(Stop, key(country = country, code = from)))]
    origin: Option<StopName>,
    #[table(copy_of(Stop, key(country = country, code = to)))]
    destination: Option<StopName>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Airports", partition = "{country}", row = "stop_{code}")]
struct Stop {
    country: String,
    code: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Stop)]
struct StopName {
    name: String,
}

#[derive(TableModel)]
enum Journey {
    Leg(Leg),
    Stop(Stop),
}

#[tokio::test]
async fn two_copies_beside_one_source_that_is_not_there_wait_for_it_together() {
    for db in both_modes::<Journey>().await {
        let leg = |number, to: &str| {
            let (country, from, to) = ("no".into(), "BGO".into(), to.into());
            Leg { country, number, from, to, origin: None, destination: None }
        };
        db.insert(&leg(1, "BGO")).await.unwrap();
        let mut second = db.insert(&leg(2, "OSL")).await.unwrap();
        second.from = "TRD".into();
        second.to = "TRD".into();
        db.save(&mut second).await.unwrap();
        for code in ["BGO", "TRD"] {
            db.insert(&Stop { country: "no".into(), code: code.into(), name: code.into() }).await.unwrap();
        }
        for (number, code) in [(1, "BGO"), (2, "TRD")] {
            let leg = Leg::find().country("no").number(number).one(&db).await.unwrap().unwrap();
            let name = Some(StopName { name: code.into() });
            assert_eq!((&leg.origin, &leg.destination), (&name, &name), "{:?}", db.consistency());
        }
        assert_clean(&db).await;
    }
}
