//! Sequences run against a database, with the model beside it: each answer is compared, and at the end every row.
//!
//! What the model says is `model`'s and `oracle`'s; nothing is decided here.

use std::{collections::BTreeSet, time::Duration};

use tablemodel::{ErrorKind, Result, prelude::*};

use super::{
    Entity, Key, Stage,
    calls::{self, Handle, boxed, doc_key},
    model::{Book, Change, Refusal},
    oracle::{self, Rule, unique},
    sponsor_key,
    steps::{Edit, Editable, SLOTS, Step},
};

/// An entity that was read, with the changes since, and when.
#[derive(Debug, Clone)]
struct Slot {
    handle: Handle,
    key: Key,
    entity: Entity,
    read: u64,
}

impl Slot {
    fn edit(&mut self, edit: &Edit, moves: bool) {
        self.entity.edit(edit, moves);
        self.handle.edit(edit, moves);
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
            Step::Bulk(entities) => boxed(|| self.bulk(entities)).await,
            Step::Batch(club, parts) => boxed(|| self.batch(club, parts)).await,
            single => boxed(|| self.single(single)).await,
        }
    }

    async fn read(&self, key: &Key) -> Option<Slot> {
        let handle = Handle::read(self.db(), key).await.expect("readable")?;
        let entity = self.book.lives.get(key).expect("the model has it").entity.clone();
        Some(Slot { handle, key: key.clone(), entity, read: self.book.now() })
    }

    /// The model's change for a step; none where its slot is empty.
    fn change<'s>(&self, step: &'s Step) -> Option<Part<'s>> {
        let slotted = |slot: &usize, edit: Option<(&Edit, bool)>| {
            let mut copy = self.slots[*slot].clone()?;
            if let Some((edit, moves)) = edit {
                copy.edit(edit, moves);
            }
            Some((copy.key.clone(), copy.read, copy.entity.clone(), Some((*slot, copy))))
        };
        let there = |key: &Key| self.book.lives.get(key).map(|live| live.entity.clone());
        let (change, slot) = match step {
            Step::Insert(entity) => (Change::Insert(entity.clone()), None),
            Step::Upsert(entity) => (Change::Upsert(entity.clone()), None),
            Step::Save(slot, edit) => {
                let (key, read, entity, slot) = slotted(slot, Some((edit, false)))?;
                (Change::Save(key, read, entity), slot)
            }
            Step::Rekey(slot, edit) => {
                let (key, read, entity, slot) = slotted(slot, Some((edit, true)))?;
                (Change::Rekey(key, read, entity), slot)
            }
            Step::Delete(slot) => {
                let (key, read, _, slot) = slotted(slot, None)?;
                (Change::Delete(key, read), slot)
            }
            Step::Update(key, edit) => {
                let mut entity = there(key);
                entity.iter_mut().for_each(|entity| entity.edit(edit, false));
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
            Step::Rename(id, name) => {
                let key = sponsor_key(*id);
                let mut entity = there(&key);
                if let Some(Entity::Sponsor(sponsor)) = &mut entity {
                    sponsor.name = name.clone();
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
        let answer = calls::single(self.db(), step, slot.as_mut().map(|(_, slot)| &mut slot.handle)).await;
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
            slot.key = slot.entity.key();
            slot.read = self.book.now();
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
        let (mut refused, is_atomic) = (0, self.stage.is_atomic());
        for entity in &apart {
            let change = [Change::Insert(entity.clone())];
            let verdict = self.book.judge(&change, is_atomic);
            let happens = verdict.refusals.is_empty();
            refused += usize::from(!happens);
            self.book.settle(&change, verdict, happens, is_atomic);
        }
        let failed = calls::bulk::<super::release::Newest>(self.db(), &apart).await;
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
        let calls = parts.iter_mut().map(|(step, _, slot)| (*step, slot.as_mut().map(|(_, slot)| &mut slot.handle)));
        let answer = calls::batch(self.db(), club, calls).await;
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
        let found = oracle::physical(self.stage.rows().await, self.stage.objects().await);
        let expected = oracle::rows(self.book.lives.values().map(|live| &live.entity), rule);
        let mut differences = oracle::differences(&found.rows, &expected, self.stage.is_atomic());
        // A claim that a refused write left behind is nobody's, and in nobody's way.
        let strange = found.pending.iter().filter(|(value, owner)| !self.book.may_be_pending(value, owner));
        differences.extend(strange.map(|(value, owner)| format!("{value} is claimed for {owner:?}")));
        differences.extend(found.objects.iter().map(|name| format!("{name} is nobody's")));
        differences
    }
}

fn is(kind: &ErrorKind, refusal: Refusal) -> bool {
    match refusal {
        Refusal::AlreadyExists => matches!(kind, ErrorKind::AlreadyExists),
        Refusal::NotFound => matches!(kind, ErrorKind::NotFound),
        Refusal::Conflict => matches!(kind, ErrorKind::Conflict { .. }),
        Refusal::Unique => matches!(kind, ErrorKind::UniqueViolation { .. }),
    }
}
