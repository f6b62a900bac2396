//! Stored properties: what each is called, how it is encoded, and what reads where it is absent.
//!
//! All of it is constant data.

use std::cmp::Ordering;

use tablemodel_store::{EdmType, ValueRef};

use super::{BLOB, at, compare, same};
use crate::property::{Property, StoredAs, StoredDefault, json};

/// One field of an entity.
#[derive(Debug)]
pub enum FieldSchema {
    /// A field stored as one property.
    Property(PropertySchema),
    /// A field of several properties: one marked `flatten`, whose own fields they are, or `blob`.
    Group {
        /// The Rust field.
        field: &'static str,
        /// The properties.
        properties: &'static [PropertySchema],
    },
}

/// One stored property.
#[derive(Debug, Clone, Copy)]
pub struct PropertySchema {
    /// The Rust field, for messages.
    pub field: &'static str,
    /// The stored name.
    pub property: &'static str,
    /// The Edm type it is stored as.
    pub edm: EdmType,
    /// The identity of the encoding (`u32`, `json`, ...): part of the format.
    pub codec: &'static str,
    /// Whether the property may be absent because the value is `None`.
    pub nullable: bool,
    /// What an absent property reads as, as it would be stored; nothing where the field has no default.
    pub default: Option<StoredDefault>,
    /// Whether it holds an aggregate: what is written is what its sources come to.
    pub aggregate: bool,
    /// The stored name that it had in an earlier version, where the user says so. No part of the format.
    pub was: Option<&'static str>,
}

impl PropertySchema {
    /// The property of a field of type `T`.
    pub const fn of<T: Property>(field: &'static str, property: &'static str) -> Self {
        Self {
            field,
            property,
            edm: T::EDM,
            codec: T::CODEC,
            nullable: T::NULLABLE,
            default: None,
            aggregate: false,
            was: None,
        }
    }

    /// The property of a field whose type says these. For generated code.
    #[doc(hidden)]
    pub const fn new(field: &'static str, property: &'static str, stored: StoredAs) -> Self {
        let StoredAs { edm, codec, nullable } = stored;
        Self { field, property, edm, codec, nullable, default: None, aggregate: false, was: None }
    }

    /// A field stored as JSON text.
    pub const fn json(field: &'static str, property: &'static str) -> Self {
        Self {
            field,
            property,
            edm: EdmType::String,
            codec: json::CODEC,
            nullable: false,
            default: None,
            aggregate: false,
            was: None,
        }
    }

    /// The same, holding an aggregate.
    pub const fn of_aggregate(self) -> Self {
        Self { aggregate: true, ..self }
    }

    /// A field kept as a blob: its own property is the value (Binary) or the name of the blob (String).
    pub const fn blob(field: &'static str, property: &'static str, nullable: bool) -> Self {
        Self {
            field,
            property,
            edm: EdmType::String,
            codec: BLOB,
            nullable,
            default: None,
            aggregate: false,
            was: None,
        }
    }

    /// The length or the checksum of a blob; absent where the value is in the row.
    pub const fn blob_part(field: &'static str, property: &'static str) -> Self {
        Self {
            field,
            property,
            edm: EdmType::Int64,
            codec: BLOB,
            nullable: true,
            default: None,
            aggregate: false,
            was: None,
        }
    }

    /// The same, which had another stored name before.
    pub const fn renamed(self, was: &'static str) -> Self {
        Self { was: Some(was), ..self }
    }

    /// Whether what stands there is absence, as another program may write it: JSON that says `null`.
    pub(crate) fn is_absence(&self, stored: Option<ValueRef<'_>>) -> bool {
        self.is_json() && stored == Some(ValueRef::String(json::ABSENT))
    }

    pub(crate) fn is_json(&self) -> bool {
        self.codec == json::CODEC
    }

    /// Whether a row that lacks it is read as if it had a value. The default of what may be absent is that it is.
    pub(crate) const fn has_value_where_absent(&self) -> bool {
        !self.aggregate && !self.nullable && self.default.is_some()
    }

    /// The same, reading as this default where absent.
    pub const fn or_default(self, default: StoredDefault) -> Self {
        Self { default: Some(default), ..self }
    }
}

impl FieldSchema {
    /// The Rust field.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Property(property) => property.field,
            Self::Group { field, .. } => field,
        }
    }

    /// The properties of the field.
    pub const fn properties(&'static self) -> &'static [PropertySchema] {
        match self {
            Self::Property(property) => std::slice::from_ref(property),
            Self::Group { properties, .. } => properties,
        }
    }
}

/// A name that two of the properties have. Those of an array ascend, and are looked at once.
pub(super) const fn repeated(properties: &[PropertySchema]) -> Option<&'static str> {
    let mut i = 1;
    while i < properties.len() {
        if !matches!(compare(at(properties, i - 1).property, at(properties, i).property), Ordering::Less) {
            let (before, rest) = properties.split_at(i);
            return match (shared(before, rest), repeated(before)) {
                (None, None) => repeated(rest),
                (Some(name), _) | (None, Some(name)) => Some(name),
            };
        }
        i += 1;
    }
    None
}

/// A name that a property of `a` and one of `b` have.
pub(super) const fn shared(a: &[PropertySchema], b: &[PropertySchema]) -> Option<&'static str> {
    let mut i = 0;
    while i < a.len() {
        let mut j = 0;
        while j < b.len() {
            if same(at(a, i).property, at(b, j).property) {
                return Some(at(a, i).property);
            }
            j += 1;
        }
        i += 1;
    }
    None
}
