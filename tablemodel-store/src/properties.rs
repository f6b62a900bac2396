//! The properties of one row: a small map from name to value, kept sorted by name.
//!
//! No limit is checked here (that is `validate`).

use std::{fmt, sync::Arc};

#[cfg(feature = "embedded")]
use crate::embedded::{Packed, PackedIter};
use crate::{
    PropertyName, Value, ValueRef,
    flat::{Flat, FlatIter},
};

/// The properties of a row, without its keys, ETag and timestamp. Sorted by name, each name once.
///
/// Clones are cheap: they share the values until one of them is changed. Values are copied in and out. Those of a row
/// read from an embedded store are checked when they are read, and share one text until then.
#[derive(Clone, Default)]
pub struct Properties(Repr);

/// Properties that nobody shares yet: to be put together one by one.
///
/// ```
/// # use tablemodel_store::{PropertiesBuilder, PropertyName, ValueRef};
/// let mut builder = PropertiesBuilder::with_capacity(2);
/// builder.set(PropertyName::from_static("City"), ValueRef::String("Seattle"));
/// builder.set(PropertyName::from_static("Age"), ValueRef::Int32(35));
/// let properties = builder.build();
/// assert_eq!(properties.get("Age"), Some(ValueRef::Int32(35)));
/// ```
#[derive(Debug, Default)]
pub struct PropertiesBuilder(Flat);

impl PropertiesBuilder {
    /// No properties yet, with room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self(Flat::with_capacity(count))
    }

    /// Sets `name` to `value`, whatever it was. Fastest in order of the names.
    #[inline]
    pub fn set(&mut self, name: impl Into<PropertyName>, value: ValueRef<'_>) {
        self.0.set(name.into(), value);
    }

    /// The properties.
    pub fn build(self) -> Properties {
        Properties::flat(self.0)
    }
}

/// A property that is set, or, by `None`, taken away.
pub type Changed<'c> = (&'c PropertyName, Option<ValueRef<'c>>);

#[derive(Clone, Default)]
enum Repr {
    #[default]
    Empty,
    Flat(Arc<Flat>),
    #[cfg(feature = "embedded")]
    Packed(Packed),
}

impl Properties {
    /// No properties.
    pub const fn new() -> Self {
        Self(Repr::Empty)
    }

    /// No properties yet, with room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self(Repr::Flat(Arc::new(Flat::with_capacity(count))))
    }

    /// Those of a row of an embedded store.
    #[cfg(feature = "embedded")]
    pub(crate) const fn packed(packed: Packed) -> Self {
        Self(Repr::Packed(packed))
    }

    /// Those that were put together.
    pub(crate) fn flat(flat: Flat) -> Self {
        Self(Repr::Flat(Arc::new(flat)))
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
            Repr::Flat(flat) => flat.get(name),
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => packed.get(name),
        }
    }

    /// As [`Properties::get`], for a constant of the program: a stored row knows again by which it was asked before.
    #[inline]
    pub fn get_constant(&self, name: &'static str) -> Option<ValueRef<'_>> {
        self.get_from(&mut 0, name)
    }

    /// As [`Properties::get_constant`], for many names in their order: looks at `place` first, and leaves it behind what
    /// it found.
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
    #[cfg_attr(
        not(feature = "embedded"),
        expect(unused_variables, reason = "only stored rows are looked through by place")
    )]
    pub fn get_from(&self, place: &mut usize, name: &'static str) -> Option<ValueRef<'_>> {
        match &self.0 {
            Repr::Empty => None,
            Repr::Flat(flat) => flat.get(name),
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => packed.get_from(place, name),
        }
    }

    /// Sets `name` to `value`; gives what was there before.
    pub fn insert(&mut self, name: impl Into<PropertyName>, value: impl Into<Value>) -> Option<Value> {
        let name = name.into();
        let old = self.get(name.as_str()).map(ValueRef::to_value);
        self.set(name, value.into().as_ref());
        old
    }

    /// Sets `name` to a copy of `value`.
    pub fn set(&mut self, name: impl Into<PropertyName>, value: ValueRef<'_>) {
        let name = name.into();
        self.change(|flat| flat.set(name, value));
    }

    /// Takes `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let old = self.get(name)?.to_value();
        self.change(|flat| flat.remove(name));
        Some(old)
    }

    /// Sets every property of `other` here, as an Azure Merge does: what `other` lacks stays.
    pub fn merge(&mut self, other: &Properties) {
        self.change(|flat| other.iter().for_each(|(name, value)| flat.set(name.clone(), value)));
    }

    /// Keeps only the properties for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&str) -> bool) {
        *self = self.filtered(keep);
    }

    /// Copies of the properties for which `keep` holds, with room for a few more.
    pub fn filtered(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        const A_FEW: usize = 4;
        let flat = match &self.0 {
            Repr::Flat(flat) => flat.filtered(keep, A_FEW),
            _ => Flat::copy_of(self.iter().filter(|(name, _)| keep(name.as_str())), A_FEW, 0),
        };
        Self(Repr::Flat(Arc::new(flat)))
    }

    /// A copy after this change.
    pub(crate) fn changed(&self, change: &[Changed<'_>]) -> Self {
        let is_gone = |name: &str| change.iter().any(|(gone, to)| to.is_none() && gone.as_str() == name);
        let mut changed = self.filtered(|name| !is_gone(name));
        for (name, to) in change {
            if let Some(value) = to {
                changed.set((*name).clone(), *value);
            }
        }
        changed
    }

    /// All properties, in order of name.
    #[inline]
    pub fn iter(&self) -> PropertiesIter<'_> {
        PropertiesIter(match &self.0 {
            Repr::Empty => IterRepr::Empty,
            Repr::Flat(flat) => IterRepr::Flat(flat.iter()),
            #[cfg(feature = "embedded")]
            Repr::Packed(packed) => IterRepr::Packed(packed.iter()),
        })
    }

    /// At least the bytes of all texts and binaries, where that is known.
    pub(crate) fn texts_at_most(&self) -> Option<usize> {
        match &self.0 {
            Repr::Empty => Some(0),
            Repr::Flat(flat) => Some(flat.texts_at_most()),
            #[cfg(feature = "embedded")]
            Repr::Packed(_) => None,
        }
    }

    /// Changes the properties, which no clone shares then.
    fn change(&mut self, work: impl FnOnce(&mut Flat)) {
        if let Repr::Flat(flat) = &mut self.0 {
            return work(Arc::make_mut(flat));
        }
        let mut flat = Flat::copy_of(self.iter(), 1, 0);
        work(&mut flat);
        self.0 = Repr::Flat(Arc::new(flat));
    }
}

/// Sets each property, whatever it was: cheaper than one by one.
impl<'v, N: Into<PropertyName>> Extend<(N, ValueRef<'v>)> for Properties {
    fn extend<I: IntoIterator<Item = (N, ValueRef<'v>)>>(&mut self, properties: I) {
        self.change(|flat| properties.into_iter().for_each(|(name, value)| flat.set(name.into(), value)));
    }
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
    Empty,
    Flat(FlatIter<'a>),
    #[cfg(feature = "embedded")]
    Packed(PackedIter<'a>),
}

impl<'a> Iterator for PropertiesIter<'a> {
    type Item = (&'a PropertyName, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterRepr::Empty => None,
            IterRepr::Flat(flat) => flat.next(),
            #[cfg(feature = "embedded")]
            IterRepr::Packed(packed) => packed.next(),
        }
    }

    /// Asks once where the properties are, and not for each.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, f: F) -> B {
        match self.0 {
            IterRepr::Empty => init,
            IterRepr::Flat(flat) => flat.fold(init, f),
            #[cfg(feature = "embedded")]
            IterRepr::Packed(packed) => packed.fold(init, f),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IterRepr::Empty => (0, Some(0)),
            IterRepr::Flat(flat) => flat.size_hint(),
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
        let pairs: Vec<_> = self.iter().map(|(name, value)| (name.clone(), value.to_value())).collect();
        pairs.into_iter()
    }
}

impl<N: Into<PropertyName>, V: Into<Value>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let mut flat = Flat::with_capacity(pairs.size_hint().0);
        pairs.for_each(|(name, value)| flat.set(name.into(), value.into().as_ref()));
        Self(Repr::Flat(Arc::new(flat)))
    }
}
