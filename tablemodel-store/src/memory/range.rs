//! Key ranges as bounds of an ordered set of rows.
//!
//! No rows are read here.

use std::ops::Bound;

use crate::key::{KeyRange, RowKey, RowRange};

/// Both ends of a range of rows.
pub(super) type Bounds = (Bound<RowKey>, Bound<RowKey>);

/// The bounds of `range`, strictly after `resume` where that is given; `None` if nothing can lie between them.
pub(super) fn bounds(range: &KeyRange, resume: Option<RowKey>) -> Option<Bounds> {
    let (lower, upper) = match range {
        KeyRange::Partition { partition, rows } => partition_bounds(partition, rows),
        KeyRange::Table { after, before_partition } => (
            after.clone().map_or(Bound::Unbounded, Bound::Excluded),
            before_partition.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(RowKey::new(end, ""))),
        ),
    };
    let lower = resume.map_or(lower, Bound::Excluded);
    is_ascending(&lower, &upper).then_some((lower, upper))
}

fn partition_bounds(partition: &str, rows: &RowRange) -> Bounds {
    let key = |row: &String| RowKey::new(partition, row);
    let lower = match rows.lower.as_ref().map(key) {
        Bound::Unbounded => Bound::Included(RowKey::new(partition, "")),
        bound => bound,
    };
    let upper = match rows.upper.as_ref().map(key) {
        // No partition key lies between one and the same with U+0000 behind it.
        Bound::Unbounded => Bound::Excluded(RowKey::new(format!("{partition}\0"), "")),
        bound => bound,
    };
    (lower, upper)
}

fn is_ascending(lower: &Bound<RowKey>, upper: &Bound<RowKey>) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(lower), Bound::Included(upper)) => lower <= upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower < upper
        }
    }
}
