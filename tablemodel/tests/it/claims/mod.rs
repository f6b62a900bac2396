//! Unique values over several partitions: whatever fails, stalls or races, a value is in one hand, and in the end the
//! claims are exactly those that the entities want.

mod busy;
mod crashes;
mod moved;
mod oracle;
mod protocol;
mod races;
mod refused;
mod values;

use std::collections::BTreeMap;

use tablemodel::{Consistency, Properties, Value, ValueRef, prelude::*, testing::TestDatabase};

pub(super) use crate::tools::Rows;
use crate::tools::rows_in;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Member")]
#[table(partition = "{club}", row = "m_{id:04}")]
#[table(index(by_email, table = "Emails", partition = "{email:lower}", row = "email", unique, keep(name)))]
#[table(index(by_badge, table = "Badges", partition = "{badge}", row = "badge", unique, keys_only, when = active))]
#[table(index(by_name, row = "n_{name}_{id:04}", keys_only))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{club}_{id:04}", keys_only))]
pub(super) struct Member {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) email: Option<String>,
    pub(super) badge: Option<u32>,
    pub(super) active: bool,
    pub(super) city: String,
}

#[derive(TableModel)]
pub(super) enum Model {
    Member(Member),
}

pub(super) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];
const TABLES: [&str; 4] = ["Club", "Emails", "Badges", "Cities"];

pub(super) fn member(club: &str, id: u32) -> Member {
    let email = Some(format!("{club}{id}@x"));
    let badge = Some(100 + id + if club == "A" { 0 } else { 50 });
    Member { club: club.into(), id, name: format!("name{id}"), email, badge, active: true, city: "Rome".into() }
}

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

pub(super) async fn find(db: &Database, club: &str, id: u32) -> Option<Stored<Member>> {
    Member::find().club(club).id(id).one(db).await.unwrap()
}

/// Every member that is there.
pub(super) async fn members(db: &Database) -> Vec<Member> {
    let mut members = Vec::new();
    for club in ["A", "B"] {
        let found = Member::find().club(club).all(db).await.expect("read");
        members.extend(found.into_iter().map(Stored::into_inner));
    }
    members
}

pub(super) async fn all_rows(db: &TestDatabase) -> Rows {
    let mut rows = Rows::new();
    for table in TABLES {
        rows.extend(rows_in(&*db.store(), table).await);
    }
    rows
}

fn text(properties: &Properties, name: &str) -> Option<String> {
    match properties.get(name) {
        Some(ValueRef::String(text)) => Some(text.to_owned()),
        _ => None,
    }
}

/// The claims by value: whose, and whether confirmed.
pub(super) async fn claims(db: &TestDatabase) -> BTreeMap<String, (String, String, bool)> {
    let rows = all_rows(db).await.into_iter().filter(|((table, ..), _)| table == "Emails" || table == "Badges");
    let claim = |((_, partition, _), p): ((String, String, String), Properties)| {
        let stage = text(&p, "_claim").expect("every claim says how far it is");
        (partition, (text(&p, "_pk").unwrap(), text(&p, "_rk").unwrap(), stage == "confirmed"))
    };
    rows.map(claim).collect()
}

/// The claims that these members want, by hand from what the struct says.
pub(super) fn wanted(members: &[Member], told: &str) -> BTreeMap<String, (String, String, bool)> {
    let mut claims = BTreeMap::new();
    for m in members {
        let owner = (m.club.clone(), format!("m_{:04}", m.id), true);
        if let Some(email) = &m.email {
            let email = if email.is_empty() { "$".to_owned() } else { email.to_lowercase() };
            assert!(claims.insert(email.clone(), owner.clone()).is_none(), "{email} is in two hands: {told}");
        }
        if let (true, Some(badge)) = (m.active, m.badge) {
            assert!(claims.insert(format!("{badge:010}"), owner).is_none(), "{badge} is in two hands: {told}");
        }
    }
    claims
}

/// That the confirmed claims are exactly those of the members, and every row beside them is too.
pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    let members = members(db).await;
    let mut claims = claims(db).await;
    claims.retain(|_, (_, _, confirmed)| *confirmed);
    assert_eq!(claims, wanted(&members, told), "{told}");
    let rows = all_rows(db).await;
    let live = |table: &str, prefix: &str| {
        let is_live =
            |p: &Properties| p.get("_dead").is_none() && !text(p, "EntityType").is_some_and(|kind| kind.contains(".~"));
        rows.iter().filter(|((t, _, r), p)| t == table && r.starts_with(prefix) && is_live(p)).count()
    };
    assert_eq!(live("Club", "n_"), members.len(), "{told}: names");
    assert_eq!(live("Cities", ""), members.len(), "{told}: cities");
    for m in members.iter().filter(|m| m.email.is_some()) {
        let email = Some(m.email.clone().unwrap().to_lowercase()).filter(|e| !e.is_empty()).unwrap_or("$".into());
        let row = &rows[&("Emails".into(), email, "email".into())];
        assert_eq!(row.get("Name").map(|v| v.to_value()), Some(Value::String(m.name.clone())), "{told}: what is kept");
        assert!(row.get("_expires").is_none(), "{told}");
    }
}

/// Past the time that relays leave to writers, and past every pause after a failure.
pub(super) async fn settle(db: &TestDatabase) {
    for _ in 0..20 {
        db.clock().advance(std::time::Duration::from_secs(61));
        if db.relay().run_once().await.expect("the relay runs").is_settled() {
            return;
        }
    }
    panic!("the relay does not settle");
}
