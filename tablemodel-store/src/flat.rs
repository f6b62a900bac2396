//! Properties in memory: their names and short values in one list, their texts one after the other in one buffer, so
//! that making, copying and freeing a row takes a few pieces of memory and not one for each property.
//!
//! No limit is checked here.

use std::ops::Range;

use uuid::Uuid;

use crate::{DateTime, PropertyName, ValueRef};

/// Properties sorted by name, each name once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flat {
    entries: Vec<Entry>,
    texts: String,
    binaries: Vec<u8>,
    /// Bytes of texts and binaries that are no longer any property's.
    unused: usize,
}

/// Bytes of the text of a short property.
pub(crate) const BYTES_EACH: usize = 24;

/// A property.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    name: PropertyName,
    slot: Slot,
}

/// A value, or where its bytes lie.
#[derive(Debug, Clone)]
enum Slot {
    Binary(Range<usize>),
    Boolean(bool),
    DateTime(DateTime),
    Double(f64),
    Guid(Uuid),
    Int32(i32),
    Int64(i64),
    String(Range<usize>),
}

impl Slot {
    /// The bytes that it has among those of all.
    fn bytes(&self) -> usize {
        match self {
            Self::Binary(place) | Self::String(place) => place.len(),
            _ => 0,
        }
    }
}

impl Flat {
    /// No properties yet, with room for `count` short ones.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self::with_room(count, BYTES_EACH * count)
    }

    /// No properties yet, with room for `count`, and for `bytes` of texts.
    pub(crate) fn with_room(count: usize, bytes: usize) -> Self {
        Self { entries: Vec::with_capacity(count), texts: String::with_capacity(bytes), ..Self::default() }
    }

    /// Copies of properties that come in order of name, with room for `more` short ones, and for `bytes` of texts at least.
    pub(crate) fn copy_of<'a>(
        properties: impl Iterator<Item = (&'a PropertyName, ValueRef<'a>)>,
        more: usize,
        bytes: usize,
    ) -> Self {
        let count = properties.size_hint().1.unwrap_or_default() + more;
        let mut copy = Self::with_room(count, (BYTES_EACH * count).max(bytes + BYTES_EACH * more));
        properties.for_each(|(name, value)| copy.push(name.clone(), value));
        copy
    }

    /// Adds a property whose name is behind all others.
    pub(crate) fn push(&mut self, name: PropertyName, value: ValueRef<'_>) {
        let slot = self.slot(value);
        self.entries.push(Entry { name, slot });
    }

    /// A copy of the properties for which `keep` holds, with room for `more` short ones: their bytes in one go, with those of
    /// the others where these are few.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&str) -> bool, more: usize) -> Self {
        let (mut entries, mut unused) = (Vec::with_capacity(self.entries.len() + more), self.unused);
        for entry in &self.entries {
            match keep(entry.name.as_str()) {
                true => entries.push(entry.clone()),
                false => unused += entry.slot.bytes(),
            }
        }
        if self.is_too_much(unused) {
            return Self::copy_of(entries.iter().map(|entry| (&entry.name, self.value(&entry.slot))), more, 0);
        }
        let mut texts = String::with_capacity(self.texts.len() + BYTES_EACH * more);
        texts.push_str(&self.texts);
        Self { entries, texts, binaries: self.binaries.clone(), unused }
    }

    /// The value under `name`.
    pub(crate) fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        const FEW: usize = 32;
        // Most names are told apart by their lengths, and a constant of the program is mostly the very one that the property
        // was set by: few texts are compared.
        let is_it = |entry: &&Entry| std::ptr::eq(entry.name.as_str(), name) || entry.name.as_str() == name;
        let found = match self.entries.len() {
            ..=FEW => self.entries.iter().find(is_it),
            _ => self.entries.get(self.position(name).ok()?),
        };
        found.map(|entry| self.value(&entry.slot))
    }

    /// Sets `name` to `value`; cheapest where names come in order.
    pub(crate) fn set(&mut self, name: PropertyName, value: ValueRef<'_>) {
        let slot = self.slot(value);
        if self.entries.last().is_none_or(|last| is_before(last.name.as_str(), name.as_str())) {
            return self.entries.push(Entry { name, slot });
        }
        match self.position(name.as_str()) {
            Err(at) => self.entries.insert(at, Entry { name, slot }),
            Ok(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    let old = std::mem::replace(&mut entry.slot, slot);
                    self.give_up(&old);
                }
            }
        }
    }

    /// Takes `name` out.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Ok(at) = self.position(name) {
            let old = self.entries.remove(at);
            self.give_up(&old.slot);
        }
    }

    /// All properties, in order of name.
    pub(crate) fn iter(&self) -> FlatIter<'_> {
        FlatIter { of: self, rest: self.entries.iter() }
    }

    /// At least the bytes of all texts and binaries.
    pub(crate) fn texts_at_most(&self) -> usize {
        self.texts.len() + self.binaries.len()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name))
    }

    #[inline]
    fn value(&self, slot: &Slot) -> ValueRef<'_> {
        match slot {
            Slot::Binary(place) => ValueRef::Binary(self.binaries.get(place.clone()).unwrap_or_default()),
            Slot::Boolean(value) => ValueRef::Boolean(*value),
            Slot::DateTime(value) => ValueRef::DateTime(*value),
            Slot::Double(value) => ValueRef::Double(*value),
            Slot::Guid(value) => ValueRef::Guid(*value),
            Slot::Int32(value) => ValueRef::Int32(*value),
            Slot::Int64(value) => ValueRef::Int64(*value),
            Slot::String(place) => ValueRef::String(self.texts.get(place.clone()).unwrap_or_default()),
        }
    }

    fn slot(&mut self, value: ValueRef<'_>) -> Slot {
        match value {
            ValueRef::Binary(bytes) => {
                let start = self.binaries.len();
                self.binaries.extend_from_slice(bytes);
                Slot::Binary(start..self.binaries.len())
            }
            ValueRef::Boolean(value) => Slot::Boolean(value),
            ValueRef::DateTime(value) => Slot::DateTime(value),
            ValueRef::Double(value) => Slot::Double(value),
            ValueRef::Guid(value) => Slot::Guid(value),
            ValueRef::Int32(value) => Slot::Int32(value),
            ValueRef::Int64(value) => Slot::Int64(value),
            ValueRef::String(text) => {
                let start = self.texts.len();
                self.texts.push_str(text);
                Slot::String(start..self.texts.len())
            }
        }
    }

    /// Notes that a value is gone; packs the others once there are more bytes of such than of them.
    fn give_up(&mut self, slot: &Slot) {
        self.unused += slot.bytes();
        if self.is_too_much(self.unused) {
            *self = Self::copy_of(self.iter(), 0, 0);
        }
    }

    /// Whether so many bytes that are no longer any property's are more than the others.
    fn is_too_much(&self, unused: usize) -> bool {
        const FEW: usize = 256;
        unused > FEW + (self.texts.len() + self.binaries.len()) / 2
    }
}

/// Whether one name sorts before another: mostly the first bytes tell.
#[inline]
fn is_before(a: &str, b: &str) -> bool {
    match (a.as_bytes(), b.as_bytes()) {
        ([a, ..], [b, ..]) if a != b => a < b,
        _ => a < b,
    }
}

/// Properties, one by one, in order of name.
#[derive(Clone)]
pub(crate) struct FlatIter<'a> {
    of: &'a Flat,
    rest: std::slice::Iter<'a, Entry>,
}

impl<'a> Iterator for FlatIter<'a> {
    type Item = (&'a PropertyName, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.rest.next()?;
        Some((&entry.name, self.of.value(&entry.slot)))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        self.rest.fold(init, |folded, entry| f(folded, (&entry.name, self.of.value(&entry.slot))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Value;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            "[a-z\u{e9}\u{10000}]{0,9}".prop_map(Value::String),
            "[a-z]{200,300}".prop_map(Value::String),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Value::Binary),
            any::<i64>().prop_map(Value::Int64),
            any::<bool>().prop_map(Value::Boolean),
        ]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_would_and_no_more_than_twice_that(
            steps in prop::collection::vec(("[A-E]", prop::option::of(value())), 0..40),
        ) {
            let (mut flat, mut map) = (Flat::default(), BTreeMap::new());
            for (name, value) in steps {
                match value {
                    Some(value) => {
                        flat.set(PropertyName::from(name.as_str()), value.as_ref());
                        map.insert(name, value);
                    }
                    None => {
                        flat.remove(&name);
                        map.remove(&name);
                    }
                }
                let held = map.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
                prop_assert!(flat.iter().map(|(name, value)| (name.as_str(), value)).eq(held));
                prop_assert_eq!(flat.get("C"), map.get("C").map(Value::as_ref));
                let bytes = |value: &Value| match value {
                    Value::String(text) => text.len(),
                    Value::Binary(bytes) => bytes.len(),
                    _ => 0,
                };
                let used: usize = map.values().map(bytes).sum();
                prop_assert!(flat.texts.len() + flat.binaries.len() <= 2 * used + 2 * 256);

                let held = map.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
                let folded = flat.iter().fold(Vec::new(), |mut all, (name, value)| {
                    all.push((name.as_str(), value));
                    all
                });
                prop_assert!(folded.into_iter().eq(held));
            }
        }

        #[test]
        fn of_what_is_filtered_away_little_is_kept(
            steps in prop::collection::vec(("[A-H]", value()), 0..20),
            kept in "[A-H]{0,8}",
        ) {
            let (mut flat, mut map) = (Flat::default(), BTreeMap::new());
            for (name, value) in steps {
                flat.set(PropertyName::from(name.as_str()), value.as_ref());
                map.insert(name, value);
            }
            let mut filtered = flat.filtered(|name| kept.contains(name), 2);
            map.retain(|name, _| kept.contains(name.as_str()));
            let held = map.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
            prop_assert!(filtered.iter().map(|(name, value)| (name.as_str(), value)).eq(held));
            let used: usize = map.values().map(|value| Slot::bytes(&Flat::default().slot(value.as_ref()))).sum();
            prop_assert!(filtered.texts.len() + filtered.binaries.len() <= 2 * used + 2 * 256);

            filtered.set(PropertyName::from("Z"), Value::from("new").as_ref());
            map.insert("Z".to_owned(), Value::from("new"));
            let held = map.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
            prop_assert!(filtered.iter().map(|(name, value)| (name.as_str(), value)).eq(held));
        }
    }
}
