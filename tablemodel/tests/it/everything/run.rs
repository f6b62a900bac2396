//! Sequences run against a database, with the model beside it: each answer is compared, and at the end every row.
//!
//! What the model says is `model`'s and `oracle`'s; nothing is decided here.

use std::{collections::BTreeSet, time::Duration};

use tablemodel::{ErrorKind, Result, prelude::*};

use super::{
    CLUBS, Doc, Entity, Key, Person, Stage,
    model::{Book, Change, Refusal},
    oracle::{self, Rule, unique},
    steps::{Edit, SLOTS, Step},
};

/// The path to the entity of a key.
macro_rules! at {
    (Person, $key:expr) => {{
        let (year, id) = $key.1[2..].split_once('_').expect("a key");
        let (year, id): (u16, u32) = (year.parse().expect("a year"), id.parse().expect("an id"));
        Person::find().club($key.0.as_str()).year(year).id(id)
    }};
    (Doc, $key:expr) => {
        Doc::find().club($key.0.as_str()).id($key.1[2..].parse::<u32>().expect("an id"))
    };
}

/// What was read, as the caller holds it.
#[derive(Debug, Clone)]
enum Handle {
    Person(Stored<Person>),
    Doc(Stored<Doc>),
}

#[derive(Debug, Clone)]
struct Slot {
    handle: Handle,
    key: Key,
    version: u64,
}

impl Slot {
    fn value(&self) -> Entity {
        match &self.handle {
            Handle::Person(stored) => Entity::Person((**stored).clone()),
            Handle::Doc(stored) => Entity::Doc((**stored).clone()),
        }
    }

    fn edit(&mut self, edit: &Edit, moves: bool) {
        match &mut self.handle {
            Handle::Person(stored) => {
                edit.person(stored);
                if moves {
                    let to = &edit.person;
                    (stored.club, stored.year, stored.id) = (to.club.clone(), to.year, to.id);
                }
            }
            Handle::Doc(stored) => {
                edit.doc(stored);
                if moves {
                    (stored.club, stored.id) = (edit.doc.club.clone(), edit.doc.id);
                }
            }
        }
    }
}

/// A change as the model knows it, and the slot that it goes through.
type Part<'s> = (&'s Step, Change, Option<(usize, Slot)>);

/// A database and the model beside it.
pub(super) struct Run<T> {
    pub(super) stage: Stage,
    pub(super) book: Book,
    slots: [Option<Slot>; SLOTS],
    pub(super) succeeded: usize,
    pub(super) refused: Vec<Refusal>,
    /// What has to live as long.
    _alive: T,
}

impl<T> Run<T> {
    pub(super) fn new((stage, alive): (Stage, T)) -> Self {
        let slots = [const { None }; SLOTS];
        Self { stage, book: Book::default(), slots, succeeded: 0, refused: Vec::new(), _alive: alive }
    }

    fn db(&self) -> &Database {
        &self.stage.db
    }

    /// One step, and the comparison of its answer.
    pub(super) async fn step(&mut self, step: &Step) {
        match step {
            Step::Tick(seconds) => self.stage.clock.advance(Duration::from_secs(*seconds)),
            Step::Relay => drop(self.db().relay().run_once().await.expect("the relay runs")),
            Step::Read(slot, key) => self.slots[*slot] = self.read(key).await,
            Step::Bulk(entities) => self.bulk(entities).await,
            Step::Batch(club, parts) => self.batch(club, parts).await,
            single => self.single(single).await,
        }
    }

    async fn read(&self, key: &Key) -> Option<Slot> {
        let handle = if key.1.starts_with("p_") {
            Handle::Person(at!(Person, key).one(self.db()).await.expect("readable")?)
        } else {
            Handle::Doc(at!(Doc, key).one(self.db()).await.expect("readable")?)
        };
        Some(Slot { handle, key: key.clone(), version: self.book.lives.get(key).expect("the model has it").version })
    }

    /// The model's change for a step; none where its slot is empty.
    fn change<'s>(&self, step: &'s Step) -> Option<Part<'s>> {
        let slotted = |slot: &usize, edit: Option<(&Edit, bool)>| {
            let mut copy = self.slots[*slot].clone()?;
            if let Some((edit, moves)) = edit {
                copy.edit(edit, moves);
            }
            Some((copy.key.clone(), copy.version, copy.value(), Some((*slot, copy))))
        };
        let there = |key: &Key| self.book.lives.get(key).map(|live| live.entity.clone());
        let (change, slot) = match step {
            Step::Insert(entity) => (Change::Insert(entity.clone()), None),
            Step::Upsert(entity) => (Change::Upsert(entity.clone()), None),
            Step::Save(slot, edit) => {
                let (key, version, value, slot) = slotted(slot, Some((edit, false)))?;
                (Change::Save(key, version, value), slot)
            }
            Step::Rekey(slot, edit) => {
                let (key, version, value, slot) = slotted(slot, Some((edit, true)))?;
                (Change::Rekey(key, version, value), slot)
            }
            Step::Delete(slot) => {
                let (key, version, _, slot) = slotted(slot, None)?;
                (Change::Delete(key, version), slot)
            }
            Step::Update(key, edit) => {
                let mut entity = there(key);
                entity.iter_mut().for_each(|entity| edit.entity(entity));
                (Change::Replace(key.clone(), entity), None)
            }
            Step::Patch(club, id, reads, likes) => {
                let key = doc_key(*club, *id);
                let mut entity = there(&key);
                if let Some(Entity::Doc(doc)) = &mut entity {
                    (doc.reads, doc.likes) = (*reads, *likes);
                }
                (Change::Replace(key, entity), None)
            }
            Step::Read(..) | Step::Batch(..) | Step::Bulk(_) | Step::Tick(_) | Step::Relay => {
                unreachable!("not a change")
            }
        };
        Some((step, change, slot))
    }

    async fn single(&mut self, step: &Step) {
        let Some((_, change, mut slot)) = self.change(step) else { return };
        let answer = run_single(self.db(), step, slot.as_mut().map(|(_, slot)| slot)).await;
        self.compare(vec![(step, change, slot)], answer, true);
    }

    /// Compares an answer with what the model says, and takes over what happened.
    fn compare(&mut self, parts: Vec<Part<'_>>, answer: Result<()>, exactly: bool) {
        let is_atomic = self.stage.is_atomic();
        let changes: Vec<_> = parts.iter().map(|(_, change, _)| change.clone()).collect();
        let verdict = self.book.judge(&changes, is_atomic);
        match &answer {
            Ok(()) => assert!(verdict.refusals.is_empty(), "{changes:#?} succeeded, not {:?}", verdict.refusals),
            Err(error) => {
                let told = |refusal: &&Refusal| is(error.kind(), **refusal);
                let as_told = verdict.refusals.iter().find(told).copied();
                let maybe = verdict.either && is(error.kind(), Refusal::Conflict);
                let any = !exactly && !verdict.refusals.is_empty();
                let refusals = &verdict.refusals;
                assert!(as_told.is_some() || maybe || any, "{changes:#?}: {error:?}, not {refusals:?}");
                self.refused.push(as_told.unwrap_or(Refusal::Conflict));
            }
        }
        self.book.settle(&changes, verdict, answer.is_ok(), is_atomic);
        if answer.is_err() {
            // What a refused write had claimed is free after a minute; before, others are told `Unavailable`.
            self.stage.clock.advance(Duration::from_secs(61));
            return;
        }
        self.succeeded += 1;
        for (step, _, slot) in parts {
            let Some((at, mut slot)) = slot.filter(|_| matches!(step, Step::Save(..) | Step::Rekey(..))) else {
                continue;
            };
            slot.key = slot.value().key();
            slot.version = self.book.lives[&slot.key].version;
            self.slots[at] = Some(slot);
        }
    }

    /// Entities that have neither key nor value in common, so that the order in which they go does not count.
    async fn bulk(&mut self, entities: &[Entity]) {
        let (mut keys, mut values) = (BTreeSet::new(), BTreeSet::new());
        let mut apart = entities.to_vec();
        apart.retain(|entity| {
            let of = unique(entity);
            let is_apart = !keys.contains(&entity.key()) && of.iter().all(|value| !values.contains(value));
            if is_apart {
                keys.insert(entity.key());
                values.extend(of);
            }
            is_apart
        });
        let (mut persons, mut docs, mut refused) = (Vec::new(), Vec::new(), 0);
        let is_atomic = self.stage.is_atomic();
        for entity in &apart {
            let change = [Change::Insert(entity.clone())];
            let verdict = self.book.judge(&change, is_atomic);
            let happens = verdict.refusals.is_empty();
            refused += usize::from(!happens);
            self.book.settle(&change, verdict, happens, is_atomic);
            match entity {
                Entity::Person(person) => persons.push(person.clone()),
                Entity::Doc(doc) => docs.push(doc.clone()),
            }
        }
        let first = self.db().bulk().insert_all(futures_util::stream::iter(persons)).await.expect("bulk runs");
        let second = self.db().bulk().insert_all(futures_util::stream::iter(docs)).await.expect("bulk runs");
        let failed: Vec<_> = first.failed.iter().chain(&second.failed).collect();
        assert_eq!(failed.len(), refused, "{apart:#?}: {failed:#?}");
        if refused > 0 {
            self.stage.clock.advance(Duration::from_secs(61));
        }
    }

    /// Changes of different entities of one partition.
    async fn batch(&mut self, club: &str, parts: &[Step]) {
        let mut keys = BTreeSet::new();
        let mut parts: Vec<_> = parts.iter().filter_map(|part| self.change(part)).collect();
        parts.retain(|(_, change, _)| change.key().0 == club && keys.insert(change.key()));
        if parts.is_empty() {
            return;
        }
        let answer = commit(self.db(), club, &mut parts).await;
        self.compare(parts, answer, false);
    }

    /// That, once all is settled, the tables hold exactly the model's rows, and `verify` agrees.
    pub(super) async fn check(&self) {
        self.stage.settle().await;
        let differences = self.differences(Rule::Right).await;
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        let verified = self.db().verify().await.expect("verify runs");
        assert!(verified.is_clean(), "{:#?}", verified.violations);
    }

    /// Where the tables and the model differ.
    pub(super) async fn differences(&self, rule: Rule) -> Vec<String> {
        let (physical, pending) = oracle::physical(self.stage.rows().await);
        let expected = oracle::rows(self.book.lives.values().map(|live| &live.entity), rule);
        let mut differences = oracle::differences(&physical, &expected);
        // A claim that a refused write left behind is nobody's, and in nobody's way.
        let strange = pending.iter().filter(|(value, owner)| !self.book.may_be_pending(value, owner));
        differences.extend(strange.map(|(value, owner)| format!("{value} is claimed for {owner:?}")));
        differences
    }
}

async fn run_single(db: &Database, step: &Step, slot: Option<&mut Slot>) -> Result<()> {
    match (step, slot) {
        (Step::Insert(Entity::Person(person)), _) => db.insert(person).await.map(drop),
        (Step::Insert(Entity::Doc(doc)), _) => db.insert(doc).await.map(drop),
        (Step::Upsert(Entity::Person(person)), _) => db.upsert(person).await.map(drop),
        (Step::Upsert(Entity::Doc(doc)), _) => db.upsert(doc).await.map(drop),
        (Step::Update(key, edit), _) if key.1.starts_with("p_") => {
            db.update(at!(Person, key), |person| Ok(edit.person(person))).await.map(drop)
        }
        (Step::Update(key, edit), _) => db.update(at!(Doc, key), |doc| Ok(edit.doc(doc))).await.map(drop),
        (Step::Patch(club, id, reads, likes), _) => {
            let key = doc_key(*club, *id);
            db.patch(at!(Doc, key), Doc::READS.set(*reads).and(Doc::LIKES.set(*likes))).await
        }
        (Step::Save(..), Some(slot)) => match &mut slot.handle {
            Handle::Person(stored) => db.save(stored).await,
            Handle::Doc(stored) => db.save(stored).await,
        },
        (Step::Rekey(..), Some(slot)) => match &mut slot.handle {
            Handle::Person(stored) => db.rekey(stored).await,
            Handle::Doc(stored) => db.rekey(stored).await,
        },
        (Step::Delete(_), Some(slot)) => match slot.handle.clone() {
            Handle::Person(stored) => db.delete(stored).await,
            Handle::Doc(stored) => db.delete(stored).await,
        },
        _ => unreachable!("not a change"),
    }
}

async fn commit(db: &Database, club: &str, parts: &mut [Part<'_>]) -> Result<()> {
    let mut batch = db.batch(Person::in_partition(club));
    for (step, change, slot) in parts {
        let handle = slot.as_mut().map(|(_, slot)| &mut slot.handle);
        match (step, handle) {
            (Step::Insert(Entity::Person(person)), _) => batch.insert(person),
            (Step::Insert(Entity::Doc(doc)), _) => batch.insert(doc),
            (Step::Upsert(Entity::Person(person)), _) => batch.upsert(person),
            (Step::Upsert(Entity::Doc(doc)), _) => batch.upsert(doc),
            (Step::Patch(_, _, reads, likes), _) => {
                let key = change.key();
                batch.patch(at!(Doc, key), Doc::READS.set(*reads).and(Doc::LIKES.set(*likes)))
            }
            (Step::Save(..), Some(Handle::Person(stored))) => batch.save(stored),
            (Step::Save(..), Some(Handle::Doc(stored))) => batch.save(stored),
            (Step::Delete(_), Some(Handle::Person(stored))) => batch.delete(stored.clone()),
            (Step::Delete(_), Some(Handle::Doc(stored))) => batch.delete(stored.clone()),
            _ => unreachable!("not a change of a batch"),
        };
    }
    batch.commit().await
}

fn doc_key(club: u8, id: u32) -> Key {
    (CLUBS[usize::from(club)].to_owned(), format!("d_{id:02}"))
}

fn is(kind: &ErrorKind, refusal: Refusal) -> bool {
    match refusal {
        Refusal::AlreadyExists => matches!(kind, ErrorKind::AlreadyExists),
        Refusal::NotFound => matches!(kind, ErrorKind::NotFound),
        Refusal::Conflict => matches!(kind, ErrorKind::Conflict { .. }),
        Refusal::Unique => matches!(kind, ErrorKind::UniqueViolation { .. }),
        Refusal::Unsupported => matches!(kind, ErrorKind::Unsupported),
    }
}
