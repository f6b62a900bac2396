//! Properties as they lie in a row, each decoded when it is asked for.
//!
//! Nothing is changed here: whoever changes properties takes them apart first.

use std::sync::Arc;

use super::{
    dictionary::Dictionary,
    property::{StoredName, StoredProperties},
};
use crate::{PropertyName, ValueRef};

/// The properties of a row read from a file. Clones share their bytes.
#[derive(Clone)]
pub(crate) struct Packed {
    body: Arc<[u8]>,
    names: Arc<Dictionary>,
}

impl Packed {
    /// The properties of `body`, which has been found to be as it was written.
    ///
    /// `None` if the dictionary is full: then a name may stand in the body, where none can be borrowed from.
    pub(super) fn new(body: &[u8], names: &Arc<Dictionary>) -> Option<Self> {
        (!names.is_full()).then(|| Self { body: body.into(), names: Arc::clone(names) })
    }

    /// The value under `name`.
    pub(crate) fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        let is_it = |stored: &StoredName<'_>| name_of(stored, &self.names).is_some_and(|it| it.as_str() == name);
        StoredProperties::of(&self.body)?.find(is_it)
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
        let stored = self.stored.as_mut()?;
        let (name, tag) = stored.take_name()?;
        Some((name_of(&name, self.names)?, stored.take_value(tag)?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.stored.as_ref().map_or(0, StoredProperties::len);
        (left, Some(left))
    }
}

#[inline]
fn name_of<'a>(name: &StoredName<'_>, names: &'a Dictionary) -> Option<&'a PropertyName> {
    match name {
        StoredName::Id(id) => names.name(*id),
        StoredName::Text(_) => None, // not while the dictionary has room
    }
}
