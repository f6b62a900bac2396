//! Aggregates that are added to entities which are there already: beside their sources and in other partitions, with targets and
//! without, in one row and in several.

mod beside;
mod building;
mod crashes;
mod lapsed;
mod listed;
mod stalled;
mod taken;

use std::collections::BTreeMap;

use tablemodel::{Consistency, ErrorKind, Row, ValueRef, prelude::*, testing::TestDatabase};

use super::{all_rows, assert_clean};

/// The first release: nothing is counted.
pub(super) mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) city: String,
        pub(crate) visits: i64,
        pub(crate) active: bool,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", wide, partition = "{club}", row = "team")]
    pub(crate) struct Team {
        pub(crate) club: String,
        pub(crate) motto: String,
        #[table(flatten)]
        pub(crate) day: [u32; 250],
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Towns", partition = "{name}", row = "town")]
    #[table(index(by_mayor, row = "m_{mayor}", keys_only))]
    pub(crate) struct Town {
        pub(crate) name: String,
        pub(crate) mayor: String,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    #[expect(clippy::large_enum_variant, reason = "a test")]
    pub(crate) enum Club {
        Person(Person),
        Team(Team),
        Town(Town),
    }
}

/// The second.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
#[table(count(Team, key(club = club), into = members, when = active))]
#[table(sum(Team, key(club = club), of = visits, into = visits))]
#[table(max(Team, key(club = club), of = visits, into = most))]
#[table(sum(Town, key(name = city), of = visits, into = visits))]
#[table(min(Town, key(name = city), of = visits, into = least))]
#[table(count(Team, key(club = club), into = heads, when = active))]
#[table(sum(Town, key(name = city), of = visits, into = tours))]
pub(super) struct Person {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) city: String,
    pub(super) visits: i64,
    pub(super) active: bool,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", wide, partition = "{club}", row = "team", sharded(heads = i64))]
pub(super) struct Team {
    pub(super) club: String,
    pub(super) motto: String,
    #[table(flatten)]
    pub(super) day: [u32; 250],
    #[table(aggregate, default)]
    pub(super) members: i64,
    #[table(aggregate, default)]
    pub(super) visits: i64,
    #[table(aggregate)]
    pub(super) most: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{name}", row = "town", sharded(tours = i64))]
#[table(index(by_mayor, row = "m_{mayor}", keys_only))]
pub(super) struct Town {
    pub(super) name: String,
    pub(super) mayor: String,
    #[table(aggregate, default)]
    pub(super) visits: i64,
    #[table(aggregate)]
    pub(super) least: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
#[expect(clippy::large_enum_variant, reason = "a test")]
pub(super) enum Club {
    Person(Person),
    Team(Team),
    Town(Town),
}

pub(super) const CITIES: [&str; 4] = ["Oslo", "Rome", "Bern", "Paris"];

pub(super) fn old_person(club: &str, id: u32) -> before::Person {
    let city = CITIES[id as usize % 3].to_owned();
    before::Person { club: club.into(), id, city, visits: i64::from(id * 7 % 11), active: !id.is_multiple_of(4) }
}

pub(super) fn person(club: &str, id: u32, visits: i64) -> Person {
    let before::Person { club, id, city, active, .. } = old_person(club, id);
    Person { club, id, city, visits, active }
}

pub(super) fn team(club: &str, motto: &str) -> Team {
    Team { club: club.into(), motto: motto.into(), day: [7; 250], members: 0, visits: 0, most: None }
}

pub(super) fn town(name: &str, mayor: &str) -> Town {
    Town { name: name.into(), mayor: mayor.into(), visits: 0, least: None }
}

/// So many persons in so many clubs, of which the last has no team, and all towns but one, as the first release wrote them; that
/// program has ended.
pub(super) async fn filled(mode: Consistency, clubs: u32, persons: u32) -> TestDatabase {
    let db = crate::migrate::store_of::<before::Club>(mode).await;
    let all = (0..clubs).flat_map(|club| (0..persons).map(move |id| old_person(&format!("c{club}"), id)));
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    for club in 0..clubs - 1 {
        let team = before::Team { club: format!("c{club}"), motto: "On".into(), day: [7; 250] };
        db.insert(&team).await.expect("inserted");
    }
    for name in ["Oslo", "Rome", "Nowhere"] {
        db.insert(&before::Town { name: name.into(), mayor: "Jo".into() }).await.expect("inserted");
    }
    db.clock().advance(std::time::Duration::from_secs(130));
    db
}

/// Count, sum, greatest of active members; sum and least.
type Totals = (i64, i64, Option<i64>);

/// What the persons that there are come to, by club and by city.
async fn expected(db: &Database) -> (BTreeMap<String, Totals>, BTreeMap<String, (i64, Option<i64>)>) {
    let (mut clubs, mut cities) = (BTreeMap::<String, Totals>::new(), BTreeMap::<String, (i64, Option<i64>)>::new());
    let is_person = |row: &Row| row.key.row.starts_with("p_");
    for row in all_rows(db, "Club").await.into_iter().filter(is_person) {
        let Some(ValueRef::Int64(visits)) = row.properties.get("Visits") else { continue };
        let Some(ValueRef::String(city)) = row.properties.get("City") else { panic!("{row:?}") };
        let active = row.properties.get("Active") == Some(ValueRef::Boolean(true));
        let club = clubs.entry(row.key.partition.clone()).or_default();
        *club = (club.0 + i64::from(active), club.1 + visits, club.2.max(Some(visits)));
        let of = cities.entry(city.to_owned()).or_default();
        *of = (of.0 + visits, Some(of.1.unwrap_or(visits).min(visits)));
    }
    (clubs, cities)
}

/// That every total, and what every target holds, is what the persons come to.
pub(super) async fn assert_counted(db: &Database, told: &str) {
    assert_clean(db, told).await;
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none() && plan.unsupported.is_empty(), "{told}: {plan:?}");
    let (clubs, cities) = expected(db).await;
    for club in 0..4 {
        let club = format!("c{club}");
        let wanted = clubs.get(&club).copied().unwrap_or_default();
        let path = || Team::find().club(&club);
        let members = db.total(path(), Team::MEMBERS).await.expect("built");
        let visits = db.total(path(), Team::VISITS).await.expect("built");
        let most = db.total(path(), Team::MOST).await.expect("built");
        assert_eq!((members, visits, most), wanted, "{told}: {club}");
        assert_eq!(db.total(path(), Team::HEADS).await.expect("built"), wanted.0, "{told}: {club}");
        if let Some(team) = path().one(db).await.expect("read") {
            assert_eq!((team.members, team.visits, team.most), wanted, "{told}: {club}");
            assert_eq!(team.day, [7; 250], "{told}: {club}");
        }
    }
    for city in CITIES.into_iter().chain(["Nowhere"]) {
        let wanted = cities.get(city).copied().unwrap_or_default();
        let path = || Town::find().name(city);
        let visits = db.total(path(), Town::VISITS).await.expect("built");
        let least = db.total(path(), Town::LEAST).await.expect("built");
        assert_eq!((visits, least), wanted, "{told}: {city}");
        assert_eq!(db.total(path(), Town::TOURS).await.expect("built"), visits, "{told}: {city}");
        if let Some(town) = path().one(db).await.expect("read") {
            assert_eq!((town.visits, town.least), wanted, "{told}: {city}");
        }
    }
}

/// That nothing is counted: no contribution is left, no cell says anything, and targets hold nothing.
pub(super) async fn assert_uncounted(db: &Database, told: &str) {
    assert_clean(db, told).await;
    for table in ["Club", "Towns"] {
        for row in all_rows(db, table).await.iter().filter(|row| row.key.row.starts_with("~~agg|")) {
            assert_eq!(row.properties.get("_count"), Some(ValueRef::Int64(0)), "{told}: {row:?}");
            assert!(!row.key.row.contains("|Heads|") && !row.key.row.contains("|Tours|"), "{told}: {row:?}");
        }
    }
    for club in 0..4 {
        if let Some(team) = Team::find().club(format!("c{club}")).one(db).await.expect("read") {
            assert_eq!((team.members, team.visits, team.most), (0, 0, None), "{told}: c{club}");
        }
    }
    for city in CITIES {
        if let Some(town) = Town::find().name(city).one(db).await.expect("read") {
            assert_eq!((town.visits, town.least), (0, None), "{told}: {city}");
        }
    }
    let error = db.total(Team::find().club("c0"), Team::MEMBERS).await.expect_err("it is not built");
    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Members" }, "{told}");
    let error = db.total(Town::find().name("Oslo"), Town::TOURS).await.expect_err("it is not built");
    assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Tours" }, "{told}");
}
