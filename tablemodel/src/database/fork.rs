//! A program that goes on over a copy of its store: for tests that begin many times from one state.
//!
//! Nothing is read or written; what the program knows in memory is copied.

use std::sync::Arc;

use tablemodel_store::TableStore;

use super::{Database, Inner, migrate::Living, traffic::Traffic, turns::Turns};
use crate::environment::Environment;

impl Database {
    /// The same program over `store`, which holds what its own does. Its blobs stay where they are.
    pub(crate) fn forked(&self, store: Arc<dyn TableStore>, environment: Environment) -> Self {
        let own = &*self.0;
        Self(Arc::new(Inner {
            store,
            environment,
            capabilities: own.capabilities.clone(),
            prefix: own.prefix.clone(),
            model: own.model,
            registry: own.registry.forked(),
            traffic: Traffic::default(),
            lease: own.lease.forked(),
            program: own.program.clone(),
            observed: own.observed.clone(),
            deadline: own.deadline,
            consistency: own.consistency,
            fence: own.fence,
            markers: own.markers.forked(),
            turns: Turns::default(),
            living: Living::default(),
            read_only: own.read_only,
            #[cfg(feature = "blob")]
            blobs: own.blobs.clone(),
            #[cfg(all(feature = "blob", feature = "embedded"))]
            beside: None,
            #[cfg(feature = "embedded")]
            embedded: None,
        }))
    }

    /// The same with its blobs in `store`.
    #[cfg(feature = "blob")]
    pub(crate) fn with_blobs_in(mut self, store: &Arc<dyn crate::blob::ObjectStore>) -> Self {
        if let Some(place) = Arc::get_mut(&mut self.0).and_then(|own| own.blobs.as_mut()) {
            place.store = store.clone();
        }
        self
    }
}
