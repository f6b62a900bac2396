#![doc = include_str!("../../docs/rooms/aggregate.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

mod contribution;
mod edit;
mod rank;
mod sharded;
mod term;
mod totals;

use tablemodel_store::{
    Action, Comparison, Condition, EdmType, Filter, Properties, PropertyName, Row, Value, ValueRef, limits,
};

use crate::{
    error::{Error, ErrorKind, Result},
    key::text_code,
    plan::{change::Need, exact::Exact, image::Image, system},
    schema::{AggregateSchema, EntitySchema, Function, PropertySchema},
};

pub(crate) use self::{
    contribution::{
        Contribution, FIRST_BEGINS, FIRST_ENDS, Wish, added, entries, is_contribution, is_first, is_of_aggregate,
        rank_behind,
    },
    edit::{Edit, edits},
    rank::Rank,
    sharded::{kept_in, parts_of},
    totals::{Recount, Totals},
};
use self::{
    contribution::{no_target, owner_of},
    term::number,
};

/// What the row keys of cells begin with.
pub(crate) const CELL: &str = "~~agg|";
/// What the sources come to.
const VALUE: &str = "_value";
/// The number of sources.
const COUNT: &str = "_count";
/// On the cell of a sum of floats: the sum without rounding.
const EXACT: &str = "_exact";
/// On a cell whose sources are still to be counted, in place of all these: true.
const UNBUILT: &str = "_unbuilt";

/// One term of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    Int(i64),
    Float(f64),
    /// Of the least or greatest.
    Rank(Rank),
}

/// Which property of which entity an aggregate is in.
#[derive(Debug, Clone)]
pub(crate) struct Into {
    pub(crate) target: &'static EntitySchema,
    /// The row key of the target.
    pub(crate) row: String,
    pub(crate) property: &'static PropertySchema,
    /// Of an aggregate in parts: which one.
    part: Option<u16>,
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
    /// The least or greatest value, if there is one.
    First(Option<Value>),
}

impl Term {
    /// What this value of this codec adds; none of what cannot be added. Where sources are counted, it is what one of them is kept
    /// with: 1, or what it added as of an older version that summed.
    fn of(function: Function, value: ValueRef<'_>, codec: &str) -> Option<Self> {
        match (function, value) {
            (Function::Count | Function::Sum(_), ValueRef::Int32(value)) => Some(Self::Int(value.into())),
            (Function::Count | Function::Sum(_), ValueRef::Int64(value)) => Some(Self::Int(value)),
            (Function::Sum(_), ValueRef::Double(value)) => Some(Self::Float(value)).filter(|_| value.is_finite()),
            (Function::Count | Function::Sum(_), _) => None,
            (Function::Min(_), value) => Rank::of(value, codec, false).map(Self::Rank),
            (Function::Max(_), value) => Rank::of(value, codec, true).map(Self::Rank),
        }
    }

    /// As a contribution to this property holds it.
    fn value(&self, property: &PropertySchema) -> Option<Value> {
        match self {
            Self::Int(value) => Some(Value::Int64(*value)),
            Self::Float(value) => Some(Value::Double(*value)),
            Self::Rank(rank) => rank.value(property.edm),
        }
    }
}

impl Into {
    /// That of an aggregate, in the target with this row key; `owner` is its source, as contributions name it.
    fn of(aggregate: &'static AggregateSchema, row: String, owner: impl FnOnce() -> String) -> Option<Self> {
        let target = aggregate.target;
        match target.sharded(aggregate.into) {
            Some(property) => Some(Self { target, row, property, part: Some(sharded::part_of(&owner())) }),
            None => Some(Self { target, row, property: target.property(aggregate.into)?, part: None }),
        }
    }

    /// What the keys of its rows begin with: of its cell, or of all its parts. The target's stands in it as a text does, so that
    /// a `!` is what follows a cell's key alone.
    fn base(&self) -> String {
        format!("{CELL}{}|{}", text_code(&self.row), self.property.property)
    }

    /// The key of its cell.
    pub(crate) fn cell(&self) -> String {
        self.part.map_or_else(|| self.base(), |part| sharded::cell(&self.base(), part))
    }

    /// Whether the target has a property that says what the cell does.
    pub(crate) fn is_held(&self) -> bool {
        self.part.is_none()
    }

    /// What must be read before it changes: its cell, and the target that holds it.
    pub(crate) fn needs(self) -> impl Iterator<Item = Need> {
        let cell = Need { row: self.cell(), head: None };
        let target = self.is_held().then_some(Need { row: self.row, head: Some(self.target) });
        std::iter::once(cell).chain(target)
    }

    /// What tells it from all others of its partition.
    pub(crate) fn place(&self) -> (&str, &'static str, Option<u16>) {
        (&self.row, self.property.property, self.part)
    }

    fn discriminator(&self) -> String {
        format!("{}.~{}@{}", self.target.entity_type, self.property.property, self.target.version)
    }

    /// The total in its cell; that of no sources where there is none, or they are still to be counted.
    pub(crate) fn total(&self, cell: Option<&Row>) -> Result<Total> {
        let Some(cell) = cell else { return Ok(Total::none(self.property)) };
        if system::entity_type(&cell.properties).and_then(|text| text.rsplit_once('@')).map(|(kind, _)| kind)
            != self.discriminator().rsplit_once('@').map(|(kind, _)| kind)
        {
            return Err(Error::corrupt("a row of another type has the key of an aggregate").at_key(cell.key.clone()));
        }
        if is_unbuilt(cell) {
            return Ok(Total::none(self.property));
        }
        let sources = match cell.properties.get(COUNT) {
            Some(ValueRef::Int64(sources)) => Some(sources),
            _ => None,
        };
        let value = cell.properties.get(VALUE);
        let sum = match (cell.properties.get(EXACT), value) {
            _ if self.property.nullable => self.first(sources, value).map(Sum::First),
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

    /// The least or greatest value that the cell says: there is one while there are sources.
    fn first(&self, sources: Option<i64>, value: Option<ValueRef<'_>>) -> Option<Option<Value>> {
        let is_right = match value {
            None => sources == Some(0),
            Some(value) => sources != Some(0) && value.edm() == self.property.edm,
        };
        is_right.then(|| value.map(|value| value.to_value()))
    }

    /// The write of its cell over what is there; nothing where no sources and no target need one.
    pub(crate) fn write(&self, total: &Total, cell: Option<&Row>, is_live: bool, now: i64) -> Result<Option<Action>> {
        if total.is_impossible() {
            let error = self.too_few();
            return Err(cell.map_or(error.clone(), |cell| error.at_key(cell.key.clone())));
        }
        if total.sources == 0 && !is_live {
            return Ok(cell.map(|cell| Action::Delete(Condition::Match(cell.etag.clone()))));
        }
        let mut properties = self.stamped(cell, now);
        properties.insert(PropertyName::from_static(COUNT), total.sources);
        if let Some(value) = self.value(total)? {
            properties.insert(PropertyName::from_static(VALUE), value);
        }
        if let Sum::Float(exact) = &total.sum {
            properties.insert(PropertyName::from_static(EXACT), Value::Binary(exact.bytes()));
        }
        Ok(Some(over(cell, properties)))
    }

    /// That more is taken away than is there.
    pub(crate) fn too_few(&self) -> Error {
        let detail = format!("aggregate `{}` counts fewer sources than it has; repair it", self.property.field);
        Error::corrupt(detail)
    }

    /// The write of its cell by which its sources are still to be counted: another cell for whoever counts them.
    pub(crate) fn unbuilt(&self, cell: Option<&Row>, now: i64) -> Action {
        let mut properties = self.stamped(cell, now);
        properties.insert(PropertyName::from_static(UNBUILT), true);
        over(cell, properties)
    }

    /// What every cell says, at the number after that of the one that is there.
    fn stamped(&self, cell: Option<&Row>, now: i64) -> Properties {
        let mut properties = Properties::new();
        let sequence = cell.map_or(now, |cell| system::sequence(&cell.properties).saturating_add(1));
        system::stamp(&mut properties, self.discriminator(), sequence, None);
        properties
    }

    /// The value of the target's property; none of the least or greatest of nothing.
    pub(crate) fn value(&self, total: &Total) -> Result<Option<Value>> {
        let value = match &total.sum {
            Sum::Int(sum) => i64::try_from(*sum).ok().map(Value::Int64),
            Sum::Float(exact) => exact.rounded().map(Value::Double),
            Sum::First(value) => return Ok(value.clone()),
        };
        value.map(Some).ok_or_else(|| {
            let (field, target, row) = (self.property.field, self.target.entity_type, &self.row);
            let detail = format!("aggregate `{field}` of `{target}` would be beyond its type (its row key: `{row}`)");
            Error::new(ErrorKind::Overflow, detail)
        })
    }
}

impl Total {
    /// Of no sources.
    pub(crate) fn none(property: &PropertySchema) -> Self {
        let sum = match property.edm {
            _ if property.nullable => Sum::First(None),
            EdmType::Double => Sum::Float(Box::new(Exact::ZERO)),
            _ => Sum::Int(0),
        };
        Self { sources: 0, sum }
    }

    /// With the change made; what comes first is not known by that alone, and is set.
    pub(crate) fn change(&mut self, edit: &Edit) {
        for (term, sign) in [(&edit.loss, -1), (&edit.gain, 1)] {
            let Some(term) = term else { continue };
            self.sources = self.sources.saturating_add(sign.into());
            match (&mut self.sum, term) {
                (Sum::Int(sum), Term::Int(term)) => *sum += i128::from(*term) * i128::from(sign),
                (Sum::Float(sum), Term::Float(term)) if sign > 0 => sum.add(*term),
                (Sum::Float(sum), Term::Float(term)) => sum.sub(*term),
                // What comes first is set; and the model's constants say that both are of one kind.
                (Sum::Int(_) | Sum::Float(_) | Sum::First(_), _) => {}
            }
        }
    }

    /// Whether the change takes away what is not there.
    pub(crate) const fn lacks(&self, edit: &Edit) -> bool {
        edit.loss.is_some() && self.sources < 1
    }

    /// With another part of the same aggregate.
    pub(crate) fn join(&mut self, part: &Self) {
        self.sources = self.sources.saturating_add(part.sources);
        match (&mut self.sum, &part.sum) {
            (Sum::Int(sum), Sum::Int(part)) => *sum += part,
            (Sum::Float(sum), Sum::Float(part)) => sum.join(part),
            // Both are of one property, and so of one kind; and what comes first has no parts.
            (Sum::Int(_) | Sum::Float(_) | Sum::First(_), _) => {}
        }
    }

    /// Sets the least or greatest value; of no sources there is none.
    pub(crate) fn set_first(&mut self, value: Option<Value>) {
        self.sum = Sum::First(value.filter(|_| self.sources > 0));
    }

    /// The least or greatest value, as a rank beside this one.
    pub(crate) fn rank(&self, beside: &Rank) -> Option<Rank> {
        match &self.sum {
            Sum::First(Some(value)) => beside.of_same(value.as_ref()),
            Sum::First(None) | Sum::Int(_) | Sum::Float(_) => None,
        }
    }

    /// Whether it cannot be what any sources come to.
    pub(crate) fn is_impossible(&self) -> bool {
        self.sources < 0 || (self.sources > 0 && self.sum == Sum::First(None))
    }
}

/// The properties of an entity that aggregates are in.
pub(crate) fn properties(schema: &'static EntitySchema) -> impl Iterator<Item = &'static PropertySchema> {
    schema.properties().filter(|property| property.aggregate)
}

/// The aggregates that an entity holds, for its row key.
pub(crate) fn held<'r>(schema: &'static EntitySchema, row: &'r str) -> impl Iterator<Item = Into> + 'r {
    properties(schema).map(move |property| Into { target: schema, row: row.to_owned(), property, part: None })
}

/// What the image adds to the aggregate at this position of its schema; nothing while its condition does not hold, or a
/// part of the target's key or the summed field is `None`.
fn term(image: &Image, aggregate: &'static AggregateSchema) -> Result<Option<(Into, Term)>> {
    if !aggregate.when.is_none_or(|when| when.holds(image.fields.get(when.property))) {
        return Ok(None);
    }
    let value = |property: &str| image.fields.get(aggregate.source_of(property)?);
    let failed = |error| no_target(image, aggregate, error);
    for part in aggregate.target.row.parts().chain(aggregate.target.partition.parts()) {
        if value(part.property).is_none() {
            return Ok(None);
        }
    }
    let Some(row) = aggregate.target.row.encode(|part| value(part.property)).map_err(failed)? else { return Ok(None) };
    let Some(term) = number(image, aggregate.function)? else { return Ok(None) };
    let Some(into) = Into::of(aggregate, row, || owner_of(image)) else { return Ok(None) };
    check_length(image, &into, &into.cell())?;
    Ok(Some((into, term)))
}

fn check_length(image: &Image, into: &Into, row: &str) -> Result<()> {
    let chars = row.encode_utf16().count();
    if chars <= limits::MAX_KEY_CHARS {
        return Ok(());
    }
    let detail = format!(
        "a row of aggregate `{}` would have a key of {chars} characters, over {}",
        into.property.field,
        limits::MAX_KEY_CHARS
    );
    Err(Error::new(ErrorKind::KeyTooLong, detail).of(image.schema.entity_type).at_key(image.key.clone()))
}

fn over(cell: Option<&Row>, properties: Properties) -> Action {
    match cell {
        None => Action::Insert(properties),
        Some(cell) => Action::Replace(properties, Condition::Match(cell.etag.clone())),
    }
}

/// Whether the sources of the cell are still to be counted.
pub(crate) fn is_unbuilt(cell: &Row) -> bool {
    cell.properties.get(UNBUILT) == Some(ValueRef::Boolean(true))
}

/// Cells, of any version of this kind, whose sources are still to be counted.
pub(crate) fn unbuilt_only() -> Filter {
    Filter::compare(UNBUILT, Comparison::Equal, true)
}

/// Cells that say more than an insert of their target would have them say.
pub(crate) fn told_only() -> Filter {
    Filter::compare(COUNT, Comparison::NotEqual, 0_i64).or(unbuilt_only())
}

/// Whether the row is a cell, by its key and type.
pub(crate) fn is_cell(row: &Row) -> bool {
    row.key.row.starts_with(CELL) && !is_contribution(&row.properties)
}
