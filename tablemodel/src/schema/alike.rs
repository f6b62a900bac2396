//! Whether an index of one version of an entity is found where that of another is: whether a row that the older wrote stands where
//! the newer looks for it. And whether both add the same to an aggregate.
//!
//! What a row holds is not compared: that is read by its version.

use tablemodel_store::EdmType;

use super::{AggregateSchema, EntitySchema, Function, IndexSchema, PropertySchema, When};
use crate::{
    check::same_key,
    key::{Part, Segment, Template},
};

/// An index, with the version of its entity.
#[derive(Clone, Copy)]
pub(crate) struct Versioned(pub(crate) &'static EntitySchema, pub(crate) &'static IndexSchema);

impl Versioned {
    /// Whether the older version has no such index, or has it otherwise.
    pub(crate) fn differs_in(self, older: &'static EntitySchema) -> bool {
        let its = older.index(self.1.name);
        its.is_none_or(|its| !self.is_found_as(Self(older, its)))
    }

    /// Whether an entity has the same rows in both, as far as names and templates tell.
    fn is_found_as(self, other: Self) -> bool {
        let (Self(_, own), Self(_, its)) = (self, other);
        let is_kept_alike = match (&own.elsewhere, &its.elsewhere) {
            (None, None) => true,
            (Some(a), Some(b)) => a.table == b.table && self.is_keyed_as(&a.partition, &b.partition),
            _ => false,
        };
        let are_there_alike = holds_as((self.0, own.when), (other.0, its.when));
        let are_many_alike = match (own.each, its.each) {
            (None, None) => true,
            (Some(a), Some(b)) => self.is_named_as(a.property, b.property),
            _ => false,
        };
        own.unique == its.unique
            && is_kept_alike
            && are_there_alike
            && are_many_alike
            && self.is_keyed_as(&own.row, &its.row)
    }

    fn is_keyed_as(self, own: &Template, its: &Template) -> bool {
        let is_part_as = |own: &Part, its: &Part| {
            // Where the older had no row without a value, the newer has one.
            let is_there_alike = own.optional || !its.optional;
            is_there_alike && self.is_named_as(own.property, its.property)
        };
        same_key(own, its) && parts(own).zip(parts(its)).all(|(own, its)| is_part_as(own, its))
    }

    fn is_named_as(self, own: &str, its: &str) -> bool {
        is_named_as((self.0, own), its)
    }
}

/// An aggregate, with the version of the entity that adds to it.
#[derive(Clone, Copy)]
pub(crate) struct Adding(pub(crate) &'static EntitySchema, pub(crate) &'static AggregateSchema);

impl Adding {
    /// Whether an entity adds the same to the same target in both, as far as names tell.
    pub(crate) fn adds_as(self, other: Self) -> bool {
        let (Self(schema, own), Self(older, its)) = (self, other);
        let value = |of| match of {
            Function::Count => None,
            Function::Sum(name) | Function::Min(name) | Function::Max(name) => Some(name),
        };
        let are_values_alike = match (value(own.function), value(its.function)) {
            (None, None) => true,
            (Some(a), Some(b)) => is_named_as((schema, a), b),
            _ => false,
        };
        let is_target_told_alike = |(theirs, field): &(&'static str, &'static str)| {
            its.key.iter().any(|(other, its)| other == theirs && is_named_as((schema, field), its))
        };
        own.function.is_as(its.function)
            && are_values_alike
            && own.key.iter().all(is_target_told_alike)
            && holds_as((schema, own.when), (older, its.when))
    }
}

/// What a version of an entity has.
type Of<T> = (&'static EntitySchema, T);

/// Whether both conditions ask the same.
fn holds_as((schema, own): Of<Option<When>>, (older, its): Of<Option<When>>) -> bool {
    match (own, its) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            a.negated == b.negated
                && is_named_as((schema, a.property), b.property)
                && answers_as(schema.property(a.property), older.property(b.property))
        }
        _ => false,
    }
}

/// Whether a condition on the one holds wherever it does on the other. What was absent has a value where that is not optional any more.
fn answers_as(own: Option<&PropertySchema>, its: Option<&PropertySchema>) -> bool {
    let (Some(own), Some(its)) = (own, its) else { return true };
    let is_flag = |of: &PropertySchema| of.edm == EdmType::Boolean;
    is_flag(own) == is_flag(its) && (own.nullable || !its.nullable)
}

/// Whether it is the same property: by its name, or since the user says what it was called. None is taken for another otherwise, also
/// where but one has gone and but one has come: its values may mean another thing.
fn is_named_as((schema, own): Of<&str>, its: &str) -> bool {
    own == its || schema.property(own).is_some_and(|property| property.was == Some(its))
}

fn parts(template: &Template) -> impl Iterator<Item = &Part> {
    template.0.iter().filter_map(|segment| if let Segment::Part(part) = segment { Some(part) } else { None })
}
