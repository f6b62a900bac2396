//! The registered entities in memory, as of the newest epoch that the program knows, and the epochs that something is still
//! planned on.
//!
//! Rows are read in `registry`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{Closed, Registered};
use crate::{error::Result, schema::EntitySchema};

/// The states of indexes as of one epoch. Who plans a write holds it until the write is over.
#[derive(Debug, Default)]
pub(in crate::database) struct Generation {
    pub(in crate::database) epoch: i64,
    /// Whether the program may have missed later ones: nothing that was planned may be committed.
    lapsed: AtomicBool,
}

impl Generation {
    pub(in crate::database) fn is_lapsed(&self) -> bool {
        self.lapsed.load(Ordering::SeqCst)
    }
}

/// Whether it was said that this program writes without the indexes that its model lacks, and which of them it has otherwise.
#[derive(Debug, Default)]
pub(in crate::database) struct Notice {
    /// How often that was to be said.
    due: AtomicU64,
    /// For which of these it was.
    given: AtomicU64,
}

impl Notice {
    /// It is to be said anew.
    pub(in crate::database) fn renew(&self) {
        self.due.fetch_add(1, Ordering::SeqCst);
    }

    /// What is to be said, and was not.
    pub(in crate::database) fn due(&self) -> Option<u64> {
        let due = self.due.load(Ordering::SeqCst);
        (due > self.given.load(Ordering::SeqCst)).then_some(due)
    }

    /// That was said.
    pub(in crate::database) fn given(&self, due: u64) {
        self.given.fetch_max(due, Ordering::SeqCst);
    }

    #[cfg(feature = "testing")]
    fn forked(&self) -> Self {
        let now = |of: &AtomicU64| AtomicU64::new(of.load(Ordering::SeqCst));
        Self { due: now(&self.due), given: now(&self.given) }
    }
}

/// The registered entities, by name, as of the newest epoch that this program knows.
#[derive(Debug, Default)]
pub(in crate::database) struct Registry {
    known: RwLock<Known>,
    looks: AtomicU64,
    pub(in crate::database) notice: Notice,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// The entities of the model, each in the form that it is kept in.
    pub(super) model: Arc<[&'static EntitySchema]>,
    pub(super) entities: BTreeMap<&'static str, Arc<Registered>>,
    /// Forms that entities move to, or have moved to: to be read, or neither read nor written.
    pub(super) others: BTreeMap<&'static str, Other>,
    /// Every entity that the store has, those of other models too.
    pub(super) recorded: BTreeSet<String>,
    /// What programs keep and no version of the model's entities names, copies among it: those as outbox rows name them.
    pub(super) beyond: BTreeSet<String>,
    pub(super) generation: Arc<Generation>,
    /// Those before it that something may still be planned on.
    pub(super) earlier: Vec<Weak<Generation>>,
    /// By which look it was found.
    pub(super) look: u64,
    /// How many looks had begun when this one was over.
    pub(super) begun: u64,
}

impl Known {
    /// Indexes that rows of this program are not in, totals that they do not hold, and what it has otherwise than the store says.
    fn to_be_told(&self) -> BTreeSet<(&'static str, &str)> {
        let all = self.entities.values().flat_map(|kept| {
            let names = kept.lacked.iter().chain(&kept.unheld).chain(&kept.unsaid);
            names.map(move |name| (kept.entity_type, name.as_str()))
        });
        all.collect()
    }
}

/// A form of an entity that is not the one it is kept in.
#[derive(Debug, Clone)]
pub(super) enum Other {
    /// Its rows are complete shadows, and may be read.
    Readable(Arc<Registered>),
    Closed(Closed),
}

impl Registry {
    pub(in crate::database) fn of(model: &'static [&'static EntitySchema]) -> Self {
        Self { known: RwLock::new(Known { model: model.into(), ..Known::default() }), ..Self::default() }
    }

    /// The entity in this form; an error where it is kept in another.
    pub(in crate::database) fn get(&self, schema: &'static EntitySchema) -> Result<Option<Arc<Registered>>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let kept = known.entities.get(schema.entity_type);
        if let Some(kept) = kept.filter(|kept| !kept.schema.is_of_other_form(schema.version)) {
            return Ok(Some(kept.clone()));
        }
        match known.others.get(schema.entity_type) {
            None => kept.map_or(Ok(None), |kept| Err(kept.instead().error(schema))),
            Some(Other::Readable(registered)) => Ok(Some(registered.clone())),
            Some(Other::Closed(closed)) => Err(closed.error(schema)),
        }
    }

    /// The entities of the model, each in the form that it is kept in.
    pub(in crate::database) fn model(&self) -> Arc<[&'static EntitySchema]> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).model.clone()
    }

    pub(in crate::database) fn is_empty(&self) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).entities.is_empty()
    }

    /// Whether the store keeps indexes that rows of this program are not in, totals that they do not hold, or what it has otherwise than the
    /// store says.
    pub(in crate::database) fn is_any_to_be_told(&self) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        !known.to_be_told().is_empty()
    }

    /// Whether the store has an entity of this name, of whichever model.
    pub(in crate::database) fn has(&self, entity: &str) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).recorded.contains(entity)
    }

    /// Whether this copy, as outbox rows name it, is kept by other programs alone. One of an entity of which nothing is known here has come
    /// since the states were read: its copies are kept from the start.
    pub(super) fn lacks(&self, copy: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let is_new = copy.split_once('|').is_some_and(|(holder, _)| !known.recorded.contains(holder));
        is_new || known.beyond.contains(copy)
    }

    /// The states as they are now, to be held while a write is planned and made.
    pub(in crate::database) fn enter(&self) -> Arc<Generation> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).generation.clone()
    }

    /// The oldest epoch that a write of this program is still planned on.
    pub(in crate::database) fn oldest(&self) -> i64 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let earlier = known.earlier.iter().filter_map(Weak::upgrade).map(|generation| generation.epoch);
        earlier.min().unwrap_or(known.generation.epoch).min(known.generation.epoch)
    }

    /// What was planned so far may not be committed.
    pub(in crate::database) fn lapse(&self) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.generation.lapsed.store(true, Ordering::SeqCst);
        known.earlier.iter().filter_map(Weak::upgrade).for_each(|earlier| earlier.lapsed.store(true, Ordering::SeqCst));
    }

    /// As it is now, with no write under way.
    #[cfg(feature = "testing")]
    pub(in crate::database) fn forked(&self) -> Self {
        let own = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let lapsed = AtomicBool::new(own.generation.is_lapsed());
        let generation = Arc::new(Generation { epoch: own.generation.epoch, lapsed });
        let (model, entities, others) = (own.model.clone(), own.entities.clone(), own.others.clone());
        let (recorded, beyond) = (own.recorded.clone(), own.beyond.clone());
        Self {
            known: RwLock::new(Known { model, entities, others, recorded, beyond, generation, ..Known::default() }),
            looks: AtomicU64::default(),
            notice: self.notice.forked(),
        }
    }

    /// Before the states are read. What an earlier look finds later does not take the place of what this one found, nor, where its epoch
    /// is older, what one finds that had begun before this one was over: replies may overtake each other.
    pub(super) fn look(&self) -> u64 {
        self.looks.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn set(&self, next: Known, epoch: i64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Where nothing was found, all was dropped, and epochs begin anew.
        let is_any = !(next.entities.is_empty() && next.others.is_empty());
        let is_overtaken = is_any && next.look <= known.begun && epoch < known.generation.epoch;
        if next.look < known.look || is_overtaken {
            return;
        }
        if !next.to_be_told().is_subset(&known.to_be_told()) {
            self.notice.renew();
        }
        (known.look, known.begun) = (next.look, self.looks.load(Ordering::SeqCst));
        (known.model, known.entities, known.others) = (next.model, next.entities, next.others);
        (known.recorded, known.beyond) = (next.recorded, next.beyond);
        if known.generation.epoch != epoch || known.generation.is_lapsed() {
            let next = Arc::new(Generation { epoch, lapsed: AtomicBool::new(false) });
            let last = std::mem::replace(&mut known.generation, next);
            known.earlier.retain(|earlier| earlier.strong_count() > 0);
            known.earlier.push(Arc::downgrade(&last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after a look that found an entity.
    fn found(registry: &Registry, look: u64, epoch: i64) -> i64 {
        let others = [("Entity", Other::Closed(Closed::Moved { to: 2 }))].into();
        registry.set(Known { look, others, ..Known::default() }, epoch);
        registry.enter().epoch
    }

    #[test]
    fn what_replies_tell_that_overtake_each_other_is_never_older_than_what_was_known() {
        let registry = Registry::of(&[]);
        let [first, second, third] = [registry.look(), registry.look(), registry.look()];
        assert_eq!(found(&registry, second, 6), 6);
        assert_eq!(found(&registry, third, 5), 6, "it was answered before, and came later");
        assert_eq!(found(&registry, first, 7), 6, "it began before");
        assert_eq!(found(&registry, third, 7), 7);
        let [later, last] = [registry.look(), registry.look()];
        assert_eq!(found(&registry, last, 8), 8);
        registry.set(Known { look: last, ..Known::default() }, 0);
        assert_eq!(registry.enter().epoch, 0, "all tables were dropped");
        assert_eq!(found(&registry, later, 9), 0);
    }
}
