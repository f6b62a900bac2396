//! The properties of one row: a small map from name to value, kept sorted by name.
//!
//! No limit is checked here (that is `validate`).

use crate::{PropertyName, Value, ValueRef};

/// The properties of a row, without its keys, ETag and timestamp. Sorted by name, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties(Vec<(PropertyName, Value)>);

impl Properties {
    /// No properties.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// No properties yet, with room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// These pairs, which must be sorted by name, each name once.
    #[cfg(feature = "embedded")]
    pub(crate) const fn from_sorted(pairs: Vec<(PropertyName, Value)>) -> Self {
        Self(pairs)
    }

    /// The number of properties.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        let at = self.position(name).ok()?;
        self.0.get(at).map(|(_, value)| value.as_ref())
    }

    /// Sets `name` to `value`; gives what was there before.
    pub fn insert(&mut self, name: impl Into<PropertyName>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            self.0.push((name, value));
            return None;
        }
        match self.position(name.as_str()) {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.position(name).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Sets every property of `other` here, as an Azure Merge does: what `other` lacks stays.
    pub fn merge(&mut self, other: &Properties) {
        for (name, value) in &other.0 {
            self.insert(name.clone(), value.clone());
        }
    }

    /// Keeps only the properties for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name.as_str()));
    }

    /// All properties, in order of name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&PropertyName, ValueRef<'_>)> {
        self.0.iter().map(|(name, value)| (name, value.as_ref()))
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name))
    }
}

impl IntoIterator for Properties {
    type Item = (PropertyName, Value);
    type IntoIter = std::vec::IntoIter<(PropertyName, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: Into<PropertyName>, V: Into<Value>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut properties = Self::new();
        for (name, value) in pairs {
            properties.insert(name, value);
        }
        properties
    }
}
