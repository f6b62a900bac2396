//! What generated code names. Not part of the public API: it changes without notice, with the derive of the same
//! version.
//!
//! Nothing is defined here but what stands for a part that is switched off.

pub use core::{
    default::Default,
    marker::{PhantomData, Send},
    ops::{Fn, FnOnce, RangeBounds},
    option::Option::{self, None, Some},
    result::Result::{self, Err, Ok},
};

pub use tablemodel_store::{EdmType, Row, Value, ValueRef};

pub use crate::{
    Result as RunResult,
    check::{
        Place, check_chunked, check_default, check_field, check_groups, check_held, check_index, check_into,
        check_pair, check_part, check_when,
    },
    check_aggregate::{check_aggregate, check_aggregates},
    check_copy::{check_copies, check_copy, on_delete},
    check_move::check_move,
    check_readable::check_readable_by,
    database::Database,
    entity::{
        CopyOf, FieldError, FieldReader, FieldWriter, ModelRow, OtherRow, Projection, PropertyGroup, TableEntity,
        TableModel, reads,
    },
    format::{facts_length, gate, gate_unreadable},
    key::{Codec, KeyArg, KeyPart, KeyType, Part, Problem, Samples, Segment, Template},
    path::{
        Component, Fixed, KeyForm, Many, ModelRows, OrderedArg, Other, PartitionOf, Path, PathQuery, PrefixOf,
        RangeArg, Scan, Text, Unordered,
        field::{Aggregated, AsJson, Field, FieldArray, Maintained, Patchable, Ranked, Sharded, Summed},
        list::{ListKind, ListPath, ListState, Listed},
        state::{
            AllowScan, At, Carries, Ended, FullKey, LacksLastAt, More, Partition0, Partition1, Partition2, Partition3,
            PathKind, PathState, PrimaryKind, Row0, Row1, Row2, Row3, Row4, Row5, SelectFrom, Way, name_hash,
        },
    },
    plan::owner::{OWNER_PARTITION, OWNER_ROW},
    property::{
        Property, PropertyArray, SlotNames, ValueError, default_value, json,
        variant::{unknown_variant, variant_text},
    },
    schema::{
        AggregateSchema, CopyKey, CopySchema, Cover, Each, Elsewhere, EntitySchema, FieldSchema, Function, IndexSchema,
        Moved, OnDelete, PartSchema, Previous, PropertySchema, Shape, Store, When,
    },
    stored::{Seen, Stored},
    upgrade::{check_added, check_listed, check_previous},
};
#[cfg(feature = "blob")]
pub use crate::{
    blob::{BlobField, BlobValue},
    check::check_blob_field,
    rooms::list::in_blob,
};

/// What generated code imports under the names of its parameters, so that these are no items of the user.
pub const fn parameter() {}

/// What `cli!` runs without the feature `cli`.
#[cfg(not(feature = "cli"))]
pub fn without_cli(_: &[&[&EntitySchema]]) -> std::process::ExitCode {
    use std::io::Write;
    let remedy = "run it as `cargo tablemodel`, or first with `--features tablemodel/cli,tablemodel/ungated -- init`\n";
    let _ = std::io::stderr().write_all(remedy.as_bytes());
    std::process::ExitCode::FAILURE
}
