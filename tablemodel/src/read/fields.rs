//! The fields of an entity in a row that a store shows, where it lies.
//!
//! Nothing is read here; that the row is whole, and one of the entity's, is known by who made them.

use tablemodel_store::{RowKey, ValueRef};

use super::columns::InRow;
use crate::{key::KeyValues, plan::image::Fields, schema::EntitySchema};

/// The fields that the keys of an entity hold, and those of its row.
pub(crate) struct OfShown<'a> {
    pub(crate) schema: &'static EntitySchema,
    pub(crate) key: &'a RowKey,
    /// As far as they are asked for.
    pub(crate) keys: &'a KeyValues<'a>,
    pub(crate) row: &'a InRow<'a>,
}

impl Fields for OfShown<'_> {
    fn schema(&self) -> &'static EntitySchema {
        self.schema
    }

    fn key(&self) -> &RowKey {
        self.key
    }

    fn get(&self, property: &'static str) -> Option<ValueRef<'_>> {
        self.keys.get(property).or_else(|| self.row.get(property))
    }
}
