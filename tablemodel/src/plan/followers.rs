//! What follows an entity with a state of its own: its indexes, and then the aggregates that it adds to, each by its number.
//!
//! Names and places alone; which rows there are is the rooms' to say.

use std::borrow::Cow;

use crate::{
    key::{Codec, Segment},
    schema::{AggregateSchema, EntitySchema, Function, same},
};

impl EntitySchema {
    /// The number of what has this name.
    pub(crate) fn follower(&self, name: &str) -> Option<usize> {
        let index = self.indexes.iter().position(|index| index.name == name);
        index.or_else(|| {
            let of = |aggregate: &AggregateSchema| aggregate.is_named(name);
            Some(self.indexes.len() + self.aggregates.iter().position(of)?)
        })
    }

    /// The name of what has this number; of an aggregate `~Team.Members`.
    pub(crate) fn follower_name(&self, number: usize) -> Cow<'static, str> {
        match (self.indexes.get(number), self.aggregate(number)) {
            (Some(index), _) => index.name.into(),
            (None, Some(aggregate)) => aggregate.follower_name().into(),
            (None, None) => "".into(),
        }
    }

    /// What its rows carry as `EntityType`; of an aggregate `Employee.~Team.Members@2`.
    pub(crate) fn follower_type(&self, number: usize) -> Option<Cow<'static, str>> {
        if let Some(index) = self.indexes.get(number) {
            return Some(index.discriminator.into());
        }
        let name = self.aggregate(number)?.follower_name();
        Some(format!("{}.{name}@{}", self.entity_type, self.version).into())
    }

    /// The table of its rows in other partitions; none where it has none.
    pub(crate) fn follower_table(&self, number: usize) -> Option<&'static str> {
        match (self.indexes.get(number), self.aggregate(number)) {
            (Some(index), _) => index.elsewhere.as_ref().map(|elsewhere| elsewhere.table),
            (None, aggregate) => {
                aggregate.filter(|aggregate| !aggregate.is_beside(self)).map(|aggregate| aggregate.target.table)
            }
        }
    }

    /// The aggregate with this number, among all that follows the entity.
    pub(crate) fn aggregate(&self, number: usize) -> Option<&'static AggregateSchema> {
        self.aggregates.get(number.checked_sub(self.indexes.len())?)
    }

    /// Whether rows other than its own may follow it.
    pub(crate) fn has_followers(&self) -> bool {
        !self.indexes.is_empty() || !self.aggregates.is_empty()
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
    /// Its name among what follows the source.
    pub(crate) fn follower_name(&self) -> String {
        format!("~{}.{}", self.target.entity_type, self.into)
    }

    fn is_named(&self, name: &str) -> bool {
        name.strip_prefix('~').and_then(|name| name.split_once('.')) == Some((self.target.entity_type, self.into))
    }

    /// Whether it keeps the least or the greatest value.
    pub(crate) const fn is_extreme(&self) -> bool {
        matches!(self.function, Function::Min(_) | Function::Max(_))
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

const fn same_codec(a: Codec, b: Codec) -> bool {
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
