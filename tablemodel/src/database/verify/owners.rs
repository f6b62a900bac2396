//! What entities with many rows elsewhere want, kept while a walk meets those rows: told anew for each of them, it would take
//! a time that is quadratic in their number.
//!
//! Nothing is read here. What is kept may be older than the rows that are held against it, so that nothing is reported by it alone.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use tablemodel_store::RowKey;

use crate::schema::EntitySchema;

/// Where an entity wants rows of one kind: their partition keys and row keys.
pub(super) type Places = HashSet<(String, String)>;

/// An entity with fewer rows of a kind is asked again for each.
const FEW_ROWS: usize = 16;
/// How many rows are kept in mind; or those of one entity, where that has more.
const MOST_ROWS: usize = 65_536;

/// What was learnt of entities in one walk.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<Kept>);

/// The stored name of an entity, the number of what it wants, and its key.
type Owner = (&'static str, usize, RowKey);

#[derive(Debug, Default)]
struct Kept {
    owners: HashMap<Owner, Arc<Places>>,
    rows: usize,
}

impl Owners {
    /// Where the entity wants rows of this number, if that is kept.
    pub(super) fn places(&self, schema: &EntitySchema, number: usize, key: &RowKey) -> Option<Arc<Places>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.owners.get(&(schema.entity_type, number, key.clone())).cloned()
    }

    /// Keeps that.
    pub(super) fn keep(&self, schema: &EntitySchema, number: usize, key: &RowKey, places: Places) {
        if places.len() < FEW_ROWS {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.rows + places.len() > MOST_ROWS {
            *kept = Kept::default();
        }
        kept.rows += places.len();
        kept.owners.insert((schema.entity_type, number, key.clone()), Arc::new(places));
    }
}
