//! Aggregates in parts: of all sources of one, each part has those whose keys fall into it, in a cell of its own. So
//! writers of different sources seldom meet in a row; and what one part says is as true as the cell of any other aggregate.
//!
//! What such a cell says is told where all cells are.

use super::Into;
use crate::{key::bucket_of, schema::EntitySchema};

/// Parts of an aggregate. Part of the stored format: a source is counted in the part of its key for ever.
const PARTS: u16 = 16;

/// The part that a source of this key is counted in.
pub(super) fn part_of(owner: &str) -> u16 {
    bucket_of(owner, PARTS)
}

/// The key of a part.
pub(super) fn cell(base: &str, part: u16) -> String {
    format!("{base}|{part:02}")
}

/// The aggregate of this stored name, in parts beside the entity with this row key; the part is given with the key of its cell.
pub(crate) fn parts_of<'r>(
    schema: &'static EntitySchema,
    row: &'r str,
    name: &str,
) -> Option<impl Iterator<Item = Into> + 'r> {
    let property = schema.sharded(name)?;
    let part = move |part| Into { target: schema, row: row.to_owned(), property, part: Some(part) };
    Some((0..PARTS).map(part))
}

/// The aggregate of the entity with this row key that is kept in this cell.
pub(crate) fn kept_in(schema: &'static EntitySchema, row: &str, cell: &str) -> Option<Into> {
    let in_parts = schema.sharded.iter().filter_map(|own| parts_of(schema, row, own.property)).flatten();
    super::held(schema, row).chain(in_parts).find(|into| into.cell() == cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which part a source is counted in is stored with it: another answer here would count it twice.
    #[test]
    fn the_part_of_a_source_never_changes() {
        let parts: Vec<_> = (1..=6).map(|id| part_of(&format!("Sales!empid_{id:06}"))).collect();
        assert_eq!(parts, [6, 0, 2, 8, 4, 0]);
        assert_eq!(cell("~~agg|page_1|Visits", 7), "~~agg|page_1|Visits|07");
    }

    #[test]
    fn sources_are_spread_over_all_parts() {
        let mut counts = [0_u32; PARTS as usize];
        (0..1_600).for_each(|id| counts[usize::from(part_of(&format!("a!{id}")))] += 1);
        assert!(counts.iter().all(|count| (60..=140).contains(count)), "{counts:?}");
    }
}
