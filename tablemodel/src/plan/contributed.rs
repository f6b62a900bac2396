//! The aggregates that an entity adds to, as kinds of derived rows: their names, and where they stand.
//!
//! Which rows there are is the room's to say.

use crate::{
    key::{Codec, Segment},
    schema::{AggregateSchema, Derived, EntitySchema, Function, same, same_bytes},
};

impl EntitySchema {
    /// The contributions to the aggregate at this position of its own: `Employee.~Team.Members@2`.
    pub(crate) fn contributed(&self, position: usize) -> Option<Derived> {
        let before = self.indexes.len() + self.copies.len();
        let aggregate = self.aggregates.get(position.checked_sub(before)?)?;
        let name = format!("~{}.{}", aggregate.target.entity_type, aggregate.into);
        let discriminator = format!("{}.{name}@{}", self.entity_type, self.version);
        let table = (!aggregate.is_beside(self)).then_some(aggregate.target.table);
        Some(Derived { name: name.into(), discriminator: discriminator.into(), table, unique: false })
    }

    /// Whether it adds to aggregates in other partitions.
    pub(crate) const fn has_aggregates_elsewhere(&self) -> bool {
        let mut rest = self.aggregates;
        while let [aggregate, tail @ ..] = rest {
            if !aggregate.is_beside(self) {
                return true;
            }
            rest = tail;
        }
        false
    }
}

impl AggregateSchema {
    /// Whether it has this name among the kinds of derived rows.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        name.strip_prefix('~').and_then(|name| name.split_once('.')) == Some((self.target.entity_type, self.into))
    }

    /// Whether both are kept in the same property.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.target.entity_type == other.target.entity_type && self.into == other.into
    }

    /// Whether the lock has this older version add to it, and the version does not say so.
    pub(crate) const fn is_left_out_of(&self, older: &EntitySchema) -> bool {
        let mut names = older.added_to;
        while let [name, tail @ ..] = names {
            if self.is_called(name.as_bytes()) {
                return !self.is_among(older.aggregates);
            }
            names = tail;
        }
        false
    }

    /// Whether one of these is kept in the same property.
    pub(crate) const fn is_among(&self, mut all: &[Self]) -> bool {
        while let [other, tail @ ..] = all {
            if self.is_kept_as(other) {
                return true;
            }
            all = tail;
        }
        false
    }

    /// As [`is_same`](Self::is_same), where constants ask.
    pub(super) const fn is_kept_as(&self, other: &Self) -> bool {
        same(self.target.entity_type, other.target.entity_type) && same(self.into, other.into)
    }

    /// Whether a line of facts names it so: `Department.EmployeeCount`.
    pub(crate) const fn is_called(&self, name: &[u8]) -> bool {
        let (target, into) = (self.target.entity_type.as_bytes(), self.into.as_bytes());
        match name.split_at_checked(target.len()) {
            Some((start, [b'.', rest @ ..])) => same_bytes(start, target) && same_bytes(rest, into),
            _ => false,
        }
    }

    /// Whether it keeps the least or the greatest value.
    pub(crate) const fn is_extreme(&self) -> bool {
        matches!(self.function, Function::Min(_) | Function::Max(_))
    }

    /// Whether it is kept in parts.
    pub(crate) const fn is_sharded(&self) -> bool {
        let mut rest = self.target.sharded;
        while let [own, tail @ ..] = rest {
            if same(own.property, self.into) {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Whether the target stands in the partition of its sources, by how their keys are written.
    pub(crate) const fn is_beside(&self, source: &EntitySchema) -> bool {
        if !source.table.eq_ignore_ascii_case(self.target.table) {
            return false;
        }
        let (mut targets, mut sources) = (self.target.partition.0, source.partition.0);
        loop {
            match (targets, sources) {
                ([], []) => return true,
                ([Segment::Literal(a), rest @ ..], [Segment::Literal(b), tail @ ..]) if same(a, b) => {
                    (targets, sources) = (rest, tail);
                }
                ([Segment::Part(a), rest @ ..], [Segment::Part(b), tail @ ..]) => {
                    match self.source_of(a.property) {
                        Some(source) if same(source, b.property) && same_codec(a.codec, b.codec) => {}
                        _ => return false,
                    }
                    (targets, sources) = (rest, tail);
                }
                _ => return false,
            }
        }
    }

    /// The property of the source that says this part of the target's key.
    pub(crate) const fn source_of(&self, property: &str) -> Option<&'static str> {
        let mut rest = self.key;
        while let [(own, source), tail @ ..] = rest {
            if same(own, property) {
                return Some(source);
            }
            rest = tail;
        }
        None
    }
}

/// Whether values are written alike.
pub(crate) const fn same_codec(a: Codec, b: Codec) -> bool {
    match (a, b) {
        (Codec::Width(a), Codec::Width(b)) => a == b,
        (Codec::Shard(a), Codec::Shard(b)) => a == b,
        (Codec::Width(_) | Codec::Shard(_), _) | (_, Codec::Width(_) | Codec::Shard(_)) => false,
        (Codec::Plain, Codec::Plain)
        | (Codec::Desc, Codec::Desc)
        | (Codec::Sortable, Codec::Sortable)
        | (Codec::Hour, Codec::Hour)
        | (Codec::Day, Codec::Day)
        | (Codec::Month, Codec::Month)
        | (Codec::Lower, Codec::Lower)
        | (Codec::Raw, Codec::Raw)
        | (Codec::Hash, Codec::Hash) => true,
        _ => false,
    }
}
