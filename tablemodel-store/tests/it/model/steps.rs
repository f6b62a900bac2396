//! The steps of a random sequence, and how they are drawn.
//!
//! Keys are few, so that rows meet, and lie where orders differ.

use std::ops::Bound;

use proptest::{collection::vec, option, prelude::*};
use tablemodel_store::{Comparison, Filter, KeyRange, Properties, RowKey, RowRange, Value};

/// A call.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create(u8),
    Drop(u8),
    Commit(Vec<Write>),
    Get(u8, String, String),
    Query(Question),
}

/// A batch: table, partition key, and what is done to which rows.
pub(crate) type Write = (u8, String, Vec<(String, Do)>);

/// Pairs of names and numbers.
pub(crate) type Pairs = Vec<(&'static str, i32)>;

#[derive(Debug, Clone)]
pub(crate) enum Do {
    Insert(Pairs),
    Replace(Pairs, If),
    Merge(Pairs, If),
    InsertOrReplace(Pairs),
    InsertOrMerge(Pairs),
    Delete(If),
}

/// A condition: the row exists, or is in the state that a recent write gave it: 0 for the last before the commit.
#[derive(Debug, Clone)]
pub(crate) enum If {
    Exists,
    Recent(usize),
}

impl If {
    /// The number of the write that it names, of so many; `None` if there was none.
    pub(super) fn state(recent: usize, writes: usize) -> Option<usize> {
        writes.checked_sub(recent + 1)
    }
}

/// A query, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) table: u8,
    pub(crate) range: KeyRange,
    /// Only rows whose `A` is at least this.
    pub(crate) at_least: Option<i32>,
    pub(crate) select: Option<&'static str>,
    pub(crate) limit: usize,
}

pub(super) fn table_name(table: u8) -> String {
    format!("Table{table}")
}

pub(super) fn own(pairs: &Pairs) -> Properties {
    pairs.iter().copied().collect()
}

pub(super) fn at_least(number: i32) -> Filter {
    Filter::compare("A", Comparison::GreaterOrEqual, Value::Int32(number))
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => table().prop_map(Step::Create),
        1 => table().prop_map(Step::Drop),
        12 => write().prop_map(|write| Step::Commit(vec![write])),
        4 => vec(write(), 2..4).prop_map(Step::Commit),
        4 => (table(), partition(), key()).prop_map(|(table, partition, row)| Step::Get(table, partition, row)),
        6 => question().prop_map(Step::Query),
    ]
}

fn table() -> impl Strategy<Value = u8> {
    prop_oneof![12 => Just(0u8), 3 => Just(1u8), 1 => Just(2u8)]
}

fn partition() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just("a"), 1 => Just(""), 1 => Just("\u{10437}"), 1 => Just("\u{ffee}")].prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", "a", "a!", "\u{10437}", "\u{ffee}"]).prop_map(str::to_owned)
}

fn write() -> impl Strategy<Value = Write> {
    let operations = prop_oneof![3 => vec((key(), action()), 1), 2 => vec((key(), action()), 2..5)];
    (table(), partition(), operations)
}

fn pairs() -> impl Strategy<Value = Pairs> {
    vec((proptest::sample::select(vec!["A", "B", "C"]), 0..4i32), 0..4)
}

fn action() -> impl Strategy<Value = Do> {
    prop_oneof![
        4 => pairs().prop_map(Do::Insert),
        3 => (pairs(), condition()).prop_map(|(own, when)| Do::Replace(own, when)),
        3 => (pairs(), condition()).prop_map(|(own, when)| Do::Merge(own, when)),
        3 => pairs().prop_map(Do::InsertOrReplace),
        3 => pairs().prop_map(Do::InsertOrMerge),
        1 => condition().prop_map(Do::Delete),
    ]
}

fn condition() -> impl Strategy<Value = If> {
    prop_oneof![Just(If::Exists), (0..6usize).prop_map(If::Recent)]
}

fn question() -> impl Strategy<Value = Question> {
    let limit = prop_oneof![1..4usize, Just(1000)];
    let select = option::of(proptest::sample::select(vec!["A", "B"]));
    (table(), range(), option::of(0..4i32), select, limit)
        .prop_map(|(table, range, at_least, select, limit)| Question { table, range, at_least, select, limit })
}

fn range() -> impl Strategy<Value = KeyRange> {
    let after = option::of((partition(), key()).prop_map(|(partition, row)| RowKey::new(partition, row)));
    prop_oneof![
        (partition(), bound(), bound())
            .prop_map(|(partition, lower, upper)| KeyRange::rows(partition, RowRange { lower, upper })),
        (after, option::of(partition()))
            .prop_map(|(after, before_partition)| KeyRange::Table { after, before_partition }),
    ]
}

fn bound() -> impl Strategy<Value = Bound<String>> {
    prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}
