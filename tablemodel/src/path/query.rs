//! The untyped half of a path: the components given so far, and the plan of what to read for them.
//!
//! Pure: a plan is data. Errors in values are kept until a terminal runs.

use std::ops::{Bound, RangeBounds};

use tablemodel_store::{Comparison, Filter, KeyRange, Row, RowKey, RowRange, Value, ValueRef};

use crate::{
    error::{Error, ErrorKind, Result},
    key::{Codec, KeyArg, KeyPart, KeyValue, KeyValues, Next, Part, Template, is_same},
    path::{
        explain::{CostClass, Explain},
        found::Asked,
        list::ListKind,
        state::PathKind,
    },
    plan::{
        change::is_primary,
        image::{key_error, key_values},
        part,
        states::IndexState,
        system,
    },
    property::ValueError,
    rooms,
    schema::{Cover, Elsewhere, EntitySchema, IndexSchema},
};

/// What one method of a path gives: a field, or a bucket of time of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// The stored name of the property.
    pub property: &'static str,
    /// [`Codec::Hour`], [`Codec::Day`] or [`Codec::Month`] for a bucket; [`Codec::Plain`] otherwise.
    pub bucket: Codec,
}

/// What is asked of the component after the given ones.
#[derive(Debug, Clone)]
enum Tail {
    Any,
    Between(Box<[Bound<Value>; 2]>),
    StartsWith(Box<str>),
}

/// The untyped query of a path. Small, since each method of a path hands it on.
#[derive(Debug, Clone)]
pub struct PathQuery {
    schema: &'static EntitySchema,
    index: Option<usize>,
    components: &'static [Component],
    given: Vec<Value>,
    tail: Tail,
    select: Option<&'static [&'static str]>,
    verified: bool,
    error: Option<Box<(usize, ValueError)>>,
}

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

impl PathQuery {
    /// The start of a path.
    pub fn new<K: PathKind>() -> Self {
        Self {
            schema: <K::Entity as crate::TableEntity>::SCHEMA,
            index: K::INDEX,
            components: K::COMPONENTS,
            given: Vec::with_capacity(K::COMPONENTS.len()),
            tail: Tail::Any,
            select: None,
            verified: false,
            error: None,
        }
    }

    /// The start of a path to a list.
    pub fn list<K: ListKind>() -> Self {
        Self {
            schema: <K::Entity as crate::TableEntity>::SCHEMA,
            index: Some(K::INDEX),
            components: K::COMPONENTS,
            given: Vec::with_capacity(K::COMPONENTS.len()),
            tail: Tail::Any,
            select: None,
            verified: true,
            error: None,
        }
    }

    /// With one more component.
    pub fn given<K: KeyPart>(self, value: impl KeyArg<K>) -> Self {
        self.push(value.to_key_value())
    }

    /// With a range on the next component.
    pub fn between<K: KeyPart, A: KeyArg<K>>(self, range: impl RangeBounds<A>) -> Self {
        let value = |bound: Bound<&A>| match bound {
            Bound::Included(value) => value.to_key_value().map(Bound::Included),
            Bound::Excluded(value) => value.to_key_value().map(Bound::Excluded),
            Bound::Unbounded => Ok(Bound::Unbounded),
        };
        match (value(range.start_bound()), value(range.end_bound())) {
            (Ok(start), Ok(end)) => Self { tail: Tail::Between(Box::new([start, end])), ..self },
            (Err(error), _) | (_, Err(error)) => self.push(Err(error)),
        }
    }

    /// With a prefix of the next component.
    pub fn starts_with(self, text: &str) -> Self {
        Self { tail: Tail::StartsWith(text.into()), ..self }
    }

    pub(crate) fn selecting(self, properties: &'static [&'static str]) -> Self {
        Self { select: Some(properties), ..self }
    }

    /// Each index row is checked against its entity.
    pub(crate) fn verified(self) -> Self {
        Self { verified: true, ..self }
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.verified || self.index_schema().is_some_and(|index| index.verified)
    }

    fn push(mut self, value: std::result::Result<Value, ValueError>) -> Self {
        match value {
            Ok(value) => self.given.push(value),
            Err(error) => drop(self.error.get_or_insert_with(|| Box::new((self.given.len(), error)))),
        }
        self
    }

    pub(crate) fn schema(&self) -> &'static EntitySchema {
        self.schema
    }

    pub(crate) fn index(&self) -> Option<usize> {
        self.index
    }

    /// The value of a part: the bucket given for it, or the whole value of its field.
    fn value_of(&self, part: &Part) -> Option<ValueRef<'_>> {
        self.given_for(part).map(Value::as_ref)
    }

    fn given_for(&self, part: &Part) -> Option<&Value> {
        let bucket = match part.codec {
            Codec::Hour | Codec::Day | Codec::Month => part.codec,
            _ => Codec::Plain,
        };
        let find = |bucket: Codec| {
            let is_it = |it: &Component| it.bucket == bucket && is_same(it.property, part.property);
            let at = self.components.iter().position(is_it)?;
            self.given.get(at)
        };
        match bucket {
            Codec::Plain => find(bucket),
            _ => find(bucket).or_else(|| find(Codec::Plain)),
        }
    }

    /// What the keys hold of an entity at the full key that the components name: what was given for it.
    pub(crate) fn asked(&self) -> Asked<'_> {
        let mut values = KeyValues::new();
        for part in self.schema.partition.parts().chain(self.schema.row.parts()).filter(|part| !part.codec.is_lossy()) {
            if let Some(value) = self.given_for(part) {
                values.push(part, KeyValue::given(value));
            }
        }
        Asked(values)
    }

    /// The first row of the list that the path names; none where each of its keys has a row of its own.
    pub(crate) fn list_row(&self) -> Result<Option<RowKey>> {
        if self.index_schema().is_none_or(|index| index.cover != Cover::List) {
            return Ok(None);
        }
        let row = self.row_template().encode(|part| self.value_of(part)).map_err(|error| self.key_error(error))?;
        match (self.partitions()?.pop(), row) {
            (Some(partition), Some(row)) => Ok(Some(RowKey { partition, row })),
            _ => Err(self.incomplete()),
        }
    }

    fn index_schema(&self) -> Option<&'static IndexSchema> {
        self.schema.indexes.get(self.index?)
    }

    fn row_template(&self) -> Template {
        self.index_schema().map_or(self.schema.row, |index| index.row)
    }

    fn check(&self) -> Result<()> {
        let Some((at, error)) = self.error.as_deref() else { return Ok(()) };
        let property = self.components.get(*at).map_or("", |component| component.property);
        let field = self.schema.property(property).map_or(property, |property| property.field);
        let detail = format!("key field `{field}`: {error}");
        Err(Error::new(ErrorKind::Invalid, detail).of(self.schema.entity_type).caused_by(error.clone()))
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
        self.check()?;
        match self.partition_template().encode(|part| self.value_of(part)) {
            Ok(partition) => Ok(partition),
            Err(_) if self.partition_template().shards().is_some() => Ok(None),
            Err(error) => Err(self.key_error(error)),
        }
    }

    /// The one key to read, where the components name one row of the entity's own partition: what [`PathQuery::plan`] would
    /// come to, without the plan.
    pub(crate) fn point(&self) -> Result<Option<RowKey>> {
        let is_one_row = !self.schema.is_joined() && self.index_schema().is_none_or(|index| index.elsewhere.is_none());
        let (Tail::Any, true) = (&self.tail, is_one_row) else { return Ok(None) };
        let Some(partition) = self.partition()? else { return Ok(None) };
        let row = self.row_template().encode(|part| self.value_of(part)).map_err(|error| self.key_error(error))?;
        Ok(row.map(|row| RowKey { partition, row }))
    }

    fn in_shard(&self, shard: u16) -> Result<String> {
        let key = self.partition_template().encode_in_shard(|part| self.value_of(part), shard);
        key.map_err(|error| self.key_error(error))?.ok_or_else(|| self.incomplete())
    }

    fn incomplete(&self) -> Error {
        Error::new(ErrorKind::Invalid, "a component of the key has no value").of(self.schema.entity_type)
    }

    fn rows(&self) -> Result<RowRange> {
        let next = match &self.tail {
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
        match (self.index, partitions.pop(), row) {
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
        let is_cut = self.index.is_none() && self.schema.is_joined();
        let rows = if is_cut { part::with_parts(rows) } else { rows };
        let ranges = partitions.into_iter().map(|partition| KeyRange::rows(partition, rows.clone())).collect();
        Ok(ReadPlan { schema: self.schema, index: self.index, ranges, filter: None, select: self.select })
    }

    /// That the path's index is complete.
    pub(crate) fn check_ready(&self, states: &crate::plan::states::IndexStates) -> Result<()> {
        let (Some(at), Some(index)) = (self.index, self.index_schema()) else { return Ok(()) };
        let state = states.of(at);
        if state == IndexState::Readable {
            return Ok(());
        }
        let detail = format!(
            "index `{}` is {}, not yet readable; `db.migrations().apply()` builds it",
            index.name,
            state.word()
        );
        Err(Error::new(ErrorKind::IndexNotReady { index: index.name }, detail).of(self.schema.entity_type))
    }

    pub(crate) fn explain(&self) -> Explain {
        let is_covered = |index: &IndexSchema| self.select.is_some() || index.cover == crate::schema::Cover::Whole;
        let loads = self.index_schema().is_some_and(|index| self.is_verified() || !is_covered(index));
        match self.plan() {
            Ok(plan) => Explain::of(&plan, self.index_schema(), loads),
            Err(error) => Explain::failed(self.schema, error),
        }
    }
}

fn borrowed(bound: &Bound<Value>) -> Bound<ValueRef<'_>> {
    match bound {
        Bound::Included(value) => Bound::Included(value.as_ref()),
        Bound::Excluded(value) => Bound::Excluded(value.as_ref()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// The discriminator of an entity's rows, or of those of its index.
pub(crate) fn row_type(schema: &'static EntitySchema, index: Option<usize>) -> &'static str {
    let index = index.and_then(|index| schema.indexes.get(index));
    index.map_or(schema.discriminator, |index| index.discriminator)
}

/// Whether a row, read by its key or without a condition, is one of the entity's, or of its index's.
pub(crate) fn owns(schema: &'static EntitySchema, index: Option<usize>, row: &Row) -> bool {
    match schema.adopt && index.is_none() {
        true => is_primary(schema, row) && key_values(schema, &row.key).is_ok(),
        false => {
            // Only a row elsewhere outlives its entity, or is there before it.
            let is_elsewhere = index.and_then(|at| schema.indexes.get(at)).is_some_and(|at| at.elsewhere.is_some());
            let is_nothing = || system::is_dead(&row.properties) || system::is_pending(&row.properties);
            system::is_of_type(&row.properties, row_type(schema, index)) && !(is_elsewhere && is_nothing())
        }
    }
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

    /// Only rows that satisfy this are the path's; none where each row has to be looked at.
    pub(crate) fn condition(&self) -> Option<Filter> {
        let of_type = self.heads_condition()?;
        Some(match &self.filter {
            // What an older row says is known once it is upgraded.
            Some(filter) if self.schema.has_ancestors() => of_type.and(filter.clone().or(self.of_another_version())),
            Some(filter) => of_type.and(filter.clone()),
            None if self.is_cut() => of_type.or(system::part_condition(self.schema.entity_type)),
            None => of_type,
        })
    }

    fn of_another_version(&self) -> Filter {
        Filter::compare(system::ENTITY_TYPE, Comparison::NotEqual, self.row_type())
    }

    /// The same, without the parts of entities.
    pub(crate) fn heads_condition(&self) -> Option<Filter> {
        (!self.is_adopted()).then(|| system::type_condition(self.row_type()))
    }

    /// Whether an entity of the path may be several rows.
    pub(crate) fn is_cut(&self) -> bool {
        self.index.is_none() && self.schema.is_joined()
    }

    /// Whether a row that was read without a condition is a part of one of the path's entities.
    pub(crate) fn owns_part(&self, row: &Row) -> bool {
        self.is_cut() && system::is_part_of(&row.properties, self.schema.entity_type)
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
