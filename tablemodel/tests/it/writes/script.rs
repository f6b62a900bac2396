//! Sequences run against a database, with the model beside it: each answer is compared, and at the end every row.
//!
//! What the model says is `txn`'s and `oracle`'s; nothing is decided here.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*, testing::TestDatabase};

use super::{
    Account, Member,
    oracle::{self, Entity, Live, Rule},
    rows_of,
    steps::{Edit, SLOTS, Step},
    txn::{Change, Key, Lives, Refusal, Txn},
};

/// What was read, as the caller holds it.
#[derive(Debug, Clone)]
enum Handle {
    Member(Stored<Member>),
    Account(Stored<Account>),
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
            Handle::Member(stored) => Entity::Member((**stored).clone()),
            Handle::Account(stored) => Entity::Account((**stored).clone()),
        }
    }

    fn edit(&mut self, edit: &Edit) {
        match &mut self.handle {
            Handle::Member(stored) => edit.member(stored),
            Handle::Account(stored) => edit.account(stored),
        }
    }
}

/// A database and the model beside it.
pub(crate) struct Run {
    pub(crate) db: TestDatabase,
    pub(crate) lives: Lives,
    slots: [Option<Slot>; SLOTS],
    next_version: u64,
    pub(crate) succeeded: usize,
    pub(crate) refused: usize,
}

impl Run {
    pub(crate) fn new(db: TestDatabase) -> Self {
        Self { db, lives: Lives::new(), slots: [const { None }; SLOTS], next_version: 0, succeeded: 0, refused: 0 }
    }

    /// One step, and the comparison of its answer.
    pub(crate) async fn step(&mut self, step: &Step) {
        match step {
            Step::Tick(by) => self.db.clock().advance(Duration::from_nanos(by * 100)),
            Step::Read { slot, key } => self.slots[*slot] = self.read(key).await,
            Step::Update { key, edit } => self.update(key, edit).await,
            Step::Bulk(entities) => self.bulk(entities).await,
            Step::Batch { club, parts } => self.batch(club, parts).await,
            single => self.single(single).await,
        }
    }

    async fn read(&self, key: &Key) -> Option<Slot> {
        let (club, id) = (key.0.as_str(), key.1[2..].parse::<u32>().expect("an id"));
        let handle = if key.1.starts_with("m_") {
            Handle::Member(Member::find().club(club).id(id).one(&self.db).await.expect("readable")?)
        } else {
            Handle::Account(Account::find().club(club).id(id).one(&self.db).await.expect("readable")?)
        };
        Some(Slot { handle, key: key.clone(), version: self.lives.get(key).expect("the model has it").version })
    }

    /// The model's change for a step, with the slot as the caller edited it; none where the slot is empty.
    fn change(&self, step: &Step) -> Option<(Change, Option<(usize, Slot)>)> {
        Some(match step {
            Step::Insert(entity) => (Change::Insert(entity.clone()), None),
            Step::Upsert(entity) => (Change::Upsert(entity.clone()), None),
            Step::Patch { key, balance, memo } => {
                (Change::Patch { key: key.clone(), balance: *balance, memo: memo.clone() }, None)
            }
            Step::Save { slot, edit } => {
                let mut copy = self.slots[*slot].clone()?;
                copy.edit(edit);
                let change = Change::Save { key: copy.key.clone(), version: copy.version, entity: copy.value() };
                (change, Some((*slot, copy)))
            }
            Step::Delete { slot } => {
                let copy = self.slots[*slot].clone()?;
                (Change::Delete { key: copy.key.clone(), version: copy.version }, Some((*slot, copy)))
            }
            _ => unreachable!("not a change"),
        })
    }

    fn model(&mut self, changes: &[Change]) -> Result<(Lives, bool), Refusal> {
        let now = super::ticks(&self.db);
        let mut txn = Txn::new(&self.lives, now, &mut self.next_version);
        for change in changes {
            txn.apply(change)?;
        }
        txn.finish()
    }

    async fn single(&mut self, step: &Step) {
        let Some((change, slot)) = self.change(step) else { return };
        let (answer, slot) = self.run_single(&change, slot).await;
        let expected = self.model(std::slice::from_ref(&change));
        match (&answer, &expected) {
            (Err(error), Err(refusal)) => assert!(is(error.kind(), *refusal), "{change:?}: {error:?}, not {refusal:?}"),
            _ => assert_eq!(answer.is_ok(), expected.is_ok(), "{change:?}: {answer:?}, {expected:?}"),
        }
        self.settle(answer.is_ok(), expected.ok(), slot.into_iter().collect());
    }

    async fn run_single(
        &self,
        change: &Change,
        slot: Option<(usize, Slot)>,
    ) -> (tablemodel::Result<()>, Option<(usize, Slot)>) {
        let db = &self.db;
        let answer = match (change, slot) {
            (Change::Insert(Entity::Member(member)), _) => db.insert(member).await.map(drop),
            (Change::Insert(Entity::Account(account)), _) => db.insert(account).await.map(drop),
            (Change::Upsert(Entity::Member(member)), _) => db.upsert(member).await.map(drop),
            (Change::Upsert(Entity::Account(account)), _) => db.upsert(account).await.map(drop),
            (Change::Patch { key, balance, memo }, _) => {
                let patch = Account::BALANCE.set(*balance).and(Account::MEMO.set(memo.clone()));
                db.patch(Account::find().club(key.0.as_str()).id(id_of(key)), patch).await
            }
            (Change::Save { .. }, Some((at, mut slot))) => {
                let answer = match &mut slot.handle {
                    Handle::Member(stored) => db.save(stored).await,
                    Handle::Account(stored) => db.save(stored).await,
                };
                return (answer, Some((at, slot)));
            }
            (Change::Delete { .. }, Some((_, slot))) => match slot.handle {
                Handle::Member(stored) => db.delete(stored).await,
                Handle::Account(stored) => db.delete(stored).await,
            },
            (Change::Save { .. } | Change::Delete { .. }, None) => unreachable!("they come with a slot"),
        };
        (answer, None)
    }

    /// Takes over what happened. Slots that were saved are current again, unless a later change overtook them.
    fn settle(&mut self, happened: bool, expected: Option<(Lives, bool)>, saved: Vec<(usize, Slot)>) {
        if !happened {
            self.refused += 1;
            return;
        }
        self.succeeded += 1;
        self.lives = expected.expect("the model agrees").0;
        for (at, mut slot) in saved {
            slot.key = slot.value().key();
            let sequence = match &slot.handle {
                Handle::Member(stored) => stored.sequence(),
                Handle::Account(stored) => stored.sequence(),
            };
            let live = self.lives.get(&slot.key).filter(|live| live.sequence == sequence);
            slot.version = live.map_or(0, |live| live.version);
            self.slots[at] = Some(slot);
        }
    }

    async fn update(&mut self, key: &Key, edit: &Edit) {
        let (club, id) = (key.0.as_str(), id_of(key));
        let answer = if key.1.starts_with("m_") {
            let path = Member::find().club(club).id(id);
            self.db.update(path, |member| Ok(edit.member(member))).await.map(drop)
        } else {
            let path = Account::find().club(club).id(id);
            self.db.update(path, |account| Ok(edit.account(account))).await.map(drop)
        };
        let expected = match self.lives.get(key).cloned() {
            None => Err(Refusal::NotFound),
            Some(Live { mut entity, version, .. }) => {
                edit.entity(&mut entity);
                self.model(&[Change::Save { key: key.clone(), version, entity }])
            }
        };
        match (&answer, &expected) {
            (Err(error), Err(refusal)) => assert!(is(error.kind(), *refusal), "{error:?}, not {refusal:?}"),
            _ => assert_eq!(answer.is_ok(), expected.is_ok(), "{key:?}: {answer:?}"),
        }
        self.settle(answer.is_ok(), expected.ok(), Vec::new());
    }

    async fn bulk(&mut self, entities: &[Entity]) {
        let mut written = 0;
        for entity in entities {
            if let Ok((lives, _)) = self.model(&[Change::Insert(entity.clone())]) {
                (self.lives, written) = (lives, written + 1);
            }
        }
        let members = entities.iter().filter_map(|entity| match entity {
            Entity::Member(member) => Some(member.clone()),
            Entity::Account(_) => None,
        });
        let accounts = entities.iter().filter_map(|entity| match entity {
            Entity::Account(account) => Some(account.clone()),
            Entity::Member(_) => None,
        });
        let members: Vec<_> = members.collect();
        let accounts: Vec<_> = accounts.collect();
        let bulk = || self.db.bulk();
        let first = bulk().insert_all(futures_util::stream::iter(members)).await.expect("bulk runs");
        let second = bulk().insert_all(futures_util::stream::iter(accounts)).await.expect("bulk runs");
        assert_eq!(first.written + second.written, written);
        assert_eq!(first.failed.len() + second.failed.len() + written as usize, entities.len());
    }

    async fn batch(&mut self, club: &str, parts: &[Step]) {
        let parts: Vec<_> = parts.iter().filter_map(|part| self.change(part)).collect();
        let is_here = |change: &Change| match change {
            Change::Insert(entity) | Change::Upsert(entity) => entity.club() == club,
            Change::Save { key, .. } | Change::Patch { key, .. } | Change::Delete { key, .. } => key.0 == club,
        };
        let parts: Vec<_> = parts.into_iter().filter(|(change, _)| is_here(change)).collect();
        if parts.is_empty() {
            return;
        }
        let (changes, mut slots): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let answer = commit(&self.db, club, &changes, &mut slots).await;
        let expected = self.model(&changes);
        match &expected {
            Ok((_, true)) => {}
            Ok((_, false)) => assert!(answer.is_ok(), "{changes:#?}: {answer:?}"),
            Err(refusal) => assert!(answer.is_err(), "{changes:#?} succeeded, not {refusal:?}"),
        }
        let saved = slots.into_iter().zip(&changes).filter(|(_, change)| matches!(change, Change::Save { .. }));
        let saved = saved.filter_map(|(slot, _)| slot).collect();
        self.settle(answer.is_ok(), expected.ok(), saved);
    }

    /// That the table holds exactly the model's rows, and `verify` agrees.
    pub(crate) async fn check(&self) {
        let differences = self.differences(Rule::Right).await;
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        super::assert_clean(&self.db).await;
    }

    /// Where the table and the model differ.
    pub(crate) async fn differences(&self, rule: Rule) -> Vec<String> {
        let stored = rows_of(&*self.db.store(), super::TABLE).await;
        let (physical, sequences) = oracle::physical(&stored);
        let expected = oracle::rows(self.lives.values(), rule);
        let mut differences = Vec::new();
        for key in physical.keys().chain(expected.keys().filter(|key| !physical.contains_key(*key))) {
            let (is, should) = (physical.get(key), expected.get(key));
            if is != should {
                differences.push(format!("{key:?}\n  is     {is:?}\n  should {should:?}"));
            }
        }
        for (key, live) in &self.lives {
            if sequences.get(key) != Some(&live.sequence) {
                differences.push(format!("{key:?}: sequence {:?}, not {}", sequences.get(key), live.sequence));
            }
        }
        differences
    }
}

async fn commit(
    db: &TestDatabase,
    club: &str,
    changes: &[Change],
    slots: &mut [Option<(usize, Slot)>],
) -> tablemodel::Result<()> {
    let mut batch = db.batch(Member::in_partition(club));
    for (change, slot) in changes.iter().zip(slots) {
        match (change, slot) {
            (Change::Insert(Entity::Member(member)), _) => batch.insert(member),
            (Change::Insert(Entity::Account(account)), _) => batch.insert(account),
            (Change::Upsert(Entity::Member(member)), _) => batch.upsert(member),
            (Change::Upsert(Entity::Account(account)), _) => batch.upsert(account),
            (Change::Patch { key, balance, memo }, _) => {
                let patch = Account::BALANCE.set(*balance).and(Account::MEMO.set(memo.clone()));
                batch.patch(Account::find().club(club).id(id_of(key)), patch)
            }
            (Change::Save { .. }, Some((_, slot))) => match &mut slot.handle {
                Handle::Member(stored) => batch.save(stored),
                Handle::Account(stored) => batch.save(stored),
            },
            (Change::Delete { .. }, Some((_, slot))) => match &slot.handle {
                Handle::Member(stored) => batch.delete(stored.clone()),
                Handle::Account(stored) => batch.delete(stored.clone()),
            },
            (Change::Save { .. } | Change::Delete { .. }, None) => unreachable!("they come with a slot"),
        };
    }
    batch.commit().await
}

fn id_of(key: &Key) -> u32 {
    key.1[2..].parse().expect("an id")
}

fn is(kind: &ErrorKind, refusal: Refusal) -> bool {
    match refusal {
        Refusal::AlreadyExists => matches!(kind, ErrorKind::AlreadyExists),
        Refusal::NotFound => matches!(kind, ErrorKind::NotFound),
        Refusal::Conflict => matches!(kind, ErrorKind::Conflict { .. }),
        Refusal::Unique => matches!(kind, ErrorKind::UniqueViolation { .. }),
    }
}
