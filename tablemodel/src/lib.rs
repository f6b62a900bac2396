//! Keep data in table stores: annotate a struct, and get key formatting, secondary indexes, a versioned discriminator,
//! and typed query paths whose cost shows in the code.
//!
#![doc = include_str!("../docs/overview.md")]

extern crate self as tablemodel; // the derives name this crate, in its own tests and documentation too

#[cfg(feature = "blob")]
pub mod blob;
#[cfg(not(feature = "blob"))]
mod blob {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a program without blobs tells no more than that a text is the name of one")
    )]
    pub(crate) mod name;
}
mod check;
mod check_aggregate;
mod check_copy;
mod check_move;
mod check_readable;
#[cfg(feature = "cli")]
pub mod cli;
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
pub mod upgrade;

/// The program behind `cargo tablemodel`, over one or several [`TableModel`]s: the whole of `src/bin/tablemodel.rs`.
///
/// ```ignore
/// tablemodel::cli!(company::Company);
/// ```
///
/// See the module `cli` (feature `cli`), which the cargo alias switches on.
#[cfg(feature = "cli")]
#[macro_export]
macro_rules! cli {
    ($($model:ty),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            let package = $crate::cli::Package {
                name: ::core::env!("CARGO_PKG_NAME"),
                folder: ::core::env!("CARGO_MANIFEST_DIR"),
                model: ::core::stringify!($($model),+),
            };
            $crate::cli::main(&package, &[$($crate::cli::Model::of::<$model>()),+])
        }
    };
}

/// The program behind `cargo tablemodel`; without the feature `cli` it says how to start it.
#[cfg(not(feature = "cli"))]
#[macro_export]
macro_rules! cli {
    ($($model:ty),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::__private::without_cli(&[$(<$model as $crate::TableModel>::ENTITIES),+])
        }
    };
}

pub mod changing;
pub mod format;
pub mod keeping;
pub mod key;
pub mod migrations;
pub mod moves;
pub mod paths;
pub mod prelude;
pub mod property;
pub mod rooms;
pub mod testing;
pub mod writing;

/// Where a typed path stands: the words by which the compiler tells of a path that is not ready for what is asked of it.
pub mod at {
    pub use crate::path::state::{
        At, Ended, FullKey, More, Partition0, Partition1, Partition2, Partition3, Row0, Row1, Row2, Row3, Row4, Row5,
    };
}

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

/// What stands on crates.io compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use async_trait::async_trait;
pub use tablemodel_derive::*;
#[doc(inline)] // its pages are among these, or links to them would be dead
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
        Bulk, BulkReport, BulkWritten, Checkpoint, Consistency, Database, DatabaseBuilder, Poisoned, Relay,
        RelayReport, Repair, Repaired, Transferred, Verified, Verify, Violation, ViolationKind, WriteBatch,
    },
    entity::{CopyKeyOf, CopyOf, FieldError, ModelRow, Projection, PropertyGroup, TableEntity, TableModel},
    environment::{Environment, Random, SystemRandom, TokioSleep},
    error::{Error, ErrorKind, Result},
    key::KeyPart,
    observe::{Observer, StoreCall},
    path::{
        CostClass, EntityScan, Explain, ListPath, ModelRows, One, PartitionOf, Path, Results, Running, Scan, Selected,
        VerifiedPath,
        field::{Aggregated, Field, FieldArg, FieldArray, HoldsAggregate, Patch, Predicate, Sharded},
        found::Found,
        state::{Complete, Ranged},
    },
    plan::states::IndexState,
    property::Property,
    schema::{
        AggregateSchema, CopyKey, CopySchema, Cover, Each, Elsewhere, EntitySchema, FieldSchema, Function, IndexSchema,
        Moved, OnDelete, PartSchema, Previous, PropertySchema, Shape, When,
    },
    stored::{Seen, Stored},
    upgrade::{Downgrade, Upgrade, UpgradeError},
};
