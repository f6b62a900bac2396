//! What to read for a path, as data; and which of the rows that are read belong to it.
//!
//! Pure: nothing is read here.

use std::ops::Bound;

use tablemodel_store::{Comparison, Filter, KeyRange, Row, RowKey, RowRange, limits};

use crate::{
    path::explain::CostClass,
    plan::{change::is_primary, forms, image::key_values, system},
    schema::{Elsewhere, EntitySchema},
};

/// What to read for a path: ranges, the condition on their rows, and how to put them together.
#[derive(Debug, Clone)]
pub(crate) struct ReadPlan {
    pub(crate) schema: &'static EntitySchema,
    pub(crate) index: Option<usize>,
    /// Merged in row key order when there are several.
    pub(crate) ranges: Vec<KeyRange>,
    /// What else the store is to test; nothing for an `adopt` entity, whose rows are looked at after reading.
    pub(crate) filter: Option<Filter>,
    pub(crate) select: Option<&'static [&'static str]>,
}

/// The discriminator of an entity's rows, or of those of its index.
pub(crate) fn row_type(schema: &'static EntitySchema, index: Option<usize>) -> &'static str {
    let index = index.and_then(|index| schema.indexes.get(index));
    index.map_or(schema.discriminator, |index| index.discriminator)
}

/// Whether what is read by this index, or without one, is right only as long as the states of the entity are as they were.
pub(super) fn rests_on_states(schema: &EntitySchema, index: Option<usize>) -> bool {
    index.is_some() || schema.moves()
}

/// Whether a row, read by its key or without a condition, is one of the entity's, or of its index's.
pub(crate) fn owns(schema: &'static EntitySchema, index: Option<usize>, row: &Row) -> bool {
    match schema.adopt && index.is_none() {
        true => is_primary(schema, row) && key_values(schema, &row.key).is_ok(),
        false => {
            // Only a row elsewhere outlives its entity, or is there before it.
            let is_elsewhere = index.and_then(|at| schema.indexes.get(at)).is_some_and(|at| at.elsewhere.is_some());
            let is_nothing = || system::is_dead(&row.properties) || system::is_pending(&row.properties);
            system::is_of_type(&row.properties, row_type(schema, index))
                && !(is_elsewhere && is_nothing())
                && !forms::is_of_other(schema, &row.properties)
        }
    }
}

/// Whether a store can be asked that of a range. What names the keys is counted as a page of a table has it, which begins behind a row.
fn may_ask(condition: &Filter) -> bool {
    const OF_KEYS: usize = 4;
    OF_KEYS + condition.comparisons() <= limits::MAX_QUERY_COMPARISONS
}

impl ReadPlan {
    /// Where its rows stand, if not in the entity's own partition.
    pub(crate) fn elsewhere(&self) -> Option<&'static Elsewhere> {
        self.schema.indexes.get(self.index?)?.elsewhere.as_ref()
    }

    /// The table, without the run-time prefix.
    pub(crate) fn table(&self) -> &'static str {
        self.elsewhere().map_or(self.schema.table, |elsewhere| elsewhere.table)
    }

    /// The discriminator of the rows it reads.
    pub(crate) fn row_type(&self) -> &'static str {
        row_type(self.schema, self.index)
    }

    /// Only rows that satisfy this are the path's, or, where a store cannot be asked so much, others too; none where each row has to be
    /// looked at.
    pub(crate) fn condition(&self) -> Option<Filter> {
        let of_type = self.heads_condition()?;
        let whole = self.whole_condition(of_type.clone());
        match self.filter {
            _ if may_ask(&whole) => Some(whole),
            Some(_) => Some(of_type), // each row that is read is tested
            None => None,
        }
    }

    fn whole_condition(&self, of_type: Filter) -> Filter {
        match &self.filter {
            // What an older row says is known once it is upgraded, and a newer one is not passed over.
            Some(filter) => of_type.and(filter.clone().or(self.of_another_version())),
            None if self.is_cut() => of_type.or(forms::part_condition(self.schema, self.table())),
            None => of_type,
        }
    }

    fn of_another_version(&self) -> Filter {
        Filter::compare(system::ENTITY_TYPE, Comparison::NotEqual, self.row_type())
    }

    /// The same, without the parts of entities.
    pub(crate) fn heads_condition(&self) -> Option<Filter> {
        let of_type = (!self.is_adopted()).then(|| system::type_condition(self.row_type()))?;
        let whole = match forms::condition(self.schema, self.index, self.table()) {
            Some(of_form) => of_type.and(of_form),
            None => of_type,
        };
        may_ask(&whole).then_some(whole)
    }

    /// Whether what it finds is complete only as long as the states are as they were.
    pub(crate) fn rests_on_states(&self) -> bool {
        rests_on_states(self.schema, self.index)
    }

    /// Whether each row of the plan is an entity, all of it, and is known to be by what it says.
    pub(crate) fn is_of_whole_rows(&self) -> bool {
        let Self { schema, index, filter, select, .. } = self;
        index.is_none() && !schema.is_joined() && !schema.adopt && filter.is_none() && select.is_none()
    }

    /// Whether an entity of the path may be several rows.
    pub(crate) fn is_cut(&self) -> bool {
        self.index.is_none() && self.schema.is_joined()
    }

    /// Whether a row that was read without a condition is a part of one of the path's entities.
    pub(crate) fn owns_part(&self, row: &Row) -> bool {
        self.is_cut()
            && system::is_part_of(&row.properties, self.schema.entity_type)
            && !forms::is_of_other(self.schema, &row.properties)
    }

    /// Whether a row, read by its key or without a condition, is one of the path's.
    pub(crate) fn owns(&self, row: &Row) -> bool {
        owns(self.schema, self.index, row)
    }

    fn is_adopted(&self) -> bool {
        self.schema.adopt && self.index.is_none()
    }

    /// The one row key of the one range, where the plan is a point query.
    pub(crate) fn point(&self) -> Option<RowKey> {
        match self.ranges.as_slice() {
            [KeyRange::Partition { partition, rows }] => match (&rows.lower, &rows.upper) {
                (Bound::Included(lower), Bound::Included(upper)) if lower == upper => {
                    Some(RowKey::new(partition.clone(), lower.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The cost class.
    pub(crate) fn class(&self) -> CostClass {
        if self.point().is_some() {
            return CostClass::Point;
        }
        let whole = |range: &KeyRange| matches!(range, KeyRange::Partition { rows, .. } if *rows == RowRange::all());
        match self.ranges.as_slice() {
            ranges if ranges.iter().any(|range| matches!(range, KeyRange::Table { .. })) => CostClass::TableScan,
            // A partition of its own holds nothing but what is asked for.
            ranges if self.elsewhere().is_none() && ranges.iter().any(whole) => CostClass::PartitionScan,
            _ => CostClass::Range,
        }
    }
}
