//! The untyped half of a path: the components given so far.
//!
//! Pure: what to read for them is data of `plan`. Errors in values are kept until a terminal runs.

mod point;

use std::ops::{Bound, RangeBounds};

use tablemodel_store::{KeyRange, RowKey, RowRange, Value, ValueRef};

pub(crate) use self::point::PointKey;
use crate::{
    error::{Error, ErrorKind, Result},
    key::{Codec, KeyArg, KeyPart, Next, Part, Template, is_same},
    path::{
        explain::Explain,
        given::Given,
        list::ListKind,
        plan::{ReadPlan, rests_on_states},
        state::{PathKind, Way},
    },
    plan::{
        image::key_error,
        part,
        states::{IndexState, IndexStates},
    },
    property::ValueError,
    rooms,
    schema::{Cover, EntitySchema, IndexSchema},
};

/// What one method of a path gives: a field, or a bucket of time of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// The stored name of the property.
    pub property: &'static str,
    /// [`Codec::Hour`], [`Codec::Day`] or [`Codec::Month`] for a bucket; [`Codec::Plain`] otherwise.
    pub bucket: Codec,
}

impl Component {
    /// Whether it gives this property, and not a bucket of time of it.
    #[inline]
    fn is_whole(&self, property: &str) -> bool {
        is_same(self.property, property) && matches!(self.bucket, Codec::Plain)
    }
}

/// What is asked of the component after the given ones.
#[derive(Debug, Clone, Default)]
enum Tail {
    #[default]
    Any,
    Between([Bound<Value>; 2]),
    StartsWith(Box<str>),
}

/// The untyped query of a path. Small, since each method of a path hands it on.
#[derive(Debug, Clone)]
pub struct PathQuery {
    schema: &'static EntitySchema,
    way: &'static Way,
    given: Given,
    verified: bool,
    rest: Option<Box<Rest>>,
}

/// What a path at a full key mostly has none of.
#[derive(Debug, Clone, Default)]
struct Rest {
    tail: Tail,
    select: Option<&'static [&'static str]>,
    /// Of the component at this place.
    error: Option<(usize, ValueError)>,
}

impl PathQuery {
    /// The start of a path.
    pub fn new<K: PathKind>() -> Self {
        let schema = <K::Entity as crate::TableEntity>::SCHEMA;
        Self { schema, way: const { &K::WAY }, given: Given::default(), verified: false, rest: None }
    }

    /// The start of a path to a list.
    pub fn list<K: ListKind>() -> Self {
        let schema = <K::Entity as crate::TableEntity>::SCHEMA;
        Self { schema, way: const { &K::WAY }, given: Given::default(), verified: true, rest: None }
    }

    /// With one more component.
    pub fn given<K: KeyPart>(mut self, value: impl KeyArg<K>) -> Self {
        let shown = value.show_key_value(&mut |value| self.given.push(value));
        if let Err(error) = shown {
            self.fail(error);
        }
        self
    }

    /// With a range on the next component.
    pub fn between<K: KeyPart, A: KeyArg<K>>(mut self, range: impl RangeBounds<A>) -> Self {
        let value = |bound: Bound<&A>| match bound {
            Bound::Included(value) => value.to_key_value().map(Bound::Included),
            Bound::Excluded(value) => value.to_key_value().map(Bound::Excluded),
            Bound::Unbounded => Ok(Bound::Unbounded),
        };
        match (value(range.start_bound()), value(range.end_bound())) {
            (Ok(start), Ok(end)) => self.rest().tail = Tail::Between([start, end]),
            (Err(error), _) | (_, Err(error)) => self.fail(error),
        }
        self
    }

    /// With a prefix of the next component.
    pub fn starts_with(mut self, text: &str) -> Self {
        self.rest().tail = Tail::StartsWith(text.into());
        self
    }

    pub(crate) fn selecting(mut self, properties: &'static [&'static str]) -> Self {
        self.rest().select = Some(properties);
        self
    }

    /// Of whole rows: who writes over them, or takes them away, needs to know all that they hold.
    pub(crate) fn whole(mut self) -> Self {
        if let Some(rest) = &mut self.rest {
            rest.select = None;
        }
        self
    }

    /// Each index row is checked against its entity.
    pub(crate) fn verified(self) -> Self {
        Self { verified: true, ..self }
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.verified || self.index_schema().is_some_and(|index| index.verified)
    }

    /// The next component has no value.
    #[cold]
    fn fail(&mut self, error: ValueError) {
        let at = self.given.len();
        self.rest().error.get_or_insert((at, error));
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    fn tail(&self) -> &Tail {
        const ANY: &Tail = &Tail::Any;
        self.rest.as_deref().map_or(ANY, |rest| &rest.tail)
    }

    fn select(&self) -> Option<&'static [&'static str]> {
        self.rest.as_deref()?.select
    }

    pub(crate) fn schema(&self) -> &'static EntitySchema {
        self.schema
    }

    pub(crate) fn index(&self) -> Option<usize> {
        self.way.index
    }

    /// The value of a part: the bucket given for it, or the whole value of its field.
    #[inline(never)]
    fn value_of(&self, part: &Part) -> Option<ValueRef<'_>> {
        let given = part.codec.is_time().then(|| self.given_as(part.property, part.codec)).flatten();
        given.or_else(|| self.held(part.property))
    }

    fn given_as(&self, property: &str, bucket: Codec) -> Option<ValueRef<'_>> {
        let is_it = |it: &Component| it.bucket == bucket && is_same(it.property, property);
        self.given.get(self.way.components.iter().position(is_it)?)
    }

    /// What was given for a whole property.
    #[inline(never)]
    fn held(&self, property: &str) -> Option<ValueRef<'_>> {
        self.given.get(self.way.components.iter().position(|component| component.is_whole(property))?)
    }

    /// The first row of the list that the path names; none where each of its keys has a row of its own.
    pub(crate) fn list_row(&self) -> Result<Option<RowKey>> {
        if self.index_schema().is_none_or(|index| index.cover != Cover::List) {
            return Ok(None);
        }
        self.check()?;
        let row = self.row_template().encode(|part| self.value_of(part)).map_err(|error| self.key_error(error))?;
        match (self.partitions()?.pop(), row) {
            (Some(partition), Some(row)) => Ok(Some(RowKey { partition, row })),
            _ => Err(self.incomplete()),
        }
    }

    pub(crate) fn index_schema(&self) -> Option<&'static IndexSchema> {
        self.schema.indexes.get(self.way.index?)
    }

    fn row_template(&self) -> Template {
        self.index_schema().map_or(self.schema.row, |index| index.row)
    }

    fn check(&self) -> Result<()> {
        let Some((at, error)) = self.rest.as_deref().and_then(|rest| rest.error.as_ref()) else { return Ok(()) };
        let property = self.way.components.get(*at).map_or("", |component| component.property);
        let field = self.schema.field_of(property);
        let detail = format!("key field `{}`: {error}", field.unwrap_or(property));
        let told = Error::new(ErrorKind::Invalid, detail).of(self.schema.entity_type).of_field(field);
        Err(told.of_index(self.index_schema().map(|index| index.name)).caused_by(error.clone()))
    }

    fn key_error(&self, error: crate::key::KeyError) -> Error {
        key_error(self.schema, error, self.index_schema().map(|index| index.name))
    }

    fn partition_template(&self) -> Template {
        let elsewhere = self.index_schema().and_then(|index| index.elsewhere.as_ref());
        elsewhere.map_or(self.schema.partition, |elsewhere| elsewhere.partition)
    }

    /// The partition keys: one, or one per bucket where the buckets cannot be told yet.
    pub(crate) fn partitions(&self) -> Result<Vec<String>> {
        match (self.partition()?, self.partition_template().shards()) {
            (Some(partition), _) => Ok(vec![partition]),
            (None, Some(shards)) => (0..shards).map(|shard| self.in_shard(shard)).collect(),
            (None, None) => Err(self.incomplete()),
        }
    }

    /// The partition key; none where the buckets cannot be told yet.
    fn partition(&self) -> Result<Option<String>> {
        let mut partition = String::new();
        Ok(self.append_partition(&mut partition, |part| self.value_of(part))?.then_some(partition))
    }

    /// Appends the one partition; whether it is one.
    fn append_partition<'q>(&'q self, to: &mut String, values: impl Fn(&Part) -> Option<ValueRef<'q>>) -> Result<bool> {
        self.check()?;
        match self.partition_template().append(to, values, None) {
            Err(_) if self.partition_template().shards().is_some() => Ok(false),
            appended => appended.map_err(|error| self.key_error(error)),
        }
    }

    fn in_shard(&self, shard: u16) -> Result<String> {
        let key = self.partition_template().encode_in_shard(|part| self.value_of(part), shard);
        key.map_err(|error| self.key_error(error))?.ok_or_else(|| self.incomplete())
    }

    fn incomplete(&self) -> Error {
        Error::new(ErrorKind::Invalid, "a component of the key has no value").of(self.schema.entity_type)
    }

    fn rows(&self) -> Result<RowRange> {
        let next = match self.tail() {
            Tail::Any => Next::Any,
            Tail::Between(bounds) => {
                let [lower, upper] = bounds.each_ref().map(borrowed);
                Next::Between(lower, upper)
            }
            Tail::StartsWith(text) => Next::StartsWith(text),
        };
        if let Some(list) = self.list_row()? {
            return Ok(rooms::list::rows(&list.row));
        }
        self.row_template().range(|part| self.value_of(part), next).map_err(|error| self.key_error(error))
    }

    /// The primary key that a full primary path names.
    pub(crate) fn exact_key(&self) -> Result<RowKey> {
        let mut partitions = self.partitions()?;
        let row = self.row_template().encode(|part| self.value_of(part)).map_err(|error| self.key_error(error))?;
        match (self.way.index, partitions.pop(), row) {
            (None, Some(partition), Some(row)) if partitions.is_empty() => Ok(RowKey { partition, row }),
            (Some(_), ..) => {
                Err(Error::unsupported("a batch takes full primary keys, not index paths").of(self.schema.entity_type))
            }
            _ => Err(self.incomplete()),
        }
    }

    /// What to read.
    pub(crate) fn plan(&self) -> Result<ReadPlan> {
        let partitions = self.partitions()?;
        let rows = self.rows()?;
        let is_cut = self.way.index.is_none() && self.schema.is_joined();
        let rows = if is_cut && self.schema.has_parts() { part::with_parts(rows) } else { rows };
        let ranges = partitions.into_iter().map(|partition| KeyRange::rows(partition, rows.clone())).collect();
        Ok(ReadPlan { schema: self.schema, index: self.way.index, ranges, filter: None, select: self.select() })
    }

    /// Whether it is read right only as long as the states of the entity are as they were seen: by an index, or of an entity that
    /// moves.
    pub(crate) fn rests_on_states(&self) -> bool {
        rests_on_states(self.schema, self.way.index)
    }

    /// That the path's index is complete.
    pub(crate) fn check_ready(&self, states: &IndexStates) -> Result<()> {
        check_ready(self.schema, self.way.index, states)
    }

    pub(crate) fn explain(&self) -> Explain {
        let is_covered = |index: &IndexSchema| self.select().is_some() || index.cover == crate::schema::Cover::Whole;
        let loads = self.index_schema().is_some_and(|index| self.is_verified() || !is_covered(index));
        match self.plan() {
            Ok(plan) => Explain::of(&plan, self.index_schema(), loads),
            Err(error) => Explain::failed(self.schema, error),
        }
    }
}

/// That the index is complete.
pub(crate) fn check_ready(schema: &EntitySchema, index: Option<usize>, states: &IndexStates) -> Result<()> {
    let Some((at, index)) = index.and_then(|at| Some((at, schema.indexes.get(at)?))) else { return Ok(()) };
    let state = states.of(at);
    if state == IndexState::Readable {
        return Ok(());
    }
    let detail =
        format!("index `{}` is {}, not yet readable; `db.migrations().apply()` builds it", index.name, state.word());
    Err(Error::new(ErrorKind::IndexNotReady { index: index.name }, detail).of(schema.entity_type))
}

fn borrowed(bound: &Bound<Value>) -> Bound<ValueRef<'_>> {
    match bound {
        Bound::Included(value) => Bound::Included(value.as_ref()),
        Bound::Excluded(value) => Bound::Excluded(value.as_ref()),
        Bound::Unbounded => Bound::Unbounded,
    }
}
