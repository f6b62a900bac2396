#![doc = include_str!("../../docs/rooms/aggregate.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use std::collections::BTreeMap;

use tablemodel_store::{Action, Condition, ETag, Properties, PropertyName, Row, RowKey, Value, ValueRef, limits};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        exact::Exact,
        image::{Image, key_error},
        system,
    },
    schema::{AggregateSchema, EntitySchema, Function, PropertySchema},
};

/// What the row keys of cells begin with.
const CELL: &str = "~~agg|";
/// What the sources come to.
const VALUE: &str = "_value";
/// The number of sources.
const COUNT: &str = "_count";
/// On the cell of a sum of floats: the sum without rounding.
const EXACT: &str = "_exact";

/// One term of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Term {
    Int(i64),
    Float(f64),
}

/// Which property of which entity an aggregate is in.
#[derive(Debug, Clone)]
pub(crate) struct Into {
    pub(crate) target: &'static EntitySchema,
    /// The row key of the target.
    pub(crate) row: String,
    pub(crate) property: &'static PropertySchema,
}

/// What changes in an aggregate. With neither, its target comes or goes.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) into: Into,
    pub(crate) loss: Option<Term>,
    pub(crate) gain: Option<Term>,
}

/// What the sources of an aggregate come to, exactly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Total {
    sources: i64,
    sum: Sum,
}

#[derive(Debug, Clone, PartialEq)]
enum Sum {
    Int(i128),
    Float(Box<Exact>),
}

impl Into {
    /// The key of its cell.
    pub(crate) fn cell(&self) -> String {
        format!("{CELL}{}|{}", self.row, self.property.property)
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.row == other.row && self.property.property == other.property.property
    }

    fn discriminator(&self) -> String {
        format!("{}.~{}@{}", self.target.entity_type, self.property.property, self.target.version)
    }

    /// The total in its cell; that of no sources where there is none.
    pub(crate) fn total(&self, cell: Option<&Row>) -> Result<Total> {
        let Some(cell) = cell else { return Ok(Total::none(self.property)) };
        if system::entity_type(&cell.properties).and_then(|text| text.rsplit_once('@')).map(|(kind, _)| kind)
            != self.discriminator().rsplit_once('@').map(|(kind, _)| kind)
        {
            return Err(Error::corrupt("a row of another type has the key of an aggregate").at_key(cell.key.clone()));
        }
        let sources = match cell.properties.get(COUNT) {
            Some(ValueRef::Int64(sources)) => Some(sources),
            _ => None,
        };
        let sum = match (cell.properties.get(EXACT), cell.properties.get(VALUE)) {
            (Some(ValueRef::Binary(bytes)), _) => Exact::read(bytes).map(|exact| Sum::Float(Box::new(exact))),
            (_, Some(ValueRef::Int64(value))) => Some(Sum::Int(value.into())),
            _ => None,
        };
        let total = sources.zip(sum).map(|(sources, sum)| Total { sources, sum });
        let is_right = |total: &Total| {
            std::mem::discriminant(&total.sum) == std::mem::discriminant(&Total::none(self.property).sum)
        };
        total
            .filter(is_right)
            .ok_or_else(|| Error::corrupt("the cell of an aggregate cannot be read").at_key(cell.key.clone()))
    }

    /// The write of its cell over what is there; nothing where no sources and no target need one.
    pub(crate) fn write(&self, total: &Total, cell: Option<&Row>, is_live: bool, now: i64) -> Result<Option<Action>> {
        if total.sources < 0 {
            let detail = format!("aggregate `{}` counts fewer sources than it has; repair it", self.property.field);
            let error = Error::corrupt(detail);
            return Err(cell.map_or(error.clone(), |cell| error.at_key(cell.key.clone())));
        }
        let condition = cell.map(|cell| Condition::Match(cell.etag.clone()));
        if total.sources == 0 && !is_live {
            return Ok(condition.map(Action::Delete));
        }
        let mut properties = Properties::new();
        let sequence = cell.map_or(now, |cell| system::sequence(&cell.properties).saturating_add(1));
        system::stamp(&mut properties, self.discriminator(), sequence, None);
        properties.insert(PropertyName::from_static(COUNT), total.sources);
        properties.insert(PropertyName::from_static(VALUE), self.value(total)?);
        if let Sum::Float(exact) = &total.sum {
            properties.insert(PropertyName::from_static(EXACT), Value::Binary(exact.bytes()));
        }
        Ok(Some(match condition {
            None => Action::Insert(properties),
            Some(condition) => Action::Replace(properties, condition),
        }))
    }

    /// The value of the target's property.
    pub(crate) fn value(&self, total: &Total) -> Result<Value> {
        let value = match &total.sum {
            Sum::Int(sum) => i64::try_from(*sum).ok().map(Value::Int64),
            Sum::Float(exact) => exact.rounded().map(Value::Double),
        };
        value.ok_or_else(|| {
            let detail = format!(
                "aggregate `{}` of `{}` would be beyond its type",
                self.property.field, self.target.entity_type
            );
            Error::new(ErrorKind::Overflow, detail)
        })
    }
}

impl Total {
    /// Of no sources.
    pub(crate) fn none(property: &PropertySchema) -> Self {
        let sum = match property.edm {
            tablemodel_store::EdmType::Double => Sum::Float(Box::new(Exact::ZERO)),
            _ => Sum::Int(0),
        };
        Self { sources: 0, sum }
    }

    /// With the change made.
    pub(crate) fn change(&mut self, edit: &Edit) {
        for (term, sign) in [(edit.loss, -1), (edit.gain, 1)] {
            let Some(term) = term else { continue };
            self.sources = self.sources.saturating_add(sign.into());
            match (&mut self.sum, term) {
                (Sum::Int(sum), Term::Int(term)) => *sum += i128::from(term) * i128::from(sign),
                (Sum::Float(sum), Term::Float(term)) if sign > 0 => sum.add(term),
                (Sum::Float(sum), Term::Float(term)) => sum.sub(term),
                // The model's constants say that both are of one kind.
                (Sum::Int(_), Term::Float(_)) | (Sum::Float(_), Term::Int(_)) => {}
            }
        }
    }
}

/// The properties of an entity that aggregates are in.
pub(crate) fn properties(schema: &'static EntitySchema) -> impl Iterator<Item = &'static PropertySchema> {
    schema.properties().filter(|property| property.aggregate)
}

/// The aggregates that an entity holds, for its row key.
pub(crate) fn held<'r>(schema: &'static EntitySchema, row: &'r str) -> impl Iterator<Item = Into> + 'r {
    properties(schema).map(move |property| Into { target: schema, row: row.to_owned(), property })
}

/// What the image adds to the aggregate at this position of its schema; nothing while its condition does not hold, or a
/// part of the target's key or the summed field is `None`.
fn term(image: &Image, aggregate: &'static AggregateSchema) -> Result<Option<(Into, Term)>> {
    if !aggregate.when.is_none_or(|when| when.holds(image.fields.get(when.property))) {
        return Ok(None);
    }
    let source = |property: &str| aggregate.key.iter().find(|(own, _)| *own == property).map(|(_, source)| *source);
    let value = |property: &str| image.fields.get(source(property)?);
    let failed = |error| key_error(image.schema, error, Some(aggregate.name));
    for part in aggregate.target.row.parts().chain(aggregate.target.partition.parts()) {
        if value(part.property).is_none() {
            return Ok(None);
        }
    }
    let Some(row) = aggregate.target.row.encode(|part| value(part.property)).map_err(failed)? else { return Ok(None) };
    let Some(term) = number(image, aggregate.function)? else { return Ok(None) };
    let Some(property) = aggregate.target.property(aggregate.into) else { return Ok(None) };
    let into = Into { target: aggregate.target, row, property };
    check_length(image, &into)?;
    Ok(Some((into, term)))
}

fn number(image: &Image, function: Function) -> Result<Option<Term>> {
    let property = match function {
        Function::Count => return Ok(Some(Term::Int(1))),
        Function::Sum(property) => property,
    };
    Ok(match image.fields.get(property) {
        Some(ValueRef::Int32(value)) => Some(Term::Int(value.into())),
        Some(ValueRef::Int64(value)) => Some(Term::Int(value)),
        Some(ValueRef::Double(value)) if value.is_finite() => Some(Term::Float(value)),
        Some(ValueRef::Double(_)) => {
            let field = image.schema.property(property).map_or(property, |property| property.field);
            let detail = format!("field `{field}` is summed, and is infinite or not a number");
            return Err(Error::new(ErrorKind::Invalid, detail).of(image.schema.entity_type).at_key(image.key.clone()));
        }
        _ => None,
    })
}

fn check_length(image: &Image, into: &Into) -> Result<()> {
    let chars = into.cell().encode_utf16().count();
    if chars <= limits::MAX_KEY_CHARS {
        return Ok(());
    }
    let detail = format!(
        "the cell of aggregate `{}` would have a key of {chars} characters, over {}",
        into.property.field,
        limits::MAX_KEY_CHARS
    );
    Err(Error::new(ErrorKind::KeyTooLong, detail).of(image.schema.entity_type).at_key(image.key.clone()))
}

/// What changes in aggregates when an entity that was `old` is `new`; `is_kept` tells of an aggregate whether it is kept.
pub(crate) fn edits(old: Option<&Image>, new: Option<&Image>, is_kept: impl Fn(usize) -> bool) -> Result<Vec<Edit>> {
    let Some(schema) = new.or(old).map(|image| image.schema) else { return Ok(Vec::new()) };
    let mut edits = Vec::new();
    for (_, aggregate) in schema.aggregates.iter().enumerate().filter(|(at, _)| is_kept(*at)) {
        let before = old.map(|image| term(image, aggregate)).transpose()?.flatten();
        let after = new.map(|image| term(image, aggregate)).transpose()?.flatten();
        match (before, after) {
            (None, None) => {}
            (Some((into, loss)), Some((other, gain))) if into.is(&other) => {
                if loss != gain {
                    edits.push(Edit { into, loss: Some(loss), gain: Some(gain) });
                }
            }
            (before, after) => {
                edits.extend(before.map(|(into, loss)| Edit { into, loss: Some(loss), gain: None }));
                edits.extend(after.map(|(into, gain)| Edit { into, loss: None, gain: Some(gain) }));
            }
        }
    }
    Ok(edits)
}

/// What the sources of one partition come to: the truth that cells and properties are checked against, and rebuilt from.
#[derive(Debug, Default)]
pub(crate) struct Totals(BTreeMap<String, (Into, Total)>);

impl Totals {
    /// With one more source.
    pub(crate) fn add(&mut self, image: &Image, is_kept: impl Fn(usize) -> bool) -> Result<()> {
        for edit in edits(None, Some(image), is_kept)? {
            let none = Total::none(edit.into.property);
            self.0.entry(edit.into.cell()).or_insert_with(|| (edit.into.clone(), none)).1.change(&edit);
        }
        Ok(())
    }

    /// With an aggregate that an entity holds: it has a cell also without sources.
    pub(crate) fn add_target(&mut self, into: Into) {
        let none = Total::none(into.property);
        self.0.entry(into.cell()).or_insert((into, none));
    }

    /// What is wrong with the cells and targets of a partition: the row key it is about, why, and what puts it right.
    pub(crate) fn faults(
        &self,
        cells: &BTreeMap<String, Row>,
        targets: &BTreeMap<String, Properties>,
    ) -> Vec<(String, String, Recount)> {
        let mut faults = Vec::new();
        for (row, (into, total)) in &self.0 {
            let cell = cells.get(row);
            let fault = match into.total(cell) {
                Ok(_) if cell.is_none() => Some("the aggregate has no cell".to_owned()),
                Ok(found) if found != *total || !into.says(cell, total) => {
                    Some("the cell is not what its sources come to".to_owned())
                }
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            let target = targets.get(&into.row);
            faults.extend(fault.map(|detail| (row.clone(), detail, into.recount(total, cell, target.is_some()))));
            let Some(target) = target else { continue };
            if into.value(total).ok() != target.get(into.property.property).map(|value| value.to_value()) {
                let detail =
                    format!("property `{}` is not what the sources of the aggregate come to", into.property.property);
                faults.push((into.row.clone(), detail, Recount::Target(into.target.entity_type)));
            }
        }
        let strays = cells.iter().filter(|(row, _)| !self.0.contains_key(*row));
        let detail = "the cell of an aggregate without sources or target";
        faults.extend(strays.map(|(row, cell)| (row.clone(), detail.to_owned(), Recount::Stray(cell.etag.clone()))));
        faults
    }
}

/// What puts an aggregate right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recount {
    /// The cell is written as the total says, over what was read.
    Cell { entity: &'static str, row: String, total: Total, cell: Option<Row>, is_live: bool },
    /// The target is made what the cell says.
    Target(&'static str),
    /// The cell is nobody's.
    Stray(ETag),
}

impl Into {
    /// Whether the value beside the exact sum is that sum, rounded.
    fn says(&self, cell: Option<&Row>, total: &Total) -> bool {
        let value = cell.and_then(|cell| cell.properties.get(VALUE)).map(|value| value.to_value());
        value == self.value(total).ok()
    }

    fn recount(&self, total: &Total, cell: Option<&Row>, is_live: bool) -> Recount {
        let (entity, row, total) = (self.target.entity_type, self.row.clone(), total.clone());
        Recount::Cell { entity, row, total, cell: cell.cloned(), is_live }
    }
}

/// Whether the row is a cell, by its key.
pub(crate) fn is_cell(key: &RowKey) -> bool {
    key.row.starts_with(CELL)
}
