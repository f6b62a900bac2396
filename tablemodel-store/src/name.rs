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
