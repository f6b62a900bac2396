//! The properties of one row: a small map from name to value, kept sorted by name.
//!
//! No limit is checked here (that is `validate`).

use std::{fmt, sync::Arc};

#[cfg(feature = "embedded")]
use crate::embedded::{Packed, PackedIter};
use crate::{PropertyName, Value, ValueRef};

/// The properties of a row, without its keys, ETag and timestamp. Sorted by name, each name once.
///
/// Clones are cheap: they share the values until one of them is changed. Those of a row read from an embedded store
/// are checked when they are read, and share one text until then.
#[derive(Clone, Default)]
pub struct Properties(Repr);

#[derive(Clone, Default)]
enum Repr {
    #[default]
    Empty,
    Pairs(Arc<Vec<Pair>>),
    #[cfg(feature = "embedded")]
    Packed(Packed),
}

type Pair = (PropertyName, Value);

impl Properties {
    /// No properties.
    pub const fn new() -> Self {
        Self(Repr::Empty)
    }

    /// No properties yet, with room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self(Repr::Pairs(Arc::new(Vec::with_capacity(count))))
    }

    /// These pairs, which must be sorted by name, each name once.
    #[cfg(feature = "embedded")]
    pub(crate) fn from_sorted(pairs: Vec<Pair>) -> Self {
        Self(Repr::Pairs(Arc::new(pairs)))
    }

    /// Those of a row of an embedded store.
    #[cfg(feature = "embedded")]
    pub(crate) const fn packed(packed: Packed) -> Self {
        Self(Repr::Packed(packed))
    }

    /// The number of properties.
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under `name`.
    #[inline]
    pub fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Pairs(pairs) => pairs.get(position(pairs, name).ok()?).map(|(_, value)| value.as_ref()),
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => packed.get(name),
        }
    }

    /// As [`Properties::get`], for many names in their order: looks at `place` first, and leaves it behind what it found.
    ///
    /// Begin at 0. Names in another order are found too, only later.
    ///
    /// ```
    /// # use tablemodel_store::{Properties, ValueRef};
    /// let properties = Properties::from_iter([("Age", 35), ("Id", 7), ("Level", 2)]);
    /// let mut place = 0;
    /// assert_eq!(properties.get_from(&mut place, "Age"), Some(ValueRef::Int32(35)));
    /// assert_eq!(properties.get_from(&mut place, "City"), None);
    /// assert_eq!(properties.get_from(&mut place, "Level"), Some(ValueRef::Int32(2)));
    /// assert_eq!(properties.get_from(&mut place, "Id"), Some(ValueRef::Int32(7)));
    /// ```
    #[inline]
    pub fn get_from(&self, place: &mut usize, name: &str) -> Option<ValueRef<'_>> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Pairs(pairs) => {
                let at = find_from(|at| pairs.get(at).map(|(name, _)| name.as_str()), place, name)?;
                pairs.get(at).map(|(_, value)| value.as_ref())
            }
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => packed.value(find_from(|at| packed.name(at), place, name)?),
        }
    }

    /// Sets `name` to `value`; gives what was there before.
    pub fn insert(&mut self, name: impl Into<PropertyName>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        self.change(|pairs| put(pairs, name, value))
    }

    /// Takes `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.change(|pairs| position(pairs, name).ok().map(|at| pairs.remove(at).1))
    }

    /// Sets every property of `other` here, as an Azure Merge does: what `other` lacks stays.
    pub fn merge(&mut self, other: &Properties) {
        for (name, value) in other.iter() {
            self.insert(name.clone(), value.to_value());
        }
    }

    /// Keeps only the properties for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let unshared = if let Repr::Pairs(pairs) = &mut self.0 { Arc::get_mut(pairs) } else { None };
        match unshared {
            Some(pairs) => pairs.retain(|(name, _)| keep(name.as_str())),
            None => self.0 = Repr::Pairs(Arc::new(self.copies(keep))),
        }
    }

    /// All properties, in order of name.
    #[inline]
    pub fn iter(&self) -> PropertiesIter<'_> {
        PropertiesIter(match &self.0 {
            Repr::Empty => IterRepr::Pairs([].iter()),
            Repr::Pairs(pairs) => IterRepr::Pairs(pairs.iter()),
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => IterRepr::Packed(packed.iter()),
        })
    }

    /// Copies of those for which `keep` holds, and of no other.
    fn copies(&self, mut keep: impl FnMut(&str) -> bool) -> Vec<Pair> {
        let kept = self.iter().filter(|(name, _)| keep(name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.to_value())).collect()
    }

    /// Changes the pairs, which no clone shares then.
    fn change<T>(&mut self, work: impl FnOnce(&mut Vec<Pair>) -> T) -> T {
        let mut pairs = match std::mem::take(&mut self.0) {
            Repr::Pairs(pairs) => pairs,
            other => Arc::new(Self(other).copies(|_| true)),
        };
        let result = work(Arc::make_mut(&mut pairs));
        self.0 = Repr::Pairs(pairs);
        result
    }
}

/// Sets `name` to `value`; cheapest where names come in order.
fn put(pairs: &mut Vec<Pair>, name: PropertyName, value: Value) -> Option<Value> {
    if pairs.last().is_none_or(|(last, _)| *last < name) {
        pairs.push((name, value));
        return None;
    }
    match position(pairs, name.as_str()) {
        Ok(at) => pairs.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
        Err(at) => {
            pairs.insert(at, (name, value));
            None
        }
    }
}

/// The position of `name` among sorted names, looked for from `place` on, and before it only where it may be there.
#[inline]
fn find_from<'a>(name_at: impl Fn(usize) -> Option<&'a str>, place: &mut usize, name: &str) -> Option<usize> {
    let mut at = *place;
    while let Some(here) = name_at(at) {
        // The usual case, and cheaper than to compare by order.
        if here == name {
            *place = at + 1;
            return Some(at);
        }
        if here > name {
            break;
        }
        at += 1;
    }
    // It is not here, nor further on: it may have been passed.
    let passed = || at.checked_sub(1).and_then(&name_at).is_some_and(|passed| passed >= name);
    let found = if passed() { (0..at).find(|at| name_at(*at) == Some(name)) } else { None };
    *place = found.map_or(at, |found| found + 1);
    found
}

fn position(pairs: &[Pair], name: &str) -> Result<usize, usize> {
    pairs.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name))
}

impl PartialEq for Properties {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Properties {}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Properties of a row, one by one, in order of name. Made by [`Properties::iter`].
#[derive(Clone)]
pub struct PropertiesIter<'a>(IterRepr<'a>);

#[derive(Clone)]
enum IterRepr<'a> {
    Pairs(std::slice::Iter<'a, Pair>),
    #[cfg(feature = "embedded")]
    Packed(PackedIter<'a>),
}

impl<'a> Iterator for PropertiesIter<'a> {
    type Item = (&'a PropertyName, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Pairs(pairs) => pairs.next().map(|(name, value)| (name, value.as_ref())),
            #[cfg(feature = "embedded")]
            IterRepr::Packed(packed) => packed.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IterRepr::Pairs(pairs) => pairs.size_hint(),
            #[cfg(feature = "embedded")]
            IterRepr::Packed(packed) => packed.size_hint(),
        }
    }
}

impl ExactSizeIterator for PropertiesIter<'_> {}

impl fmt::Debug for PropertiesIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

impl<'a> IntoIterator for &'a Properties {
    type Item = (&'a PropertyName, ValueRef<'a>);
    type IntoIter = PropertiesIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Properties {
    type Item = (PropertyName, Value);
    type IntoIter = std::vec::IntoIter<(PropertyName, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        let pairs = match self.0 {
            Repr::Pairs(pairs) => Arc::unwrap_or_clone(pairs),
            other => Self(other).copies(|_| true),
        };
        pairs.into_iter()
    }
}

impl<N: Into<PropertyName>, V: Into<Value>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let mut sorted = Vec::with_capacity(pairs.size_hint().0);
        for (name, value) in pairs {
            put(&mut sorted, name.into(), value.into());
        }
        Self(Repr::Pairs(Arc::new(sorted)))
    }
}
