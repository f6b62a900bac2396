//! Names of properties that are read together.
//!
//! Nothing is read here.

#[cfg(feature = "embedded")]
use crate::embedded::NumbersOf;

/// Names of properties to be read from many rows by [`Shown::read`](crate::Shown::read): in their order, each once.
///
/// Make it once for each kind of row: a store may keep in it how it knows the names.
///
/// ```
/// let names = tablemodel_store::Names::new(["Name", "Age", "Name"]);
/// assert_eq!(names.as_slice(), ["Age", "Name"]);
/// assert_eq!((names.position("Name"), names.position("Id")), (Some(1), None));
/// ```
#[derive(Debug)]
pub struct Names {
    names: Box<[&'static str]>,
    #[cfg(feature = "embedded")]
    pub(crate) numbers: NumbersOf,
}

impl Names {
    /// These names.
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self {
            #[cfg(feature = "embedded")]
            numbers: NumbersOf::new(names.len()),
            names: names.into_boxed_slice(),
        }
    }

    /// The names, in order of their bytes.
    #[inline]
    pub fn as_slice(&self) -> &[&'static str] {
        &self.names
    }

    /// Where the name is among them.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.binary_search(&name).ok()
    }
}
