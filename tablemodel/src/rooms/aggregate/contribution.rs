//! Contributions: the row that each source of an aggregate has where its target stands. A target in another partition
//! always has them, and so has a least or greatest: in the order of values, so that the first row of a range is the answer.

use tablemodel_store::{Action, Condition, ETag, Properties, PropertyName, Row, RowKey, ValueRef};

use super::{CELL, Edit, Into, Rank, Term, VALUE, check_length, rank::is_code, term};
use crate::{
    error::{Error, Result},
    key::{KeyError, Part, Segment, Template, text_code, text_of_code},
    plan::{
        change::Need,
        entries::{Away, Entry},
        image::{Image, key_fault},
        known::Known,
        outbox::Target,
        owner::{OWNER_PARTITION, OWNER_ROW},
        system::{self, RowKind},
    },
    schema::{AggregateSchema, Function},
};

/// Whose the contribution is, at the end of its key: an entity of the same partition, or of another.
const OWNER: Template = Template(&[Segment::Literal("!"), ROW]);
const OWNER_ELSEWHERE: Template = Template(&[Segment::Literal("!"), PARTITION, Segment::Literal("!"), ROW]);
const PARTITION: Segment = Segment::Part(OWNER_PARTITION);
const ROW: Segment = Segment::Part(OWNER_ROW);

/// What follows the prefix in the keys of all contributions that are in the order of values: a digit. No property has a
/// name that begins so.
pub(crate) const FIRST_BEGINS: char = '0';
/// What is above each digit.
pub(crate) const FIRST_ENDS: char = ':';

impl Into {
    /// What the keys of contributions begin with that stand in the order of values.
    pub(crate) fn prefix(&self) -> String {
        format!("{}|", self.base())
    }

    fn contribution(&self, term: &Term, owner: &Template, image: &Image) -> Result<String> {
        let mut row = self.base();
        if let Term::Rank(rank) = term {
            row.push('|');
            row.push_str(&rank.code);
        }
        let value = |part: &Part| match part.property {
            system::OWNER_PARTITION => Some(ValueRef::String(&image.key.partition)),
            _ => Some(ValueRef::String(&image.key.row)),
        };
        let within = |error: Error| error.within(&format!("aggregate `{}`", self.property.field));
        let owner = owner.encode(value).map_err(|error| within(key_fault(image.schema, error)))?;
        row.push_str(&owner.unwrap_or_default());
        check_length(image, self, &row)?;
        Ok(row)
    }
}

/// How a contribution of the entity would name it, in whatever partition it stands.
pub(super) fn owner_of(image: &Image) -> String {
    format!("{}!{}", text_code(&image.key.partition), text_code(&image.key.row))
}

/// Adds the contribution that the aggregate at this position wants for the image.
pub(crate) fn entries(image: &Image, number: usize, to: &mut Vec<Entry>) -> Result<()> {
    let Some(aggregate) = image.schema.aggregate(number) else { return Ok(()) };
    let is_beside = aggregate.is_beside(image.schema);
    if is_beside && !aggregate.is_extreme() {
        return Ok(()); // the cell alone tells
    }
    let Some((into, term)) = term(image, aggregate)? else { return Ok(()) };
    let mut properties = Properties::with_capacity(5);
    properties.set(PropertyName::from_static(system::OWNER_ROW), ValueRef::String(&image.key.row));
    if let Some(value) = term.value(into.property) {
        properties.insert(PropertyName::from_static(VALUE), value);
    }
    let (away, owner) = match is_beside {
        true => (None, &OWNER),
        false => {
            let owner = ValueRef::String(&image.key.partition);
            properties.set(PropertyName::from_static(system::OWNER_PARTITION), owner);
            (Some(place(image, aggregate)?), &OWNER_ELSEWHERE)
        }
    };
    let row = into.contribution(&term, owner, image)?;
    to.push(Entry { index: number, away, row, properties });
    Ok(())
}

/// What the image adds to the aggregate, and where: the partition and the cell of its target.
pub(crate) fn added(image: &Image, aggregate: &'static AggregateSchema) -> Result<Option<(Away, String, Term)>> {
    let Some((into, term)) = term(image, aggregate)? else { return Ok(None) };
    Ok(Some((place(image, aggregate)?, into.cell(), term)))
}

/// Where the target stands that the image adds to.
fn place(image: &Image, aggregate: &'static AggregateSchema) -> Result<Away> {
    let value = |part: &Part| image.fields.get(aggregate.source_of(part.property)?);
    let partition = aggregate.target.partition.encode(value);
    let partition = partition.map_err(|error| no_target(image, aggregate, error))?;
    Ok(Away { table: aggregate.target.table, partition: partition.unwrap_or_default() })
}

/// That the key of the target cannot be made: told by the field of the image that it is made of.
pub(super) fn no_target(image: &Image, aggregate: &'static AggregateSchema, error: KeyError) -> Error {
    let of_target = aggregate.target.properties().find(|own| Some(own.field) == error.field);
    let source = of_target.and_then(|own| aggregate.source_of(own.property));
    let field = source.and_then(|property| image.schema.field_of(property));
    key_fault(image.schema, error).of_field(field).within(&format!("aggregate `{}`", aggregate.name))
}

/// A contribution to an aggregate of another partition, and what is to become of it.
#[derive(Debug, Clone)]
pub(crate) struct Contribution {
    pub(crate) of: &'static AggregateSchema,
    pub(crate) key: RowKey,
    pub(crate) wish: Wish,
}

/// What is to become of a contribution.
#[derive(Debug, Clone)]
pub(crate) enum Wish {
    /// As its source says, unless what is there is as new.
    Over(Box<Target>),
    /// As its source says, in one commit with the source.
    Now(Option<Properties>),
    /// Taken away, if it is still as it was read, whatever it says.
    Gone(ETag),
}

impl Contribution {
    /// What must be read: the contribution, then the cell and the target, then where the first goes what comes next.
    pub(crate) fn needs(&self, known: &Known) -> Result<Vec<Need>> {
        let need = |row| Need { row, head: None };
        let Some(there) = known.get(&self.key.row) else { return Ok(vec![need(self.key.row.clone())]) };
        let Some((_, Some(edit))) = self.over(there.as_ref())? else { return Ok(Vec::new()) };
        let mut needs: Vec<_> = edit.range(known)?.map(need).into_iter().collect();
        needs.extend(edit.into.needs());
        Ok(needs)
    }

    /// The write over what is there, and what that changes in the aggregate.
    pub(crate) fn over(&self, there: Option<&Row>) -> Result<Option<(Action, Option<Edit>)>> {
        let action = match (&self.wish, there) {
            (Wish::Over(target), there) => target.over(there)?,
            (Wish::Now(want), Some(there)) => {
                let as_read = Condition::Match(there.etag.clone());
                Some(want.clone().map_or(Action::Delete(as_read.clone()), |want| Action::Replace(want, as_read)))
            }
            (Wish::Now(want), None) => want.clone().map(Action::Insert),
            (Wish::Gone(etag), there) => {
                there.filter(|there| there.etag == *etag).map(|_| Action::Delete(Condition::Match(etag.clone())))
            }
        };
        let Some(action) = action else { return Ok(None) };
        let loss = match there.map(|there| self.term(&there.properties).ok_or(there)) {
            None => None,
            Some(Ok(term)) => term,
            Some(Err(_)) if matches!(self.wish, Wish::Gone(_)) => None,
            Some(Err(there)) => {
                return Err(Error::corrupt("a contribution to an aggregate cannot be read").at_key(there.key.clone()));
            }
        };
        let gain = action.properties().and_then(|properties| self.term(properties)).flatten();
        let into = self.added_to().filter(|_| loss != gain);
        Ok(Some((action, into.map(|into| Edit { into, loss, gain, spoils: false, is_counted: true }))))
    }

    /// What a contribution that holds these adds; none where it cannot be told.
    fn term(&self, properties: &Properties) -> Option<Option<Term>> {
        if system::is_dead(properties) {
            return Some(None);
        }
        let property = self.added_to()?.property;
        let term = Term::of(self.of.function, properties.get(VALUE)?, property.codec)?;
        let is_float = matches!(term, Term::Float(_));
        let is_sum = matches!(self.of.function, Function::Sum(_));
        let is_right = match (&term, self.code()) {
            (Term::Rank(rank), code) => code == Some(&rank.code),
            _ if is_sum => is_float == (property.edm == tablemodel_store::EdmType::Double),
            _ => true,
        };
        is_right.then_some(Some(term))
    }

    /// The aggregate that it adds to: the key begins with that of its cell.
    fn added_to(&self) -> Option<Into> {
        let (cell, owner) = self.key.row.strip_prefix(CELL)?.split_once('!')?;
        owner.split_once('!')?;
        let cell = if self.of.is_extreme() { cell.rsplit_once('|')?.0 } else { cell };
        let (row, property) = cell.rsplit_once('|')?;
        Into::of(self.of, text_of_code(row)?, || owner.to_owned()).filter(|_| property == self.of.into)
    }

    /// The rank in its key.
    fn code(&self) -> Option<&str> {
        let (_, code) = self.cell().filter(|_| self.of.is_extreme())?.rsplit_once('|')?;
        Some(code).filter(|code| is_code(code))
    }

    /// The key without its owner, and what all of them begin with.
    fn cell(&self) -> Option<&str> {
        let mut pieces = self.key.row.strip_prefix(CELL)?.rsplitn(3, '!');
        let (_, _, cell) = (pieces.next()?, pieces.next()?, pieces.next()?);
        Some(cell)
    }

    /// What it adds as it stands there; none where it adds nothing, or cannot be read.
    pub(crate) fn standing(of: &'static AggregateSchema, row: &Row) -> Option<(Into, Term)> {
        let contribution = Self { of, key: row.key.clone(), wish: Wish::Now(None) };
        Some((contribution.added_to()?, contribution.term(&row.properties)??))
    }
}

/// Whether the row key is what [`Into::prefix`] gives: a range to be read, and no row. That of a contribution has a `!`.
pub(crate) fn is_first(row: &str) -> bool {
    row.starts_with(CELL) && row.ends_with('|') && !row.contains('!')
}

/// Whether the row key is that of a cell or a contribution, or what [`Into::prefix`] gives.
pub(crate) fn is_of_aggregate(row: &str) -> bool {
    row.starts_with(CELL)
}

/// The rank in the key of a contribution, if it is one of those whose keys begin with what [`Into::prefix`] gave: a target
/// whose key begins as another's goes on may have rows among those.
pub(crate) fn rank_behind<'r>(prefix: &str, row: &'r str) -> Option<&'r str> {
    Rank::code_of(row.strip_prefix(prefix)?)
}

/// Whether the row is a contribution, by its type.
pub(crate) fn is_contribution(properties: &Properties) -> bool {
    matches!(system::kind(properties), RowKind::Derived { name, .. } if name.starts_with('~') && name.contains('.'))
}
