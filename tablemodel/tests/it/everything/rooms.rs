//! A fault at every store call of operations of every room, in both modes: after a restart and a relay, the entities are as
//! before or as after, and the tables hold exactly their rows.
//!
//! The list of rooms is checked against the folder of the rooms, so that none can be added without its operations.

use std::collections::BTreeSet;

use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    testing::{Script, TestDatabase},
};

use super::{
    Doc, Entity, Fan, Model, Person, Sponsor, Stage, Team,
    oracle::{self, Found, Rule},
    steps::CONTENTS,
};
use crate::{
    crashes::{assert_met, faults, met},
    tools::{Outcomes, objects_of},
};

/// Calls with a fault that are tried of each operation in a usual run: more where what they leave is mostly the same.
const fn at_most(mode: Consistency) -> usize {
    match mode {
        Consistency::Azure => 16,
        Consistency::Atomic => 32,
    }
}

/// A room by the name of its file, and what of it is run here.
const ROOMS: &[(&str, Proof)] = &[
    ("aggregate", Proof::Both(&[Op::Insert, Op::Again, Op::Less, Op::Move, Op::Dissolve], crate::aggregate::enumerate)),
    ("blob", Proof::Elsewhere(crate::blob::enumerate)),
    ("chunked", Proof::Here(&[Op::Grow, Op::Shrink])),
    ("compound_key", Proof::Here(&[Op::Insert, Op::Again])),
    ("copy", Proof::Both(&[Op::Join, Op::Retitle, Op::Rename, Op::Withdraw, Op::Transfer], crate::copy::enumerate)),
    ("elsewhere", Proof::Here(&[Op::Insert, Op::Again, Op::Save, Op::Less, Op::Update, Op::Delete, Op::Batch])),
    ("index", Proof::Here(&[Op::Insert, Op::Save, Op::Less, Op::Upsert, Op::Delete])),
    ("list", Proof::Here(&[Op::Insert, Op::Save, Op::Less, Op::Update, Op::Delete, Op::Batch, Op::Move])),
    ("model", Proof::Here(&[Op::Batch])),
    ("outbox", Proof::Here(&[Op::Save, Op::Delete, Op::Batch])),
    ("projection", Proof::WritesNothing),
    ("rekey", Proof::Here(&[Op::Move, Op::MoveDoc])),
    ("scan", Proof::WritesNothing),
    ("sparse", Proof::Here(&[Op::Less, Op::Save])),
    ("unique", Proof::Here(&[Op::Insert, Op::Save, Op::Upsert, Op::Delete])),
    ("wide", Proof::Here(&[Op::Grow, Op::Patch, Op::Remove])),
];

/// How it is shown that a room's writes survive every fault.
#[derive(Debug)]
enum Proof {
    Here(&'static [Op]),
    /// Here, and in more ways by a test of its own.
    Both(&'static [Op], #[expect(dead_code, reason = "that it compiles says that the test is there")] fn()),
    /// By a test of its own: its objects are in no table.
    #[expect(dead_code, reason = "that it compiles says that the test is there")]
    Elsewhere(fn()),
    WritesNothing,
}

/// One operation; each is written for what it does to the rows of its rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    Insert,
    /// Over a tombstone, where there is one.
    Again,
    Save,
    /// What is no longer wanted goes.
    Less,
    Upsert,
    Update,
    Delete,
    /// Both types in one batch.
    Batch,
    Move,
    /// Over the borders of chunks.
    Grow,
    Shrink,
    /// With what it needs parts for, to another partition.
    MoveDoc,
    Patch,
    Remove,
    /// A fan comes, and copies.
    Join,
    /// What is copied of a team changes, beside its fans.
    Retitle,
    /// What is copied of a sponsor changes, in other partitions.
    Rename,
    /// The sponsor goes.
    Withdraw,
    /// The team goes: what it counted, and who copied it, stays.
    Dissolve,
    /// A fan moves to another club.
    Transfer,
}

impl Op {
    /// How many of the faults it meets: all, or those after which nobody is there to clean up, where a test of the room's
    /// own goes through the others.
    fn faults(self) -> usize {
        match self {
            Self::Join | Self::Retitle | Self::Rename | Self::Withdraw | Self::Dissolve | Self::Transfer => 3,
            _ => usize::MAX,
        }
    }
}

/// Entities that between them want a row of every kind, and lack one of every kind.
pub(super) fn one_of_each() -> Vec<Entity> {
    let without = Person { zip: None, ..person("A", 4) };
    let elsewhere = Person { seat: None, email: None, ..person("B", 5) };
    let persons = [person("A", 1), person("A", 2), person("A", 3), without, elsewhere].map(Entity::Person);
    let others =
        [Entity::Doc(doc(1, 33_000)), Entity::Team(team("A")), Entity::Fan(fan(1)), Entity::Sponsor(sponsor())];
    persons.into_iter().chain(others).collect()
}

fn person(club: &str, id: u32) -> Person {
    Person {
        club: club.into(),
        year: 2014,
        id,
        name: "Jones".into(),
        zip: Some(7),
        active: id != 1,
        seat: Some(id),
        city: "Oslo".into(),
        skills: vec!["rust".into(), "sql".into()],
        email: Some(format!("P{id}@x")),
        points: 3,
        rate: (id != 2).then_some(-2.25),
    }
}

fn fan(id: u32) -> Fan {
    let (club, nick, card) = ("A".into(), "Ace".into(), Some(id));
    Fan { club, id, nick, card, team: None, backer: Some(1), backing: None }
}

fn team(club: &str) -> Team {
    let (members, points, rates) = (7, 7, 7.0);
    Team { club: club.into(), title: "Reds".into(), sponsor_id: Some(1), sponsor: None, members, points, rates }
}

fn sponsor() -> Sponsor {
    Sponsor { id: 1, name: "Acme".into(), tier: None, note: 1 }
}

pub(super) fn doc(id: u32, body: usize) -> Doc {
    let body = "abcdefgh".chars().cycle().take(body).collect();
    let topic = Some("law".into());
    let (title, isbn, likes, scan) = (format!("t{id}"), Some(id), Some(id.into()), Some(CONTENTS[3].as_bytes().into()));
    Doc { club: "A".into(), id, title, topic, isbn, body, reads: 1, likes, scan }
}

pub(super) async fn empty(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

pub(super) async fn prepared(mode: Consistency) -> TestDatabase {
    let db = empty(mode).await;
    db.insert(&sponsor()).await.unwrap();
    db.insert(&team("A")).await.unwrap();
    db.insert(&fan(1)).await.unwrap();
    db.insert(&person("A", 1)).await.unwrap();
    db.insert(&person("A", 2)).await.unwrap();
    db.insert(&doc(1, 33_000)).await.unwrap();
    let dead = db.insert(&person("A", 3)).await.unwrap();
    db.delete(dead).await.unwrap();
    db
}

fn changed(p: &mut Person) {
    (p.name, p.zip, p.seat, p.city) = ("Ann".into(), Some(8), Some(9), "Rome".into());
    (p.skills, p.email) = (vec!["sql".into(), "tea".into()], Some("changed@x".into()));
    (p.active, p.rate, p.points) = (!p.active, Some(0.5), 5);
}

pub(super) async fn run(db: &Database, op: Op) -> Result<()> {
    match op {
        Op::Insert => db.insert(&person("B", 9)).await.map(drop),
        Op::Again => db.insert(&person("A", 3)).await.map(drop),
        Op::Upsert => db.upsert(&Person { email: Some("up@x".into()), zip: None, ..person("A", 2) }).await.map(drop),
        Op::Update => db.update(Person::find().club("A").year(2014).id(2), |p| Ok(changed(p))).await.map(drop),
        Op::Save | Op::Less | Op::Move | Op::Delete | Op::Batch => run_person(db, op).await,
        Op::Grow | Op::Shrink | Op::MoveDoc | Op::Remove => run_doc(db, op).await,
        Op::Join => db.insert(&fan(2)).await.map(drop),
        Op::Rename => db.patch(Sponsor::find().id(1_u8), Sponsor::NAME.set("Bell")).await,
        Op::Retitle | Op::Withdraw | Op::Dissolve | Op::Transfer => run_copies(db, op).await,
        Op::Patch => db.patch(Doc::find().club("A").id(1), Doc::READS.set(8).and(Doc::LIKES.set(None))).await,
    }
}

async fn run_person(db: &Database, op: Op) -> Result<()> {
    let find = |id| Person::find().club("A").year(2014).id(id);
    let Some(mut p) = find(2).one(db).await? else { return Ok(()) };
    match op {
        Op::Save => changed(&mut p),
        Op::Less => (p.zip, p.active, p.seat, p.skills, p.email) = (None, false, None, vec![], None),
        Op::Move => {
            (p.club, p.name, p.email) = ("B".into(), "Ann".into(), Some("moved@x".into()));
            return db.rekey(&mut p).await;
        }
        Op::Delete => return db.delete(p).await,
        _ => {
            let Some(first) = find(1).one(db).await? else { return Ok(()) };
            changed(&mut p);
            let mut batch = db.batch(Person::in_partition("A"));
            batch.save(&mut p).delete(first).insert(&person("A", 5)).insert(&doc(2, 10));
            return batch.commit().await;
        }
    }
    db.save(&mut p).await
}

async fn run_doc(db: &Database, op: Op) -> Result<()> {
    let Some(mut d) = Doc::find().club("A").id(1).one(db).await? else { return Ok(()) };
    match op {
        Op::Grow => (d.body, d.topic, d.isbn) = (doc(1, 70_000).body, Some("art".into()), Some(5)),
        Op::Shrink => (d.body, d.topic, d.isbn, d.likes) = (String::new(), None, None, None),
        Op::MoveDoc => {
            (d.club, d.body, d.isbn) = ("B".into(), doc(1, 70_000).body, Some(5));
            return db.rekey(&mut d).await;
        }
        _ => return db.delete(d).await,
    }
    db.save(&mut d).await
}

async fn run_copies(db: &Database, op: Op) -> Result<()> {
    match op {
        Op::Retitle => db.update(Team::find().club("A"), |team| Ok(team.title = "Blues".into())).await.map(drop),
        Op::Withdraw => match Sponsor::find().id(1_u8).one(db).await? {
            Some(sponsor) => db.delete(sponsor).await,
            None => Ok(()),
        },
        Op::Dissolve => match Team::find().club("A").one(db).await? {
            Some(team) => db.delete(team).await,
            None => Ok(()),
        },
        _ => {
            let Some(mut fan) = Fan::find().club("A").id(1).one(db).await? else { return Ok(()) };
            (fan.club, fan.nick, fan.card) = ("B".into(), "Bee".into(), Some(8));
            db.rekey(&mut fan).await
        }
    }
}

pub(super) fn stage(db: &TestDatabase) -> Stage {
    Stage { db: db.database().clone(), blobs: db.blob_store(), clock: db.clock().clone() }
}

/// That the tables hold exactly the rows of the entities.
pub(super) async fn assert_exact(stage: &Stage, told: &str) {
    let entities = stage.entities().await;
    let Found { rows: mut physical, pending, objects } = oracle::physical(stage.rows().await, stage.objects().await);
    assert_eq!(objects, Vec::<String>::new(), "{told}");
    // A key that a program died over stays reserved until somebody wants it, and what is held with it.
    let kind = |fields: &std::collections::BTreeMap<String, tablemodel::Value>| fields.get("EntityType").cloned();
    let is_reserved = physical.values().any(|fields| fields.contains_key("_move") && fields.contains_key("_held"));
    physical.retain(|_, fields| !(fields.contains_key("_move") && fields.contains_key("_held")));
    physical.retain(|_, fields| !(is_reserved && kind(fields) == Some("Person.~held@2".into())));
    let differences = oracle::differences(&physical, &oracle::rows(entities.values(), Rule::Right), stage.is_atomic());
    assert!(differences.is_empty(), "{told}:\n{}", differences.join("\n"));
    let wanted: BTreeSet<_> =
        physical.keys().filter(|(table, ..)| table == "Emails").map(|(_, value, _)| value).collect();
    assert!(pending.keys().all(|value| !wanted.contains(value)), "{told}: {pending:?}");
    let verified = stage.db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{told}: {:#?}", verified.violations);
}

/// Store calls of the operation with faults, as many as are tried; how many such points there are.
async fn enumerate(prepared: &TestDatabase, op: Op) -> usize {
    let told = format!("{:?} {op:?}", prepared.consistency());
    let db = prepared.fork().unwrap();
    let (before, objects) = (stage(&db).entities().await, objects_of(&db).await);
    db.forget_calls();
    run(&db, op).await.unwrap();
    let (calls, objects) = (db.calls(), objects_of(&db).await != objects);
    let after = stage(&db).entities().await;
    assert_ne!(before, after, "{op:?} does nothing");
    let faults: Vec<_> = faults().into_iter().take(op.faults()).collect();
    let (mut outcomes, mut tried, at_most) = (Outcomes::new(), 0, at_most(prepared.consistency()));
    for (call, fault) in met(&calls, objects, &faults, at_most, &told) {
        let told = format!("{told}, {fault:?} at call {call} of {}", calls.len());
        let db = prepared.fork().unwrap();
        db.fail(Script::new().at(call, fault));
        let result = run(&db, op).await;
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        let found = async {
            let stage = stage(&db);
            stage.settle().await;
            let now = stage.entities().await;
            assert!(now == before || now == after, "{told}: {now:#?}");
            assert_exact(&stage, &told).await;
            now
        };
        let now = outcomes.of(&db, Box::pin(found)).await;
        match result {
            Ok(()) => assert_eq!(*now, after, "{told}: acknowledged"),
            Err(error) => assert!(is_of_the_store(error.kind()), "{told}: {error:?}"),
        }
        tried += 1;
    }
    assert_met(tried, &calls, &faults, at_most, &told);
    calls.len() * faults.len()
}

/// No refusal: what failed was the store.
fn is_of_the_store(kind: &ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::AlreadyExists
            | ErrorKind::NotFound
            | ErrorKind::Conflict { .. }
            | ErrorKind::UniqueViolation { .. }
            | ErrorKind::KeyChanged
    )
}

/// Every operation of a room.
pub(super) fn ops() -> BTreeSet<Op> {
    ROOMS.iter().flat_map(|(_, proof)| proof.ops()).copied().collect()
}

async fn enumerate_all(mode: Consistency) -> usize {
    let prepared = prepared(mode).await;
    let mut points = 0;
    for op in ops() {
        points += Box::pin(enumerate(&prepared, op)).await;
    }
    points
}

impl Proof {
    fn ops(&self) -> &'static [Op] {
        match self {
            Self::Here(ops) | Self::Both(ops, _) => ops,
            Self::Elsewhere(_) | Self::WritesNothing => &[],
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_call_leaves_old_or_new_where_partitions_are_written_one_by_one() {
    let points = enumerate_all(Consistency::Azure).await;
    assert!(points > 1_000, "{points} points");
}

#[tokio::test]
async fn a_fault_at_any_call_leaves_old_or_new_where_partitions_are_written_at_once() {
    let points = enumerate_all(Consistency::Atomic).await;
    assert!(points > 150, "{points} points");
}

#[test]
fn every_room_has_operations_here_a_test_of_its_own_or_writes_nothing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rooms");
    let names = std::fs::read_dir(folder).expect("the rooms").map(|entry| entry.expect("a file").file_name());
    let names: BTreeSet<String> = names
        .map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned())
        .filter(|name| name != "mod")
        .collect();
    let listed: BTreeSet<String> = ROOMS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed.len(), ROOMS.len(), "a room is listed twice");
    assert_eq!(listed, names, "list each room with its operations");
    for (name, proof) in ROOMS {
        match proof {
            Proof::Here(ops) | Proof::Both(ops, _) => assert!(!ops.is_empty(), "{name} has no operations"),
            Proof::Elsewhere(_) | Proof::WritesNothing => {}
        }
    }
}
