//! What the sources of a partition come to: the truth that its cells and targets are checked against, and rebuilt from.

use std::collections::BTreeMap;

use tablemodel_store::{Properties, Row};
use twox_hash::XxHash3_64;

use super::{Contribution, Edit, Into, Term, Total, VALUE, edits, is_unbuilt};
use crate::{
    error::Result,
    plan::{image::Image, states::IndexState},
    schema::AggregateSchema,
};

/// What the sources of one partition come to: the truth that cells and properties are checked against, and rebuilt from.
#[derive(Debug, Default)]
pub(crate) struct Totals(BTreeMap<String, Sum>);

/// What the sources of one cell come to.
#[derive(Debug)]
struct Sum {
    into: Into,
    total: Total,
    /// Which sources those were: a source that moves within its partition changes no cell, and may be met at both keys.
    sources: u64,
}

impl Sum {
    fn none(into: Into) -> Self {
        Self { total: Total::none(into.property), into, sources: 0 }
    }
}

impl Totals {
    /// With one more source.
    pub(crate) fn add(&mut self, image: &Image, state: impl Fn(usize) -> IndexState) -> Result<()> {
        for edit in edits(None, Some(image), state)? {
            self.change(&edit, &image.key.row);
        }
        Ok(())
    }

    /// With one more contribution. `false`: it adds nothing, or cannot be read.
    pub(crate) fn add_contribution(&mut self, of: &'static AggregateSchema, row: &Row) -> bool {
        let Some((into, term)) = Contribution::standing(of, row) else { return false };
        self.change(&Edit { into, loss: None, gain: Some(term), spoils: false, is_counted: true }, &row.key.row);
        true
    }

    fn change(&mut self, edit: &Edit, source: &str) {
        let sum = self.0.entry(edit.into.cell()).or_insert_with(|| Sum::none(edit.into.clone()));
        sum.sources = sum.sources.wrapping_add(XxHash3_64::oneshot(source.as_bytes()));
        let Sum { into, total, .. } = sum;
        let before = total.clone();
        total.change(edit);
        if let Some(Term::Rank(rank)) = &edit.gain
            && before.rank(rank).is_none_or(|first| rank.code < first.code)
        {
            total.set_first(rank.value(into.property.edm));
        }
    }

    /// With an aggregate that an entity holds: it has a cell also without sources.
    pub(crate) fn add_target(&mut self, into: Into) {
        self.0.entry(into.cell()).or_insert_with(|| Sum::none(into));
    }

    /// Without those of which this is not so, by the type of the target and the property.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&str, &str) -> bool) {
        self.0.retain(|_, sum| is_kept(sum.into.target.entity_type, sum.into.property.property));
    }

    /// What is wrong with the cells and targets of a partition: the row key it is about, why, and what puts it right.
    pub(crate) fn faults(
        &self,
        cells: &BTreeMap<String, Row>,
        targets: &BTreeMap<String, (Properties, i64)>,
    ) -> Vec<(String, String, Recount)> {
        let mut faults = Vec::new();
        for (row, sum) in &self.0 {
            let Sum { into, total, .. } = sum;
            let cell = cells.get(row);
            let fault = match into.total(cell) {
                Ok(_) if cell.is_some_and(is_unbuilt) => {
                    Some("the sources of the aggregate were not counted".to_owned())
                }
                Ok(_) if cell.is_none() => Some("the aggregate has no cell".to_owned()),
                Ok(found) if found != *total || !says(into, cell, total) => {
                    Some("the cell is not what its sources come to".to_owned())
                }
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            let target = targets.get(&into.row).filter(|_| into.is_held());
            faults.extend(fault.map(|detail| (row.clone(), detail, sum.recount(cell, target.is_some()))));
            let Some((target, sequence)) = target else { continue };
            if into.value(total).ok() != Some(target.get(into.property.property).map(|value| value.to_value())) {
                let detail =
                    format!("property `{}` is not what the sources of the aggregate come to", into.property.property);
                let read = sequence.wrapping_add(sum.sources.cast_signed());
                faults.push((into.row.clone(), detail, Recount::Target(into.target.entity_type, read)));
            }
        }
        let strays = cells.iter().filter(|(row, _)| !self.0.contains_key(*row));
        let detail = "the cell of an aggregate without sources or target";
        faults.extend(strays.map(|(row, cell)| (row.clone(), detail.to_owned(), Recount::Stray(cell.clone()))));
        faults
    }
}

/// What puts an aggregate right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recount {
    /// The cell is written as the total of these sources says, over what was read.
    Cell { entity: &'static str, row: String, total: Total, sources: u64, cell: Option<Row>, is_live: bool },
    /// The target is made what the cell says. The number is another where its sequence is, or the sources are others.
    Target(&'static str, i64),
    /// The cell is nobody's, as it was read.
    Stray(Row),
}

impl Sum {
    fn recount(&self, cell: Option<&Row>, is_live: bool) -> Recount {
        let (entity, row, total) = (self.into.target.entity_type, self.into.row.clone(), self.total.clone());
        Recount::Cell { entity, row, total, sources: self.sources, cell: cell.cloned(), is_live }
    }
}

/// Whether the value that a cell says, beside the exact sum of a sum of floats, is that sum rounded.
fn says(into: &Into, cell: Option<&Row>, total: &Total) -> bool {
    let value = cell.and_then(|cell| cell.properties.get(VALUE)).map(|value| value.to_value());
    Some(value) == into.value(total).ok()
}
