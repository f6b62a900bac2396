//! Properties as they lie in a row, each decoded when it is asked for.
//!
//! Nothing is changed here: whoever changes properties takes them apart first.

use std::sync::Arc;

use super::{
    dictionary::Dictionary,
    property::{StoredName, StoredProperties, StoredProperty},
};
use crate::{PropertyName, ValueRef};

/// The properties of a row read from a file. All of them can be read; clones share their bytes.
#[derive(Clone)]
pub(crate) struct Packed {
    body: Arc<[u8]>,
    names: Arc<Dictionary>,
}

impl Packed {
    /// The properties of `body`, if each has a name with a number and a value that can be read.
    pub(super) fn new(body: &[u8], names: &Arc<Dictionary>) -> Option<Self> {
        let mut properties = StoredProperties::of(body)?;
        let all_read = properties.all(|property| named(&property, names).is_some());
        (all_read && properties.is_at_end()).then(|| Self { body: body.into(), names: Arc::clone(names) })
    }

    /// The value under `name`.
    pub(crate) fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        let mut from_name_on = self.iter().skip_while(|(stored, _)| stored.as_str() < name);
        from_name_on.next().filter(|(stored, _)| stored.as_str() == name).map(|(_, value)| value)
    }

    /// All, in order of name.
    pub(crate) fn iter(&self) -> PackedIter<'_> {
        PackedIter { stored: StoredProperties::of(&self.body), names: &self.names }
    }
}

/// Packed properties, one by one.
#[derive(Clone)]
pub(crate) struct PackedIter<'a> {
    stored: Option<StoredProperties<'a>>,
    names: &'a Dictionary,
}

impl<'a> Iterator for PackedIter<'a> {
    type Item = (&'a PropertyName, ValueRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        named(&self.stored.as_mut()?.next()?, self.names)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.stored.as_ref().map_or(0, StoredProperties::len);
        (left, Some(left))
    }
}

fn named<'a>(property: &StoredProperty<'a>, names: &'a Dictionary) -> Option<(&'a PropertyName, ValueRef<'a>)> {
    let StoredName::Id(id) = property.name else { return None };
    Some((names.name(id)?, property.value()?))
}
