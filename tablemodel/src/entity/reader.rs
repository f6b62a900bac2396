//! The properties of a row on their way into the user's struct: what generated code reads fields from.
//!
//! No upgrade is made here and no default is known: what is not there, or not of the field's type, is an error.

use std::cell::Cell;

use serde::de::DeserializeOwned;
use tablemodel_store::{Properties, PropertyName, ValueRef};

use super::{CopyOf, FieldError};
use crate::{
    key::{KeyValues, NO_VALUES},
    property::{ValueError, json},
    read::columns::InRow,
    schema::COPIED_SEQUENCE,
};

/// How a type is read: its `from_value`. By a pointer: of a function that is generic itself, rustc would tell twice of a type that cannot
/// be read.
type ReadValue<T> = fn(Option<ValueRef<'_>>) -> std::result::Result<T, ValueError>;

/// Gives the fields of an entity back; one line per field in generated code.
///
/// Fastest when fields are asked for in order of their stored names, as the derive does.
#[derive(Debug)]
pub struct FieldReader<'a> {
    source: Source<'a>,
    /// The further rows of an entity that is more than one.
    others: Vec<FieldReader<'a>>,
}

/// Where fields are read from.
#[derive(Debug)]
enum Source<'a> {
    /// Properties, and how far they were passed; before them what the keys hold.
    Properties(&'a Properties, Cell<usize>, &'a KeyValues<'a>),
    Shown(&'a InRow<'a>),
}

impl<'a> FieldReader<'a> {
    /// Reads from stored properties, and from the values that the keys hold.
    pub(crate) fn new(properties: &'a Properties, keys: &'a KeyValues<'a>) -> Self {
        Self { source: Source::Properties(properties, Cell::new(0), keys), others: Vec::new() }
    }

    /// Reads from a row that a store shows, which was read with the values that its keys hold.
    #[inline]
    pub(crate) fn of_shown(row: &'a InRow<'a>) -> Self {
        Self { source: Source::Shown(row), others: Vec::new() }
    }

    /// Reads from further rows of the entity too.
    pub(crate) fn with(mut self, others: &mut dyn Iterator<Item = &'a Properties>) -> Self {
        self.others = others.map(|properties| Self::new(properties, &NO_VALUES)).collect();
        self
    }

    fn value(&self, property: &'static str) -> Option<ValueRef<'a>> {
        match &self.source {
            Source::Shown(row) => row.field(property),
            Source::Properties(..) => self.in_properties(property),
        }
    }

    /// Apart from a row that is shown, which then takes few registers.
    #[inline(never)]
    fn in_properties(&self, property: &'static str) -> Option<ValueRef<'a>> {
        let Source::Properties(properties, place, keys) = &self.source else { return None };
        if let Some(value) = keys.get(property) {
            return Some(value);
        }
        let mut at = place.get();
        let value = properties.get_from(&mut at, property);
        place.set(at);
        if value.is_some() || self.others.is_empty() {
            return value;
        }
        self.others.iter().find_map(|other| other.value(property))
    }

    /// The value of a property under any name.
    fn find(&self, name: &str) -> Option<ValueRef<'a>> {
        match &self.source {
            Source::Properties(properties, ..) => properties.get(name),
            Source::Shown(row) => row.find(name),
        }
    }

    /// A field that is one property, by its type's `from_value`.
    pub fn take<T>(&self, property: &'static str, read: ReadValue<T>) -> std::result::Result<T, FieldError> {
        read(self.value(property)).map_err(|error| FieldError { property, error })
    }

    /// A field that is one property, with a default where it is absent.
    pub fn take_or<T>(
        &self,
        property: &'static str,
        read: ReadValue<T>,
        default: impl FnOnce() -> T,
    ) -> std::result::Result<T, FieldError> {
        match self.value(property) {
            None => Ok(default()),
            value => read(value).map_err(|error| FieldError { property, error }),
        }
    }

    /// A field marked `json`.
    pub fn take_json<T: DeserializeOwned>(&self, property: &'static str) -> std::result::Result<T, FieldError> {
        json::from_value(self.value(property)).map_err(|error| FieldError { property, error })
    }

    /// A field that is a copy: of what is stored under its name, `_`, and a name of the source.
    pub fn take_copy<E, T: CopyOf<E>>(&self, property: &'static str) -> std::result::Result<T, FieldError> {
        T::read_copy(self.copied(property, T::PROPERTIES).as_ref()).map_err(|error| FieldError { property, error })
    }

    /// What is stored of a copy, under the source's names; none where nothing was copied.
    fn copied(&self, property: &'static str, names: &'static [&'static str]) -> Option<Properties> {
        let of = |name: &str| format!("{property}_{name}");
        let is_there = matches!(self.find(&of(COPIED_SEQUENCE)), Some(ValueRef::Int64(1..)));
        let named = |name: &&'static str| Some((PropertyName::from_static(name), self.find(&of(name))?.to_value()));
        is_there.then(|| names.iter().filter_map(named).collect())
    }

    /// A field marked `json`, with a default where it is absent.
    pub fn take_json_or<T: DeserializeOwned>(
        &self,
        property: &'static str,
        default: impl FnOnce() -> T,
    ) -> std::result::Result<T, FieldError> {
        match self.value(property) {
            None => Ok(default()),
            Some(ValueRef::String(json::ABSENT)) => Ok(default()), // as another program may write it
            value => json::from_value(value).map_err(|error| FieldError { property, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Property;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = ["A", "B", "Ba", "C", "_seq"];

    proptest! {
        #[test]
        fn fields_are_found_whatever_order_they_are_asked_for_in(
            stored in prop::collection::btree_map(0..NAMES.len(), any::<i32>(), 0..5),
            asked in prop::collection::vec(0..NAMES.len(), 0..12),
        ) {
            let properties: Properties = stored.iter().map(|(name, value)| (NAMES[*name], *value)).collect();
            let reader = FieldReader::new(&properties, &NO_VALUES);
            for name in asked {
                let found = reader.take_or(NAMES[name], i32::from_value, || -1);
                prop_assert_eq!(found.unwrap(), stored.get(&name).copied().unwrap_or(-1));
            }
        }
    }
}
