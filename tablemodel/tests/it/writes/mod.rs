//! The write side: entities that use every room of this release, and what is shared by the tests of writes.
//!
//! No test stands here.

use std::collections::BTreeMap;

use tablemodel::{
    ETag, Properties, Row, RowKey, Value,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use crate::tools::rows_of;

mod adopted;
mod adopted_keys;
mod batches;
mod company;
mod concurrency;
mod costs;
mod defaulted;
mod drift;
mod faults;
mod foreign;
mod foreign_kinds;
mod kept;
mod late;
mod named;
mod operations;
mod oracle;
mod script;
mod sequence_numbers;
mod sequences;
mod states;
mod steps;
mod tombstones;
mod turns;
mod txn;
mod unknown;
mod update_or_insert;
mod verify;

/// Where a member lives: properties of the member's own row.
#[derive(Debug, Clone, PartialEq, Property)]
pub(crate) struct Address {
    pub(crate) street: String,
    pub(crate) zip: Option<String>,
}

/// An entity with every kind of index.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Member", version = 3)]
#[table(partition = "{club}", row = "m_{id:04}")]
#[table(index(by_name, row = "name_{last_name}_{id:04}"))]
#[table(index(by_email, row = "email_{email:lower}", unique, keep(first_name, age)))]
#[table(index(by_city, row = "city_{city}_{id:04}", keys_only))]
#[table(index(active, row = "active_{id:04}", when = is_active, keep(points)))]
#[table(index(lapsed, row = "lapsed_{id:04}", when = !is_active, keys_only))]
#[table(index(noted, row = "noted_{id:04}", when = note, keys_only))]
pub(crate) struct Member {
    pub(crate) club: String,
    pub(crate) id: u32,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: Option<String>,
    pub(crate) city: String,
    pub(crate) is_active: bool,
    pub(crate) note: Option<String>,
    #[table(default)]
    pub(crate) age: u8,
    #[table(rename = "Score")]
    pub(crate) points: i64,
    #[table(json)]
    pub(crate) skills: Vec<String>,
    #[table(flatten)]
    pub(crate) address: Address,
}

/// An entity without a whole copy, so that it can be patched; in the members' table and partitions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Account")]
#[table(partition = "{club}", row = "a_{id:04}")]
#[table(index(by_badge, row = "badge_{badge:06}", unique, keys_only))]
pub(crate) struct Account {
    pub(crate) club: String,
    pub(crate) id: u32,
    pub(crate) badge: Option<u32>,
    pub(crate) balance: i64,
    pub(crate) memo: Option<String>,
}

/// The model of the tests.
#[derive(Debug, Clone, PartialEq, TableModel)]
pub(crate) enum Club {
    Member(Member),
    Account(Account),
    #[table(other)]
    Other(Row),
}

pub(crate) const TABLE: &str = "Club";

pub(crate) fn member(club: &str, id: u32) -> Member {
    Member {
        club: club.into(),
        id,
        first_name: "Jun".into(),
        last_name: "Jones".into(),
        email: Some(format!("M{id}@x")),
        city: "Oslo".into(),
        is_active: true,
        note: None,
        age: 34,
        points: 7,
        skills: vec!["chess".into()],
        address: Address { street: "High".into(), zip: None },
    }
}

pub(crate) fn account(club: &str, id: u32) -> Account {
    Account { club: club.into(), id, badge: Some(id), balance: 100, memo: None }
}

pub(crate) async fn database() -> TestDatabase {
    TestDatabase::new::<Club>().await.expect("a database in memory")
}

pub(crate) async fn stored_member(db: &Database, club: &str, id: u32) -> Stored<Member> {
    Member::find().club(club).id(id).one(db).await.expect("readable").expect("there")
}

pub(crate) async fn stored_account(db: &Database, club: &str, id: u32) -> Stored<Account> {
    Account::find().club(club).id(id).one(db).await.expect("readable").expect("there")
}

pub(crate) async fn row(db: &TestDatabase, partition: &str, row: &str) -> Option<Row> {
    db.store().get(TABLE, &RowKey::new(partition, row)).await.expect("a read")
}

/// A write through the port, as another program does it.
pub(crate) async fn plant(db: &TestDatabase, table: &str, partition: &str, row: &str, action: Action) {
    db.store().commit(&[Batch::new(table, partition).with(row, action)]).await.expect("planted");
}

pub(crate) async fn plant_row(db: &TestDatabase, partition: &str, row: &str, properties: Properties) {
    plant(db, TABLE, partition, row, Action::InsertOrReplace(properties)).await;
}

pub(crate) async fn remove_row(db: &TestDatabase, partition: &str, row: &str) {
    plant(db, TABLE, partition, row, Action::Delete(Condition::Exists)).await;
}

/// Properties from pairs.
pub(crate) fn properties<const N: usize>(pairs: [(&'static str, Value); N]) -> Properties {
    pairs.into_iter().collect()
}

/// A tombstone, as FORMAT.md draws it.
pub(crate) fn tombstone(entity: &str, version: u32, sequence: i64) -> Properties {
    properties([("EntityType", format!("{entity}.~dead@{version}").into()), ("_seq", sequence.into())])
}

pub(crate) fn ticks(db: &TestDatabase) -> i64 {
    tablemodel::store::clock::Clock::now(db.clock()).ticks()
}

pub(crate) async fn assert_clean(db: &Database) {
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{:#?}", verified.violations);
}

/// Keys and properties alone: what a refused write must leave as it was.
pub(crate) async fn image(db: &TestDatabase) -> BTreeMap<(String, String), (ETag, Properties)> {
    let rows = rows_of(&*db.store(), TABLE).await;
    rows.into_iter().map(|(key, row)| (key, (row.etag, row.properties))).collect()
}
