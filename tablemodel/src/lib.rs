//! Keep data in table stores: annotate a struct, and get key formatting, secondary indexes, a versioned discriminator,
//! and typed query paths that cannot be slow.
//!
#![doc = include_str!("../docs/overview.md")]

extern crate self as tablemodel; // the derives name this crate, in its own tests and documentation too

#[cfg(feature = "blob")]
pub mod blob;
mod check;
mod check_copy;
mod cursor;
mod database;
mod entity;
mod environment;
mod error;
mod observe;
mod path;
mod plan;
mod read;
mod row_json;
mod schema;
mod stored;

pub mod key;
pub mod migrations;
pub mod prelude;
pub mod property;
pub mod rooms;
pub mod testing;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use tablemodel_derive::*;
pub use tablemodel_store as store;
pub use tablemodel_store::{DateTime, ETag, EdmType, Properties, Row, RowKey, Uuid, Value, ValueRef};

#[cfg(feature = "blob")]
pub use crate::{
    blob::Blob,
    database::{Blobs, Collected},
};
pub use crate::{
    cursor::{Cursor, PathPage},
    database::{
        Bulk, BulkReport, Checkpoint, Consistency, Database, DatabaseBuilder, Poisoned, Relay, RelayReport, Repair,
        Repaired, Transferred, Verified, Verify, Violation, ViolationKind, WriteBatch,
    },
    entity::{CopyKeyOf, CopyOf, FieldError, ModelRow, Projection, PropertyGroup, TableEntity, TableModel},
    environment::{Environment, Random, SystemRandom, TokioSleep},
    error::{Error, ErrorKind, Result},
    key::KeyPart,
    observe::{Observer, StoreCall},
    path::{
        CostClass, EntityScan, Explain, ListPath, ModelRows, PartitionOf, Path, Results, Running, Scan, Selected,
        VerifiedPath,
        field::{Aggregated, Field, FieldArray, Patch, Predicate},
        found::Found,
        state::{Complete, Ranged},
    },
    plan::states::IndexState,
    property::Property,
    schema::{
        AggregateSchema, CopyKey, CopySchema, Cover, Each, Elsewhere, EntitySchema, FieldSchema, Function, IndexSchema,
        OnDelete, PartSchema, PropertySchema, Shape, When,
    },
    stored::{Seen, Stored},
};
