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

/// A name that two of the properties have. Those of an array ascend, and are looked at once; a run that does is compared with all
/// before it. (A loop: const evaluation goes some hundred calls deep.)
pub(super) const fn repeated(properties: &[PropertySchema]) -> Option<&'static str> {
    let (mut from, mut i) = (0, 1);
    while i <= properties.len() {
        let goes_on = i < properties.len()
            && matches!(compare(at(properties, i - 1).property, at(properties, i).property), Ordering::Less);
        if !goes_on {
            let (before, run) = properties.split_at(i).0.split_at(from);
            if let Some(name) = shared(before, run) {
                return Some(name);
            }
            from = i;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MANY: usize = 300;
    const LETTERS: &str = match str::from_utf8(&[b'z'; MANY]) {
        Ok(letters) => letters,
        Err(_) => "",
    };

    /// Names in descending order: each is shorter than the one before.
    const fn descending() -> [PropertySchema; MANY] {
        let mut all = [PropertySchema::json("field", ""); MANY];
        let mut i = 0;
        while i < MANY {
            all[i] = PropertySchema::json("field", LETTERS.split_at(MANY - i).0);
            i += 1;
        }
        all
    }

    #[test]
    fn names_in_any_order_are_compared_when_they_are_compiled() {
        const NONE: Option<&str> = repeated(&descending());
        const ONE: Option<&str> = {
            let mut all = descending();
            all[MANY - 1] = all[MANY - 7];
            repeated(&all)
        };
        assert_eq!((NONE, ONE), (None, Some("zzzzzzz")));
    }

    proptest! {
        #[test]
        fn a_name_is_repeated_where_a_set_would_have_it_already(names in prop::collection::vec("[a-d]{1,2}", 0..20)) {
            let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
            let all: Vec<_> = names.iter().map(|name| PropertySchema::json("field", name)).collect();
            let is_repeated = |name: &&str| names.iter().filter(|other| other == &name).count() > 1;
            match repeated(&all) {
                Some(name) => prop_assert!(is_repeated(&name), "{name} of {names:?}"),
                None => prop_assert!(!names.iter().any(is_repeated), "{names:?}"),
            }
        }
    }
}
