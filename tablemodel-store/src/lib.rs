//! Table stores: rows addressed by partition key and row key, sorted by both, with atomic batches inside a
//! partition and ETags.
//!
//! | part | what lives there |
//! |---|---|
//! | [`Row`], [`Properties`], [`Value`], [`key`], [`ETag`], [`DateTime`] | the data |
//! | [`Query`], [`Filter`], [`Batch`], [`Action`] | reads and writes as data |
//! | [`TableStore`] | the port: the one way to data |
//! | [`TableStoreExt`] | all rows of a query, and writes of one row, over any store |
//! | [`MemoryStore`] | a store in memory |
//! | `EmbeddedStore` (feature `embedded`) | a store in a file |
//! | [`observe`] | a store around a store that logs the calls |
//! | [`clock`] | where a store gets "now" from, and how it waits |
//! | `conformance` (a feature) | the suite that every store passes |
//! | `fault` (a feature) | a store around a store that makes calls fail |
//! | [`place`] | files that appear whole or not at all |
//! | [`limits`], [`size`], [`validate`], [`apply`] | the rules of the service, pure functions shared by all stores |
//!
//! This crate knows nothing of entities, derives or patterns: those are `tablemodel`'s.

mod continuation;
mod datetime;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
mod etag;
mod extension;
mod filter;
mod flat;
mod mark;
mod memory;
mod name;
mod names;
mod operation;
mod port;
mod properties;
mod query;
mod row;
mod shown;
mod value;

pub mod apply;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "fault")]
pub mod fault;
pub mod key;
pub mod limits;
pub mod observe;
pub mod place;
pub mod size;
pub mod validate;

#[cfg(feature = "embedded")]
pub use crate::embedded::{
    Backup, Durability, EmbeddedStats, EmbeddedStore, EmbeddedStoreBuilder, StorageBackend, TableStats,
};
pub use crate::{
    datetime::{DateTime, DateTimeError},
    error::{FailedAt, StoreError, StoreErrorKind},
    etag::ETag,
    extension::{Rows, TableStoreExt},
    filter::{Comparison, Filter},
    key::{KeyRange, RowKey, RowRange},
    memory::{MemoryStore, MemoryStoreBuilder},
    name::PropertyName,
    names::Names,
    operation::{Action, Batch, Condition, Operation, Receipts, Written},
    port::{Capabilities, TableStore},
    properties::{Changed, Properties, PropertiesBuilder, PropertiesIter},
    query::{Continuation, Page, Query},
    row::{Row, RowState},
    shown::{KeptRow, Shown},
    value::{EdmType, Value, ValueRef},
};
pub use uuid::Uuid;
