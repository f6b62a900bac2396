//! A partition as a value: for batches, scans and queries over several types.
//!
//! Only its key is known here.

use std::marker::PhantomData;

use crate::{
    entity::TableEntity,
    error::{Error, Result},
    path::query::PathQuery,
};

/// A partition of the table that keeps `E`. Made by the generated `E::in_partition(..)`.
pub struct PartitionOf<E> {
    query: PathQuery,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for PartitionOf<E> {
    fn clone(&self) -> Self {
        Self { query: self.query.clone(), entity: PhantomData }
    }
}

impl<E> std::fmt::Debug for PartitionOf<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.query.fmt(f)
    }
}

impl<E: TableEntity> PartitionOf<E> {
    /// The partition of a path whose partition components are given. For generated code.
    #[doc(hidden)]
    pub fn new(query: PathQuery) -> Self {
        Self { query, entity: PhantomData }
    }

    /// The partition key.
    ///
    /// # Errors
    ///
    /// `KeyOverflow`, `KeyTooLong`, `Invalid` for values that do not fit the key.
    pub fn key(&self) -> Result<String> {
        let mut partitions = self.query.partitions()?;
        match (partitions.pop(), partitions.is_empty()) {
            (Some(partition), true) => Ok(partition),
            _ => Err(Error::unsupported("the partition is spread over several buckets").of(E::SCHEMA.entity_type)),
        }
    }
}
