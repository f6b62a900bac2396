//! Moving entities between partitions: whatever fails, stalls or races, an entity is in the end at its old key or at its
//! new one, never at both or at none, with exactly its rows.

mod crashes;
mod moves;
mod onward;
mod outlived;
mod races;
mod several;
mod steps;

use std::collections::BTreeSet;

use tablemodel::{Consistency, Properties, ValueRef, prelude::*, testing::TestDatabase};

use crate::tools::{Rows, rows_in};

/// With rows of every kind: of its own partition, unique in it, elsewhere, unique elsewhere, unique under a scope.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Member")]
#[table(partition = "{club}", row = "m_{id:04}")]
#[table(index(by_name, row = "n_{name}_{id:04}", keys_only))]
#[table(index(by_seat, row = "seat_{seat}", unique, keys_only))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{club}_{id:04}", keep(name)))]
#[table(index(by_email, table = "Emails", partition = "{email}", row = "email", unique, keep(name)))]
#[table(index(by_nick, table = "Nicks", partition = "{club}", row = "{nick}", unique, keys_only))]
pub(super) struct Member {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) seat: Option<u32>,
    pub(super) city: String,
    pub(super) email: Option<String>,
    pub(super) nick: Option<String>,
}

/// Without rows elsewhere, so that it leaves no tombstones.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Guest")]
#[table(partition = "{club}", row = "g_{id:04}")]
#[table(index(by_pass, row = "pass_{pass}", unique, keys_only))]
pub(super) struct Guest {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) pass: u32,
}

#[derive(TableModel)]
pub(super) enum Model {
    Member(Member),
    Guest(Guest),
}

pub(super) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];
const TABLES: [&str; 4] = ["Club", "Cities", "Emails", "Nicks"];
pub(super) const CLUBS: [&str; 3] = ["A", "B", "C"];

pub(super) fn member(club: &str, id: u32) -> Member {
    Member {
        club: club.into(),
        id,
        name: format!("name{id}"),
        seat: Some(id),
        city: "Rome".into(),
        email: Some(format!("e{id}@x")),
        nick: Some(format!("nick{id}")),
    }
}

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

pub(super) async fn find(db: &Database, club: &str, id: u32) -> Option<Stored<Member>> {
    Member::find().club(club).id(id).one(db).await.unwrap()
}

pub(super) async fn members(db: &Database) -> Vec<Member> {
    let mut members = Vec::new();
    for club in CLUBS {
        members.extend(Member::find().club(club).all(db).await.unwrap().into_iter().map(Stored::into_inner));
    }
    members
}

pub(super) async fn guests(db: &Database) -> Vec<Guest> {
    let mut guests = Vec::new();
    for club in CLUBS {
        guests.extend(Guest::find().club(club).all(db).await.unwrap().into_iter().map(Stored::into_inner));
    }
    guests
}

type Key = (String, String, String);

pub(super) async fn all_rows(db: &TestDatabase) -> Rows {
    let mut rows = Rows::new();
    for table in TABLES {
        rows.extend(rows_in(&*db.store(), table).await);
    }
    rows
}

/// The keys of what a reader may see: no tombstone, nothing pending, nothing of the framework's own.
async fn live_keys(db: &TestDatabase) -> BTreeSet<Key> {
    let is_live = |p: &Properties| {
        let says = |name: &str, text: &str| matches!(p.get(name), Some(ValueRef::String(said)) if said.contains(text));
        p.get("_dead").is_none() && !says("EntityType", ".~") && !says("_claim", "pending")
    };
    all_rows(db).await.into_iter().filter(|(_, properties)| is_live(properties)).map(|(key, _)| key).collect()
}

/// The keys that these entities want, by hand from what the structs say.
fn wanted_keys(members: &[Member], guests: &[Guest]) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    let mut key = |table: &str, partition: &str, row: String| {
        assert!(keys.insert((table.to_owned(), partition.to_owned(), row)), "two want one row: {members:?}");
    };
    for m in members {
        key("Club", &m.club, format!("m_{:04}", m.id));
        key("Club", &m.club, format!("n_{}_{:04}", m.name, m.id));
        key("Cities", &m.city, format!("{}_{:04}", m.club, m.id));
        m.seat.iter().for_each(|seat| key("Club", &m.club, format!("seat_{seat:010}")));
        m.email.iter().for_each(|email| key("Emails", email, "email".into()));
        m.nick.iter().for_each(|nick| key("Nicks", &m.club, nick.clone()));
    }
    for g in guests {
        key("Club", &g.club, format!("g_{:04}", g.id));
        key("Club", &g.club, format!("pass_{:010}", g.pass));
    }
    keys
}

/// That the live rows are exactly those of the entities, that claims name their keys, and that nothing is under way.
pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    let (members, guests) = (members(db).await, guests(db).await);
    assert_eq!(live_keys(db).await, wanted_keys(&members, &guests), "{told}");
    let rows = all_rows(db).await;
    for m in &members {
        let Some(email) = &m.email else { continue };
        let claim = &rows[&("Emails".into(), email.clone(), "email".into())];
        assert_eq!(claim.get("_pk"), Some(ValueRef::String(&m.club)), "{told}");
        assert_eq!(claim.get("Name"), Some(ValueRef::String(&m.name)), "{told}");
    }
    let moving: Vec<_> = rows.keys().filter(|(_, _, row)| row.starts_with("~~move")).collect();
    assert!(moving.is_empty(), "{told}: {moving:?}");
}

pub(super) async fn settle(db: &TestDatabase) {
    for _ in 0..20 {
        db.clock().advance(std::time::Duration::from_secs(61));
        if db.relay().run_once().await.expect("the relay runs").is_settled() {
            return;
        }
    }
    panic!("the relay does not settle: {:?}", db.relay().poisoned().await);
}
