//! The model of changes: which of them succeed, and what lives after them.
//!
//! Knows nothing of rows; those are the oracle's.

use std::collections::{BTreeMap, BTreeSet};

use super::oracle::{Entity, Live};

pub(crate) type Key = (String, String);
pub(crate) type Lives = BTreeMap<Key, Live>;

/// What a caller asks, as far as the model cares.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Insert(Entity),
    Upsert(Entity),
    /// Of what was read at this key in this version.
    Save {
        key: Key,
        version: u64,
        entity: Entity,
    },
    Patch {
        key: Key,
        balance: i64,
        memo: Option<String>,
    },
    Delete {
        key: Key,
        version: u64,
    },
}

/// Why a change fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refusal {
    AlreadyExists,
    NotFound,
    Conflict,
    Unique,
}

/// Changes of one partition on their way, over what lives.
pub(crate) struct Txn<'a> {
    before: &'a Lives,
    pub(crate) lives: Lives,
    now: i64,
    next_version: &'a mut u64,
    born: BTreeSet<Key>,
    gone: BTreeMap<Key, i64>,
    holders: BTreeMap<Key, Key>,
    released: BTreeSet<Key>,
    takers: BTreeMap<Key, Key>,
    kept: BTreeMap<Key, Key>,
    /// A holder that was changed in the batch lets its value go after another took it: the order decides.
    pub(crate) either: bool,
}

impl<'a> Txn<'a> {
    pub(crate) fn new(before: &'a Lives, now: i64, next_version: &'a mut u64) -> Self {
        let holders = before.values().flat_map(|live| {
            let club = live.entity.club().to_owned();
            live.entity.unique_rows().into_iter().map(move |row| ((club.clone(), row), live.entity.key()))
        });
        Self {
            before,
            lives: before.clone(),
            now,
            next_version,
            born: BTreeSet::new(),
            gone: BTreeMap::new(),
            holders: holders.collect(),
            released: BTreeSet::new(),
            takers: BTreeMap::new(),
            kept: BTreeMap::new(),
            either: false,
        }
    }

    /// One change after the others.
    pub(crate) fn apply(&mut self, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::Insert(entity) => self.insert(entity),
            Change::Upsert(entity) => match self.lives.get(&entity.key()).cloned() {
                Some(old) => self.replace(&old, entity.clone()),
                None => self.insert(entity),
            },
            Change::Save { key, version, entity } => {
                let old = self.current(key, *version)?;
                if entity.key() == *key {
                    return self.replace(&old, entity.clone());
                }
                self.move_to(&old, entity.clone())
            }
            Change::Patch { key, balance, memo } => {
                let Some(Live { entity: Entity::Account(old), .. }) = self.lives.get(key) else {
                    return Err(Refusal::NotFound);
                };
                let new = super::Account { balance: *balance, memo: memo.clone(), ..old.clone() };
                // Derived rows are left alone, so that no value is taken or kept.
                let live = self.lives[key].clone();
                self.put(Entity::Account(new), live.sequence + 1, live.unknown);
                Ok(())
            }
            Change::Delete { key, version } => {
                let old = self.current(key, *version)?;
                self.take_away(&old);
                Ok(())
            }
        }
    }

    /// That no value is held twice.
    pub(crate) fn finish(self) -> Result<(Lives, bool), Refusal> {
        let contested = |row: &Key| self.holders.contains_key(row) && !self.released.contains(row);
        match self.takers.keys().any(contested) {
            true => Err(Refusal::Unique),
            false => Ok((self.lives, self.either)),
        }
    }

    fn current(&self, key: &Key, version: u64) -> Result<Live, Refusal> {
        let read = self.before.get(key).ok_or(Refusal::NotFound)?;
        if read.version != version || self.born.contains(key) {
            return Err(Refusal::Conflict);
        }
        self.lives.get(key).cloned().ok_or(Refusal::Conflict)
    }

    fn insert(&mut self, entity: &Entity) -> Result<(), Refusal> {
        let key = entity.key();
        if self.lives.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        let sequence = self.now.max(self.gone.get(&key).map_or(0, |gone| gone + 1));
        self.born.insert(key.clone());
        self.put(entity.clone(), sequence, BTreeMap::new());
        self.take(entity)
    }

    fn replace(&mut self, old: &Live, entity: Entity) -> Result<(), Refusal> {
        self.release(&old.entity, Some(&entity));
        self.put(entity.clone(), old.sequence + 1, old.unknown.clone());
        self.take(&entity)
    }

    fn move_to(&mut self, old: &Live, entity: Entity) -> Result<(), Refusal> {
        let key = entity.key();
        if self.lives.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        self.take_away(old);
        let gone = self.gone.get(&key).map_or(0, |gone| gone + 1);
        self.born.insert(key);
        self.put(entity.clone(), (old.sequence + 1).max(self.now).max(gone), old.unknown.clone());
        self.take(&entity)
    }

    fn take_away(&mut self, old: &Live) {
        let key = old.entity.key();
        self.release(&old.entity, None);
        self.gone.insert(key.clone(), old.sequence);
        self.lives.remove(&key);
    }

    fn put(&mut self, entity: Entity, sequence: i64, unknown: BTreeMap<String, tablemodel::Value>) {
        *self.next_version += 1;
        let live = Live { sequence, version: *self.next_version, unknown, entity };
        self.lives.insert(live.entity.key(), live);
    }

    fn release(&mut self, old: &Entity, new: Option<&Entity>) {
        let wanted = new.map(Entity::unique_rows).unwrap_or_default();
        for row in old.unique_rows().into_iter().filter(|row| !wanted.contains(row)) {
            let row = (old.club().to_owned(), row);
            if self.takers.get(&row) == Some(&old.key()) {
                self.takers.remove(&row);
            } else if self.holders.get(&row) == Some(&old.key()) {
                self.released.insert(row);
            }
        }
    }

    fn take(&mut self, entity: &Entity) -> Result<(), Refusal> {
        let owner = entity.key();
        for row in entity.unique_rows() {
            let row = (entity.club().to_owned(), row);
            let holds = self.holders.get(&row) == Some(&owner) && !self.released.contains(&row);
            match self.takers.get(&row) {
                Some(taker) if *taker != owner => return Err(Refusal::Unique),
                Some(_) => {}
                None if holds => drop(self.kept.insert(row, owner.clone())),
                None => {
                    self.either |=
                        self.kept.get(&row).is_some_and(|keeper| *keeper != owner) && !self.released.contains(&row);
                    self.takers.insert(row, owner.clone());
                }
            }
        }
        Ok(())
    }
}
