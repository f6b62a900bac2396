//! What a path would cost, in words and as data.
//!
//! Nothing is read to tell it.

use std::{fmt, ops::Bound};

use tablemodel_store::{KeyRange, limits};

use crate::{
    error::Error,
    path::plan::ReadPlan,
    rooms::list::MAX_KEYS_UNITS,
    schema::{Cover, EntitySchema, IndexSchema},
};

/// How much of a table a query touches, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostClass {
    /// One row by its keys.
    Point,
    /// A range of rows of one partition (of each bucket, where the partition is spread).
    Range,
    /// Every row of a partition.
    PartitionScan,
    /// Every row of a table.
    TableScan,
}

impl fmt::Display for CostClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "point query",
            Self::Range => "range query",
            Self::PartitionScan => "partition scan",
            Self::TableScan => "table scan",
        })
    }
}

/// What a path would read. Its `Display` is one line.
#[derive(Debug, Clone)]
pub struct Explain {
    /// The table, without the run-time prefix.
    pub table: &'static str,
    /// The index, where the path is over one.
    pub index: Option<&'static str>,
    /// The key ranges, as OData conditions.
    pub keys: Vec<String>,
    /// The condition that the store puts on the rows in them.
    pub condition: Option<String>,
    /// How much of the table that is.
    pub class: CostClass,
    /// Requests, in words: they depend on the rows that are there.
    pub requests: String,
    /// Rows read, in words.
    pub rows: String,
    /// Why the path cannot run: a value that does not fit its key.
    pub error: Option<Error>,
}

impl Explain {
    pub(crate) fn of(plan: &ReadPlan, index: Option<&'static IndexSchema>, loads: bool) -> Self {
        let class = plan.class();
        let (mut requests, mut rows) = cost(class, plan.ranges.len(), loads);
        if index.is_some_and(|index| index.cover == Cover::List) {
            rows = format!("1 per {MAX_KEYS_UNITS} characters of keys, and 1 per result");
        }
        if plan.schema.is_joined() && (loads || plan.is_cut()) {
            requests = requests.replace("point read", "range read");
            rows.push_str(", and its parts");
        }
        Self {
            table: plan.table(),
            index: index.map(|index| index.name),
            keys: plan.ranges.iter().map(keys).collect(),
            condition: plan.condition().as_ref().map(crate::path::scan::odata),
            class,
            requests,
            rows,
            error: None,
        }
    }

    /// Of one range without a condition: what stands in it is read, whatever it is.
    pub(crate) fn of_range(schema: &'static EntitySchema, range: KeyRange, class: CostClass) -> Self {
        let plan = ReadPlan { schema, index: None, ranges: vec![range], filter: None, select: None };
        let rows = match class {
            CostClass::Range if plan.point().is_none() => "every row of the range".to_owned(),
            CostClass::Point | CostClass::Range => "1".to_owned(),
            CostClass::PartitionScan | CostClass::TableScan => "every row".to_owned(),
        };
        Self { class, condition: None, rows, ..Self::of(&plan, None, false) }
    }

    pub(crate) fn failed(schema: &'static EntitySchema, error: Error) -> Self {
        Self {
            table: schema.table,
            index: None,
            keys: Vec::new(),
            condition: None,
            class: CostClass::Point,
            requests: "0".to_owned(),
            rows: "0".to_owned(),
            error: Some(error),
        }
    }
}

fn cost(class: CostClass, ranges: usize, loads: bool) -> (String, String) {
    let page = limits::MAX_PAGE_ROWS;
    let spread = if ranges > 1 { format!("{ranges} ranges, ") } else { String::new() };
    match (class, loads) {
        (CostClass::Point, false) => ("1".to_owned(), "1".to_owned()),
        (CostClass::Point, true) => ("2".to_owned(), "2".to_owned()),
        (CostClass::PartitionScan | CostClass::TableScan, false) => {
            (format!("{spread}1 per {page} rows"), "every row".to_owned())
        }
        (_, false) => (format!("{spread}1 per {page} rows"), "1 per result".to_owned()),
        (CostClass::PartitionScan | CostClass::TableScan, true) => (
            format!("{spread}1 per {page} index rows, and a point read per result"),
            "every row, and 1 per result".to_owned(),
        ),
        (_, true) => {
            (format!("{spread}1 per {page} index rows, and a point read per result"), "2 per result".to_owned())
        }
    }
}

fn keys(range: &KeyRange) -> String {
    match range {
        KeyRange::Partition { partition, rows } => {
            let mut text = format!("PartitionKey eq {}", quoted(partition));
            match (&rows.lower, &rows.upper) {
                (Bound::Included(lower), Bound::Included(upper)) if lower == upper => {
                    text.push_str(&format!(" and RowKey eq {}", quoted(lower)));
                }
                (lower, upper) => {
                    text.push_str(&bound(lower, "ge", "gt"));
                    text.push_str(&bound(upper, "le", "lt"));
                }
            }
            text
        }
        KeyRange::Table { after: Some(after), .. } => format!("every row after {after}"),
        KeyRange::Table { after: None, .. } => "every row".to_owned(),
    }
}

/// An OData string: `'` is doubled.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn bound(bound: &Bound<String>, included: &str, excluded: &str) -> String {
    match bound {
        Bound::Included(key) => format!(" and RowKey {included} {}", quoted(key)),
        Bound::Excluded(key) => format!(" and RowKey {excluded} {}", quoted(key)),
        Bound::Unbounded => String::new(),
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.error {
            return write!(f, "cannot run: {error}");
        }
        write!(f, "{} on {}", self.class, self.table)?;
        if let Some(index) = self.index {
            write!(f, " by {index}")?;
        }
        match self.keys.as_slice() {
            [] => {}
            [only] => write!(f, ": {only}")?,
            [first, ..] => write!(f, ": {} ranges, first {first}", self.keys.len())?,
        }
        if let Some(condition) = &self.condition {
            write!(f, " where {condition}")?;
        }
        write!(f, "; requests: {}; rows read: {}", self.requests, self.rows)
    }
}
