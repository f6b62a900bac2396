//! What readers see: one snapshot, shared until the next acknowledged commit.
//!
//! Writes nothing.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    catalogue::Catalogue,
    codec::StoredRow,
    dictionary::Dictionary,
    engine::{Engine, Snapshot},
    keys::key_bytes,
};
use crate::{Row, RowKey, StoreError, StoreErrorKind};

/// One state of the store.
pub(super) struct View<S> {
    pub(super) snapshot: S,
    pub(super) catalogue: Arc<Catalogue>,
    /// Never behind the snapshot: a name is in here before the first row that uses it is written.
    pub(super) names: Arc<Dictionary>,
}

impl<S: Snapshot> View<S> {
    /// The row at `key`.
    pub(super) fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        let space = self.catalogue.rows(table)?;
        // No stored key holds U+0000, and one that does could have the bytes of another.
        if key.partition.contains('\0') {
            return Ok(None);
        }
        let bytes = key_bytes(&key.partition, &key.row);
        let decode = |value: &[u8]| StoredRow::checked(space, &bytes, value)?.row(key.clone(), &self.names, None);
        self.snapshot.get(space, &bytes, decode)?.transpose()
    }
}

/// Where readers get the current view from, and the writer takes it back.
pub(super) struct Views<E: Engine> {
    current: RwLock<Current<E>>,
    names: Arc<Dictionary>,
}

struct Current<E: Engine> {
    /// Absent once the store is closed.
    engine: Option<Arc<E>>,
    /// Why it was closed, if that was not asked for.
    failure: Option<StoreError>,
    catalogue: Arc<Catalogue>,
    view: Option<Arc<View<E::Snapshot>>>,
}

impl<E: Engine> Views<E> {
    pub(super) fn new(engine: Arc<E>, catalogue: Arc<Catalogue>, names: Arc<Dictionary>) -> Self {
        Self { current: RwLock::new(Current { engine: Some(engine), failure: None, catalogue, view: None }), names }
    }

    /// A view that holds every commit acknowledged before this call.
    pub(super) fn current(&self) -> Result<Arc<View<E::Snapshot>>, StoreError> {
        if let Some(view) = &self.read().view {
            return Ok(Arc::clone(view));
        }
        let mut current = self.write();
        if let Some(view) = &current.view {
            return Ok(Arc::clone(view));
        }
        // Under the lock, so that no commit can be acknowledged between the snapshot and its publication.
        let snapshot = current.engine()?.snapshot()?;
        let (catalogue, names) = (Arc::clone(&current.catalogue), Arc::clone(&self.names));
        let view = Arc::new(View { snapshot, catalogue, names });
        current.view = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Makes the next reader take a new snapshot. Called after a commit, before it is acknowledged.
    ///
    /// The old snapshot is let go here, not at the next read: while it lives the engine cannot reuse its pages.
    pub(super) fn renew(&self, catalogue: &Arc<Catalogue>) {
        let mut current = self.write();
        current.view = None;
        current.catalogue = Arc::clone(catalogue);
    }

    /// Ends all reading, because it was asked for or because of a failure.
    pub(super) fn close(&self, failure: Option<StoreError>) {
        let mut current = self.write();
        current.view = None;
        current.engine = None;
        current.failure = failure;
    }

    /// What stopped the store, if something did.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.read().failure.clone()
    }

    /// Asks the engine, unless the store is closed.
    pub(super) fn with_engine<T>(&self, ask: impl FnOnce(&E) -> Result<T, StoreError>) -> Result<T, StoreError> {
        ask(self.read().engine()?)
    }

    // A panic cannot leave the fields half changed, so a poisoned lock is still good.
    fn read(&self) -> RwLockReadGuard<'_, Current<E>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Current<E>> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Engine> Current<E> {
    fn engine(&self) -> Result<&E, StoreError> {
        self.engine.as_deref().ok_or_else(|| self.failure.clone().unwrap_or_else(closed))
    }
}

/// The error of a store that was closed.
pub(super) fn closed() -> StoreError {
    StoreError::new(StoreErrorKind::Closed, "the store is closed; open it again")
}
