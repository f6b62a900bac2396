//! The calls of this program that are at work on migrations: one whose future was dropped is at work no more.
//!
//! What other programs are at is told by the leases in their records.

use std::{
    collections::HashSet,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::database::Database;

/// The names of those that are alive. Clones are one.
#[derive(Debug, Default, Clone)]
pub(in crate::database) struct Living(Arc<Mutex<HashSet<String>>>);

impl Living {
    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a call, as records tell it; alive until this is dropped.
#[derive(Debug)]
pub(super) struct Call {
    name: String,
    living: Living,
}

impl Call {
    /// One of its own: it begins with the program's name.
    pub(super) fn begin(db: &Database) -> Self {
        let name = format!("{}.{:08x}", db.instance(), db.environment().random.next() >> 32);
        let living = db.0.living.clone();
        living.names().insert(name.clone());
        Self { name, living }
    }
}

impl Deref for Call {
    type Target = String;

    fn deref(&self) -> &String {
        &self.name
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.living.names().remove(&self.name);
    }
}

/// Whether the call that says it is at work on a migration is known to be at it no more: one of this program that has ended, and in the
/// atomic mode any of another, since one program owns the store.
///
/// A request of it may still be under way, as one of a call that stalled may: what a migration writes rests on ETags, and states move on only
/// after the time that a request lives.
pub(super) fn is_dead(db: &Database, owner: &str) -> bool {
    let is_own = owner.split_once('.').is_some_and(|(program, _)| program == db.instance());
    (is_own || db.is_atomic()) && !db.0.living.names().contains(owner)
}
