//! A property under another name, wherever a format mentions it.
//! Which property that is, the user says; nothing is guessed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{AggregateFormat, CoverFormat, Format, FunctionFormat, IndexFormat, KeyFormat, KeyPiece, WhenFormat};

/// A rename that the two formats do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongRename {
    /// The old name.
    pub from: String,
    /// The new name.
    pub to: String,
    /// Why it is none.
    pub why: &'static str,
}

impl fmt::Display for WrongRename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot have been renamed to `{}`: {}", self.from, self.to, self.why)
    }
}

impl std::error::Error for WrongRename {}

impl Format {
    /// The same, with one property under another name. Copies' stored names and reserved names stay.
    pub(super) fn renamed(mut self, from: &str, to: &str) -> Self {
        let name = Rename { from, to };
        self.properties = self.properties.into_iter().map(|(own, property)| (name.of(own), property)).collect();
        name.key(&mut self.partition);
        name.key(&mut self.row);
        self.indexes.values_mut().for_each(|index| name.index(index));
        self.copies.values_mut().for_each(|copy| name.values(&mut copy.key));
        self.aggregates.values_mut().for_each(|aggregate| name.aggregate(aggregate));
        self
    }
}

struct Rename<'a> {
    from: &'a str,
    to: &'a str,
}

impl Rename<'_> {
    fn of(&self, name: String) -> String {
        if name == self.from { self.to.to_owned() } else { name }
    }

    fn text(&self, name: &mut String) {
        *name = self.of(std::mem::take(name));
    }

    fn key(&self, key: &mut KeyFormat) {
        for piece in &mut key.0 {
            if let KeyPiece::Part { property, .. } = piece {
                self.text(property);
            }
        }
    }

    fn index(&self, index: &mut IndexFormat) {
        self.key(&mut index.row);
        if let Some(elsewhere) = &mut index.elsewhere {
            self.key(&mut elsewhere.partition);
        }
        if let Some(each) = &mut index.each {
            self.text(each);
        }
        if let CoverFormat::Keep(kept) = &mut index.cover {
            *kept = std::mem::take(kept).into_iter().map(|own| self.of(own)).collect::<BTreeSet<_>>();
        }
        self.when(index.when.as_mut());
    }

    fn when(&self, when: Option<&mut WhenFormat>) {
        if let Some(when) = when {
            self.text(&mut when.property);
        }
    }

    fn values(&self, pairs: &mut BTreeMap<String, String>) {
        pairs.values_mut().for_each(|own| self.text(own));
    }

    fn aggregate(&self, aggregate: &mut AggregateFormat) {
        if let FunctionFormat::Sum(of) | FunctionFormat::Min(of) | FunctionFormat::Max(of) = &mut aggregate.function {
            self.text(of);
        }
        self.values(&mut aggregate.key);
        self.when(aggregate.when.as_mut());
    }
}
