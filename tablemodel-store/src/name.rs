//! Property names, cheap to clone: a constant of the program, or shared text.

use std::{borrow::Borrow, fmt, sync::Arc};

/// The name of a property. Comparing, ordering and hashing are by its text (bytes of UTF-8).
#[derive(Clone)]
pub struct PropertyName(Text);

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl PropertyName {
    /// A name known when the program was compiled; no allocation.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Text::Static(name))
    }

    /// The constant of the program that it is, if it is one.
    #[cfg(feature = "embedded")]
    pub(crate) const fn constant(&self) -> Option<&'static str> {
        match self.0 {
            Text::Static(name) => Some(name),
            Text::Shared(_) => None,
        }
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(name) => name,
            Text::Shared(name) => name,
        }
    }
}

impl From<&str> for PropertyName {
    fn from(name: &str) -> Self {
        Self(Text::Shared(name.into()))
    }
}

impl From<String> for PropertyName {
    fn from(name: String) -> Self {
        Self(Text::Shared(name.into()))
    }
}

impl From<Arc<str>> for PropertyName {
    fn from(name: Arc<str>) -> Self {
        Self(Text::Shared(name))
    }
}

impl PartialEq for PropertyName {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for PropertyName {}

impl PartialOrd for PropertyName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PropertyName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl std::hash::Hash for PropertyName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for PropertyName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What was found out about texts, remembered by their place in memory: the names of a program's rows are mostly its
/// constants, and the same few come again and again.
pub(crate) struct ByPlace<'t, T>([Option<(&'t str, T)>; REMEMBERED]);

/// Texts that are remembered at a time.
const REMEMBERED: usize = 64;

impl<T> Default for ByPlace<'_, T> {
    fn default() -> Self {
        Self([const { None }; REMEMBERED])
    }
}

impl<'t, T: Copy> ByPlace<'t, T> {
    /// What is remembered of this very text, or what `find` gives, which is remembered then.
    pub(crate) fn get_or_find<E>(&mut self, text: &'t str, find: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let address = text.as_ptr().addr();
        let slot = self.0.get_mut((address ^ address >> 6) % REMEMBERED);
        if let Some(Some((known, found))) = &slot
            && std::ptr::eq(*known, text)
        {
            return Ok(*found);
        }
        let found = find()?;
        if let Some(slot) = slot {
            *slot = Some((text, found));
        }
        Ok(found)
    }
}
