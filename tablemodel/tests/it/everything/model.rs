//! The model of changes: why each is refused, and what lives after it.
//!
//! Knows nothing of rows; those are the oracle's.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Entity, Key,
    oracle::{Unique, unique},
    sponsor_key, team_key,
};

/// An entity that lives, and which write made it so: no two writes have the same number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Live {
    pub(super) entity: Entity,
    version: u64,
    /// The number of the last write of another entity that may have written this one too.
    touched: u64,
}

pub(super) type Lives = BTreeMap<Key, Live>;

/// What is asked, as far as the model cares.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Insert(Entity),
    Upsert(Entity),
    /// Of what was read at this key at this time, with the same key.
    Save(Key, u64, Entity),
    /// The same, with whatever key.
    Rekey(Key, u64, Entity),
    /// Reads and writes what is there.
    Replace(Key, Option<Entity>),
    Delete(Key, u64),
}

/// Why a change is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Refusal {
    AlreadyExists,
    NotFound,
    Conflict,
    Unique,
}

/// What is known of the store beside its entities.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) lives: Lives,
    last_version: u64,
    /// Values that a refused write may have claimed before it was refused: for whom.
    lost: BTreeMap<String, BTreeSet<Key>>,
}

/// What is to be expected.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Each is a reason to refuse; empty: it succeeds.
    pub(super) refusals: Vec<Refusal>,
    /// It may be refused as a conflict too.
    pub(super) either: bool,
    after: Lives,
}

impl Change {
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Insert(entity) | Self::Upsert(entity) => entity.key(),
            Self::Save(key, ..) | Self::Rekey(key, ..) | Self::Replace(key, _) | Self::Delete(key, _) => key.clone(),
        }
    }

    fn wish(&self) -> Option<&Entity> {
        match self {
            Self::Insert(entity) | Self::Upsert(entity) | Self::Save(.., entity) | Self::Rekey(.., entity) => {
                Some(entity)
            }
            Self::Replace(_, entity) => entity.as_ref(),
            Self::Delete(..) => None,
        }
    }

    /// Whether it rests on what was read before.
    fn read(&self) -> Option<u64> {
        match self {
            Self::Save(_, version, _) | Self::Rekey(_, version, _) | Self::Delete(_, version) => Some(*version),
            Self::Insert(_) | Self::Upsert(_) | Self::Replace(..) => None,
        }
    }
}

impl Book {
    /// What becomes of changes of different entities that are made at once.
    pub(super) fn judge(&mut self, changes: &[Change], is_atomic: bool) -> Verdict {
        let (mut refusals, mut after, mut either) = (Vec::new(), self.lives.clone(), false);
        for change in changes {
            let key = change.key();
            refusals.extend(self.refusal(change));
            let touched = self.lives.get(&key).map(|live| live.touched);
            either |= change.read().is_some_and(|read| touched.is_some_and(|touched| touched > read));
            after.remove(&key);
            if let Some(wish) = change.wish() {
                if wish.key() != key && self.lives.contains_key(&wish.key()) {
                    refusals.push(Refusal::AlreadyExists);
                }
                self.last_version += 1;
                let live = Live { entity: wish.clone(), version: self.last_version, touched: 0 };
                after.insert(wish.key(), live);
            }
        }
        if is_contested(&after) || (!is_atomic && self.is_handed_over(changes)) {
            refusals.push(Refusal::Unique);
        }
        Verdict { refusals, either, after }
    }

    fn refusal(&self, change: &Change) -> Option<Refusal> {
        let there = self.lives.get(&change.key());
        match change {
            Change::Insert(_) => there.map(|_| Refusal::AlreadyExists),
            Change::Upsert(_) => None,
            Change::Replace(..) => there.is_none().then_some(Refusal::NotFound),
            Change::Save(_, read, _) | Change::Rekey(_, read, _) | Change::Delete(_, read) => match there {
                None => Some(Refusal::NotFound),
                Some(live) => (live.version > *read).then_some(Refusal::Conflict),
            },
        }
    }

    /// Whether one takes what another has before, and gives up in the same batch.
    fn is_handed_over(&self, changes: &[Change]) -> bool {
        let holder = |value: &Unique| {
            let mut lives = self.lives.iter();
            lives.find(|(_, live)| unique(&live.entity).contains(value)).map(|(key, _)| key.clone())
        };
        changes.iter().any(|change| {
            let wishes = change.wish().map(unique).unwrap_or_default();
            let mut claims = wishes.iter().filter(|value| matches!(value, Unique::Anywhere(_)));
            claims.any(|value| holder(value).is_some_and(|holder| holder != change.key()))
        })
    }

    /// Takes over what happened.
    pub(super) fn settle(&mut self, changes: &[Change], verdict: Verdict, happened: bool, is_atomic: bool) {
        let mut touched = BTreeSet::new();
        for change in changes {
            let Some(wish) = change.wish() else { continue };
            for value in unique(wish) {
                let Unique::Anywhere(value) = value else { continue };
                let owners = self.lost.entry(value).or_default();
                let others = owners.iter().filter(|owner| **owner != change.key() && **owner != wish.key());
                touched.extend(others.cloned());
                if !happened && !is_atomic {
                    owners.extend([wish.key(), change.key()]);
                }
            }
        }
        if happened {
            let before = changes.iter().filter_map(|change| self.lives.get(&change.key())).map(|live| &live.entity);
            for entity in before.chain(changes.iter().filter_map(Change::wish)) {
                touched.extend(self.related(entity));
            }
            for key in changes.iter().flat_map(|change| [Some(change.key()), change.wish().map(Entity::key)]) {
                key.map(|key| touched.remove(&key));
            }
            self.lives = verdict.after;
        }
        self.last_version += 1;
        for key in touched {
            self.lives.entry(key).and_modify(|live| live.touched = self.last_version);
        }
    }

    /// The entities that are written with this one: what it counts in, what it copies, and what copies it.
    fn related(&self, entity: &Entity) -> BTreeSet<Key> {
        let sources = match entity {
            Entity::Person(p) => [team_key(&p.club)].into(),
            Entity::Fan(f) => Some(team_key(&f.club)).into_iter().chain(f.backer.map(sponsor_key)).collect(),
            Entity::Team(t) => t.sponsor_id.map(sponsor_key).into_iter().collect(),
            Entity::Doc(_) | Entity::Sponsor(_) => BTreeSet::new(),
        };
        let copies = |other: &Entity| match (other, entity) {
            (Entity::Fan(f), Entity::Team(t)) => f.club == t.club,
            (Entity::Fan(f), Entity::Sponsor(s)) => f.backer == Some(s.id),
            (Entity::Team(t), Entity::Sponsor(s)) => t.sponsor_id == Some(s.id),
            _ => false,
        };
        let holders = self.lives.iter().filter(|(_, live)| copies(&live.entity));
        sources.into_iter().chain(holders.map(|(key, _)| key.clone())).collect()
    }

    /// The time of a read that is made now.
    pub(super) fn now(&self) -> u64 {
        self.last_version
    }

    /// Whether a claim may be pending for that owner.
    pub(super) fn may_be_pending(&self, value: &str, owner: &Key) -> bool {
        self.lost.get(value).is_some_and(|owners| owners.contains(owner))
    }
}

/// Whether two have one value.
fn is_contested(lives: &Lives) -> bool {
    let mut values = BTreeSet::new();
    lives.values().flat_map(|live| unique(&live.entity)).any(|value| !values.insert(value))
}
