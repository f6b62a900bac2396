#![doc = include_str!("../../docs/versions.md")]
//!
//! Nothing here touches a store or a file: texts in, data and texts out.

mod apply;
mod change;
mod code;
mod diff;
mod facts;
mod fingerprint;
mod frozen;
mod gate;
mod key;
mod lock;
mod parse;
mod rename;
mod text;
mod tie;

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tablemodel_store::EdmType;

pub(crate) use self::gate::IS_ON;
pub use self::{
    apply::Misfit,
    change::Change,
    code::{Class, Code},
    diff::{Renames, diff},
    facts::facts_length,
    fingerprint::Fingerprint,
    frozen::{Json, Word, carry, read_json},
    gate::{gate, gate_unreadable},
    key::{KeyFormat, KeyPiece},
    lock::{Lock, LockError, LockProblem, LockedPlan, Section},
    parse::FormatError,
    rename::WrongRename,
};
use crate::schema::{EntitySchema, OnDelete};

/// The stored format of one version of an entity, as owned data: what [`EntitySchema`] says of stored bytes, and nothing
/// else. The order of fields and attributes, Rust names and what only queries need are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The stored name of the entity.
    pub entity_type: String,
    /// The version.
    pub version: u32,
    /// The table, without the run-time prefix.
    pub table: String,
    /// The partition key.
    pub partition: KeyFormat,
    /// The row key.
    pub row: KeyFormat,
    /// The properties by stored name, also those that only the keys hold.
    pub properties: BTreeMap<String, PropertyFormat>,
    /// The indexes and lists by name.
    pub indexes: BTreeMap<String, IndexFormat>,
    /// The copies of other entities' properties, by field.
    pub copies: BTreeMap<String, CopyFormat>,
    /// What it adds to aggregates, by `Target.Property`.
    pub aggregates: BTreeMap<String, AggregateFormat>,
    /// Whether rows of other programs are read as version 1.
    pub adopt: bool,
    /// Whether it may have more properties than a row takes.
    pub wide: bool,
    /// Names of properties and indexes that were removed and may never return.
    pub reserved: BTreeSet<String>,
}

/// How a property is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyFormat {
    /// The Edm type.
    pub edm: EdmType,
    /// The identity of the encoding.
    pub codec: String,
    /// Whether it is absent where the value is `None`.
    pub nullable: bool,
    /// Whether a default is read where it is absent.
    pub default: bool,
    /// Whether it holds an aggregate.
    pub aggregate: bool,
    /// Whether it is cut into chunks.
    pub chunked: bool,
}

/// How an index is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFormat {
    /// Where its rows stand, if not in the entity's partition.
    pub elsewhere: Option<ElsewhereFormat>,
    /// The row key.
    pub row: KeyFormat,
    /// The property of which each element has a row.
    pub each: Option<String>,
    /// What its rows hold.
    pub cover: CoverFormat,
    /// Whether its key determines the entity.
    pub unique: bool,
    /// While what its rows exist.
    pub when: Option<WhenFormat>,
}

/// Where rows in another partition stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElsewhereFormat {
    /// The table.
    pub table: String,
    /// The partition key.
    pub partition: KeyFormat,
}

/// What an index row holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoverFormat {
    /// Every property.
    Whole,
    /// These properties.
    Keep(BTreeSet<String>),
    /// Nothing but keys.
    KeysOnly,
    /// It is a list: one row with the keys of all entities that have its key, and chunks behind it when it is long.
    List,
    /// The same, and a long one stands in a blob. Either is read in both forms.
    ListInBlob,
}

impl CoverFormat {
    /// Whether the index is a list.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::List | Self::ListInBlob)
    }
}

/// A condition over one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhenFormat {
    /// The property.
    pub property: String,
    /// Whether the condition holds while the property is absent or `false`.
    pub negated: bool,
}

/// How a copy is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFormat {
    /// The entity that is copied.
    pub source: String,
    /// What its stored names begin with.
    pub stored: String,
    /// The properties of the source's key, each with the own property that has its value.
    pub key: BTreeMap<String, String>,
    /// What is copied, by its names on the source.
    pub properties: BTreeSet<String>,
    /// Whether there may be no source.
    pub optional: bool,
    /// What becomes of it when the source is deleted.
    pub on_delete: OnDelete,
}

/// What an entity adds to an aggregate of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateFormat {
    /// What is kept.
    pub function: FunctionFormat,
    /// Whether it is kept in parts.
    pub sharded: bool,
    /// The properties of the target's key, each with the own property that tells it.
    pub key: BTreeMap<String, String>,
    /// While what the entity counts.
    pub when: Option<WhenFormat>,
}

/// What an aggregate keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionFormat {
    /// The number of entities.
    Count,
    /// The sum of a property.
    Sum(String),
    /// The least value of a property.
    Min(String),
    /// The greatest value of a property.
    Max(String),
}

impl Format {
    /// The format that a schema says.
    ///
    /// # Errors
    ///
    /// [`FormatError`] where a name in it cannot stand in a line: only in schemas that no derive made.
    ///
    /// ```
    /// use tablemodel::{format::Format, prelude::*};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Company", partition = "{department}", row = "{id:06}")]
    /// # struct Employee { department: String, id: u32 }
    ///
    /// let format = Format::of(Employee::SCHEMA)?;
    /// assert_eq!(format.row.to_string(), "{Id:u32:06}");
    /// assert_eq!(format.properties["Id"].codec, "u32");
    /// # Ok::<(), tablemodel::format::FormatError>(())
    /// ```
    pub fn of(schema: &EntitySchema) -> Result<Self, FormatError> {
        let facts = facts::facts(schema);
        let facts = String::from_utf8_lossy(&facts);
        Self::parse(schema.entity_type, schema.version, facts.lines())
    }

    /// What its rows carry as `EntityType`.
    pub fn discriminator(&self) -> String {
        format!("{}@{}", self.entity_type, self.version)
    }

    /// The names that a later version may not use anew for something else: its properties, indexes and reserved names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let stored = self.properties.keys().chain(self.indexes.keys()).chain(&self.reserved);
        stored.map(String::as_str)
    }
}
