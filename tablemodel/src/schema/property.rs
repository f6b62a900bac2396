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

/// Properties of a field beside which those of another are looked at one by one.
const FEW: usize = 8;

/// A name that two properties have, and the fields that those are of. Fields of one property are compared with each other; in an array,
/// whose names ascend, each is looked for by halves: an entity may have hundreds of both, and rustc is slow at it.
pub(super) const fn clash(fields: &'static [FieldSchema]) -> Option<(&'static str, usize, usize)> {
    let mut i = 0;
    while i < fields.len() {
        let own = at(fields, i).properties();
        if let Some(name) = repeated(own) {
            return Some((name, i, i));
        }
        let ascends = own.len() > FEW && split_run(own).0.is_empty();
        let mut j = 0;
        while j < fields.len() {
            let other = at(fields, j).properties();
            let is_asked =
                if own.len() > FEW { j != i && (other.len() <= FEW || j > i) } else { j > i && other.len() <= FEW };
            let name = match (is_asked, ascends && other.len() <= FEW) {
                (false, _) => None,
                (true, true) => found(other, own),
                (true, false) => shared(own, other),
            };
            if let Some(name) = name {
                return Some(if i < j { (name, i, j) } else { (name, j, i) });
            }
            j += 1;
        }
        i += 1;
    }
    None
}

/// One of these names that is in `all`, which ascend.
const fn found(names: &[PropertySchema], all: &[PropertySchema]) -> Option<&'static str> {
    let mut i = 0;
    while i < names.len() {
        let (name, mut low, mut high) = (at(names, i).property, 0, all.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match compare(at(all, middle).property, name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(name),
            }
        }
        i += 1;
    }
    None
}

/// A name that two of the properties have: each run of names that ascend is compared with all before it. (A loop: const evaluation
/// goes some hundred calls deep.)
const fn repeated(properties: &[PropertySchema]) -> Option<&'static str> {
    let (mut rest, mut run) = split_run(properties);
    while !run.is_empty() {
        let before = properties.split_at(properties.len() - rest.len() - run.len()).0;
        if let Some(name) = shared(before, run) {
            return Some(name);
        }
        (rest, run) = split_run(rest);
    }
    None
}

/// A name that a property of `a` and one of `b` have. Names that ascend, as those of an array, are walked along once.
const fn shared(a: &[PropertySchema], b: &[PropertySchema]) -> Option<&'static str> {
    if let ([a], [b]) = (a, b) {
        return if same(a.property, b.property) { Some(a.property) } else { None };
    }
    let (mut rest, mut own) = split_run(a);
    while !own.is_empty() {
        let (mut others, mut other) = split_run(b);
        while !other.is_empty() {
            if let Some(name) = met(own, other) {
                return Some(name);
            }
            (others, other) = split_run(others);
        }
        (rest, own) = split_run(rest);
    }
    None
}

/// What is behind the first run of names that ascend, and that run.
const fn split_run(properties: &[PropertySchema]) -> (&[PropertySchema], &[PropertySchema]) {
    let mut i = 1;
    while i < properties.len() && ascend(properties, i) {
        i += 1;
    }
    let end = if properties.is_empty() { 0 } else { i };
    let (run, rest) = properties.split_at(end);
    (rest, run)
}

/// Whether a name is behind the one before it.
const fn ascend(properties: &[PropertySchema], i: usize) -> bool {
    matches!(compare(at(properties, i - 1).property, at(properties, i).property), Ordering::Less)
}

/// A name that is in both of these, each of which ascends.
const fn met(a: &[PropertySchema], b: &[PropertySchema]) -> Option<&'static str> {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match compare(at(a, i).property, at(b, j).property) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => return Some(at(a, i).property),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MANY: usize = 150;
    const DIGITS: [u8; 3 * MANY] = {
        let mut digits = [0; 3 * MANY];
        let mut i = 0;
        while i < MANY {
            let number = MANY - i;
            digits[3 * i] = b'0' + (number / 100) as u8;
            digits[3 * i + 1] = b'0' + (number / 10 % 10) as u8;
            digits[3 * i + 2] = b'0' + (number % 10) as u8;
            i += 1;
        }
        digits
    };

    /// Names in descending order.
    const fn descending() -> [PropertySchema; MANY] {
        let mut all = [PropertySchema::json("field", ""); MANY];
        let mut i = 0;
        while i < MANY {
            if let Ok(name) = str::from_utf8(DIGITS.split_at(3 * i).1.split_at(3).0) {
                all[i] = PropertySchema::json("field", name);
            }
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
        assert_eq!((NONE, ONE), (None, Some("007")));
    }

    proptest! {
        #[test]
        fn a_name_is_shared_where_both_have_it(
            a in prop::collection::vec("[a-d]{1,2}", 0..12),
            b in prop::collection::vec("[a-d]{1,2}", 0..12),
        ) {
            let schemas = |names: &[String]| -> Vec<_> {
                names.iter().map(|name| PropertySchema::json("field", name.clone().leak())).collect()
            };
            match shared(&schemas(&a), &schemas(&b)) {
                Some(name) => prop_assert!(a.contains(&name.to_owned()) && b.contains(&name.to_owned())),
                None => prop_assert!(!a.iter().any(|name| b.contains(name)), "{a:?} {b:?}"),
            }
        }

        #[test]
        fn a_name_of_two_fields_clashes_however_many_names_each_has(
            fields in prop::collection::vec(prop::collection::vec("[a-d]{1,3}", 1..3 * FEW), 1..6),
            ascend in prop::collection::vec(any::<bool>(), 6),
        ) {
            let mut fields = fields;
            for names in fields.iter_mut().zip(ascend).filter_map(|(names, ascends)| ascends.then_some(names)) {
                names.sort();
                names.dedup();
            }
            let group = |names: &Vec<String>| {
                let schemas = names.iter().map(|name| PropertySchema::json("field", name.clone().leak()));
                FieldSchema::Group { field: "field", properties: schemas.collect::<Vec<_>>().leak() }
            };
            let names: Vec<_> = fields.iter().flatten().collect();
            match clash(fields.iter().map(group).collect::<Vec<_>>().leak()) {
                Some((name, i, j)) => {
                    let times = |field: usize| fields[field].iter().filter(|other| *other == name).count();
                    let is_one = if i == j { times(i) > 1 } else { i < j && times(i) > 0 && times(j) > 0 };
                    prop_assert!(is_one);
                }
                None => prop_assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len()),
            }
        }

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
