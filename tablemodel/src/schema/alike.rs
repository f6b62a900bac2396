//! Whether an index of one version of an entity is found where that of another is: whether a row that the older wrote stands where
//! the newer looks for it.
//!
//! What a row holds is not compared: that is read by its version.

use super::{EntitySchema, IndexSchema};
use crate::{
    check::same_key,
    key::{Part, Segment, Template},
};

/// An index, with the version of its entity.
#[derive(Clone, Copy)]
pub(crate) struct Versioned(pub(crate) &'static EntitySchema, pub(crate) &'static IndexSchema);

impl Versioned {
    /// Whether an entity has the same rows in both, as far as names and templates tell.
    pub(crate) fn is_found_as(self, other: Self) -> bool {
        let (Self(_, own), Self(_, its)) = (self, other);
        let is_kept_alike = match (&own.elsewhere, &its.elsewhere) {
            (None, None) => true,
            (Some(a), Some(b)) => a.table == b.table && self.is_keyed_as(&a.partition, other, &b.partition),
            _ => false,
        };
        let are_there_alike = match (own.when, its.when) {
            (None, None) => true,
            (Some(a), Some(b)) => a.negated == b.negated && self.is_named_as(a.property, other, b.property),
            _ => false,
        };
        let are_many_alike = match (own.each, its.each) {
            (None, None) => true,
            (Some(a), Some(b)) => self.is_named_as(a.property, other, b.property),
            _ => false,
        };
        own.unique == its.unique
            && is_kept_alike
            && are_there_alike
            && are_many_alike
            && self.is_keyed_as(&own.row, other, &its.row)
    }

    fn is_keyed_as(self, own: &Template, other: Self, its: &Template) -> bool {
        let is_part_as = |own: &Part, its: &Part| {
            // Where the older had no row without a value, the newer has one.
            let is_there_alike = own.optional || !its.optional;
            is_there_alike && self.is_named_as(own.property, other, its.property)
        };
        same_key(own, its) && parts(own).zip(parts(its)).all(|(own, its)| is_part_as(own, its))
    }

    /// Whether it is the same property. One that is new where another is gone is taken for that one renamed.
    fn is_named_as(self, own: &str, other: Self, its: &str) -> bool {
        own == its || (self.0.property(its).is_none() && other.0.property(own).is_none())
    }
}

fn parts(template: &Template) -> impl Iterator<Item = &Part> {
    template.0.iter().filter_map(|segment| if let Segment::Part(part) = segment { Some(part) } else { None })
}
