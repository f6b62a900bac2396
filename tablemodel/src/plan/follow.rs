//! Holders of which nothing but their own row changes with what they copy: each is written over as it was read, without a plan
//! of its own, so that thousands can follow one change of their source.
//!
//! What a copy holds is the room's to say. Nothing is read or written here.

use std::sync::OnceLock;

use tablemodel_store::{Action, Changed, Condition, PropertyName, Row, RowKey, Shown, Value};

use crate::{
    error::Result,
    key::KeyValues,
    plan::{
        change::{Context, is_primary, sequence_after},
        image::{self, Fields},
        states::{IndexState, Setting},
        system, version,
    },
    read::{
        columns::{Columns, InRow},
        fields::OfShown,
    },
    rooms::copy::{self, Source},
    schema::{AggregateSchema, CopySchema, EntitySchema, Function, IndexSchema, PropertySchema},
};

/// Whether a change of its copies changes no row of the holder but its own, and no other entity.
pub(crate) fn is_alone(schema: &'static EntitySchema, setting: &Setting) -> bool {
    let kinds = schema.indexes.len() + schema.copies.len() + schema.aggregates.len();
    // What is being built is written with every write of its entity.
    (0..kinds).all(|kind| setting.of(kind) == IndexState::Readable)
        && !setting.moving // with the rows of the form that it moves to
        && schema.shape.is_none()
        && !schema.has_ancestors() // a row of an older version is written with all its rows
        && !may_lack_default(schema)
        && schema.readable_by.is_none() // with what older programs read of it
        && !schema.holds_aggregates()
        && !schema.indexes.iter().any(|index| shows_copies(schema, index))
        && !schema.aggregates.iter().any(|aggregate| adds_copies(schema, aggregate))
        && !setting.copied.iter().any(|by| by.copy.properties.iter().any(|name| schema.copy_with(name).is_some()))
}

/// Whether a row may lack what is read as a default, and is written as a whole with it: a row of another program does, and one that
/// names its source by it must.
fn may_lack_default(schema: &'static EntitySchema) -> bool {
    let names_source =
        |property: &str| schema.copies.iter().flat_map(|copy| copy.key).any(|pair| pair.holder == property);
    let mut all = schema.properties().filter(|property| schema.adopt || names_source(property.property));
    all.any(PropertySchema::has_value_where_absent)
}

/// Whether rows of the index depend on a copy.
fn shows_copies(schema: &EntitySchema, index: &IndexSchema) -> bool {
    index.made_from().is_none_or(|mut names| names.any(|name| schema.copy_with(name).is_some()))
}

/// Whether what the entity adds to the aggregate depends on a copy.
fn adds_copies(schema: &EntitySchema, aggregate: &AggregateSchema) -> bool {
    let added = match aggregate.function {
        Function::Count => None,
        Function::Sum(name) | Function::Min(name) | Function::Max(name) => Some(name),
    };
    let asked = aggregate.when.map(|when| when.property);
    let in_key = aggregate.key.iter().map(|(_, name)| *name);
    in_key.chain(added).chain(asked).any(|name| schema.copy_with(name).is_some())
}

/// What one copy is to hold of one source.
#[derive(Debug)]
pub(crate) struct Held {
    copy: &'static CopySchema,
    source: RowKey,
    /// All that the copy may hold under the holder's names, in their order; `None` is what it holds nothing of.
    properties: Vec<(PropertyName, Option<Value>)>,
    /// By which values of its fields a holder named the source: another with these names it too.
    named_by: OnceLock<Vec<Value>>,
}

impl Held {
    /// What copies of these sources are to hold, as those are left.
    pub(crate) fn all(schema: &'static EntitySchema, sources: &[(Source, Option<Row>)]) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for copy in schema.copies {
            let of_copy = |(source, _): &&(Source, _)| source.schema.entity_type == copy.source_type;
            for (source, row) in sources.iter().filter(of_copy) {
                all.extend(Self::of(copy, source.key.clone(), row.as_ref())?);
            }
        }
        Ok(all)
    }

    /// What the copy is to hold of a source that is left like this; nothing where it stays as it is.
    fn of(copy: &'static CopySchema, source: RowKey, row: Option<&Row>) -> Result<Option<Self>> {
        if !copy::follows(copy, row) {
            return Ok(None);
        }
        let taken = copy::taken(copy, row)?;
        let mut properties: Vec<_> = copy
            .all_stored()
            .map(|stored| (PropertyName::from_static(stored), taken.get(stored).map(|value| value.to_value())))
            .collect();
        properties.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Some(Self { copy, source, properties, named_by: OnceLock::new() }))
    }

    fn is_of(&self, holder: &impl Fields) -> Result<bool> {
        let values = || self.copy.key.iter().map(|pair| holder.get(pair.holder));
        if self.named_by.get().is_some_and(|known| values().eq(known.iter().map(|value| Some(value.as_ref())))) {
            return Ok(true);
        }
        let names_it = copy::source(holder, self.copy)?.is_some_and(|source| source.key == self.source);
        if names_it {
            self.named_by.get_or_init(|| values().flatten().map(|value| value.to_value()).collect());
        }
        Ok(names_it)
    }

    /// Whether the row holds just that. The number of the source tells most apart, and is mostly the last.
    fn is_in(&self, row: &InRow<'_>) -> bool {
        self.properties.iter().rev().all(|(name, value)| row.find(name.as_str()) == value.as_ref().map(Value::as_ref))
    }

    fn change(&self) -> impl Iterator<Item = Changed<'_>> {
        self.properties.iter().map(|(name, value)| (name, value.as_ref().map(Value::as_ref)))
    }
}

/// Where a holder stands, and what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder<'h> {
    pub(crate) schema: &'static EntitySchema,
    /// [`Columns::of_copies`].
    pub(crate) columns: &'h Columns,
    pub(crate) key: &'h RowKey,
}

/// The write that makes the copies of a holder what they are to hold, over its row as it was read; nothing where they are so,
/// and where no holder stands there.
pub(crate) fn write(holder: Holder<'_>, row: &Shown<'_>, held: &[Held], context: Context) -> Result<Option<Action>> {
    let Holder { schema, columns, key } = holder;
    columns.read(row, |read| {
        if !read.is_of(schema.discriminator) && !is_other_holder(schema, read)? {
            return Ok(None);
        }
        let by_key = |held: &Held| held.copy.key.iter().any(|pair| schema.in_key(pair.holder));
        let keys = if held.iter().any(by_key) { image::key_values(schema, key)? } else { KeyValues::new() };
        let fields = OfShown { schema, key, keys: &keys, row: read };
        let mut own = Vec::with_capacity(1);
        for held in held {
            if held.is_of(&fields)? {
                own.push(held);
            }
        }
        if own.iter().all(|held| held.is_in(read)) {
            return Ok(None);
        }
        replace(schema, row, read, &own, context).map(Some)
    })
}

/// Whether a row that is not as programs of this version write it is a holder nevertheless, which they may write.
#[cold]
fn is_other_holder(schema: &'static EntitySchema, read: &InRow<'_>) -> Result<bool> {
    let row = read.row()?;
    Ok(is_primary(schema, &row) && version::check_writable(schema, &row).map(|()| true)?)
}

/// The row with what the copies are to hold in place of what they held, at the next number.
fn replace(
    schema: &'static EntitySchema,
    row: &Shown<'_>,
    read: &InRow<'_>,
    own: &[&Held],
    context: Context,
) -> Result<Action> {
    let sequence = sequence_after(system::told_sequence(read.get(system::SEQUENCE)), context.now);
    let before = read.get(system::OPERATIONS);
    let operations = context.operation.map(|operation| system::with_operation_told(before, operation));
    let stamps = system::stamps(schema.discriminator, sequence, operations.as_deref());
    let copied = own.iter().map(|held| held.properties.len()).sum::<usize>();
    let mut change = Vec::with_capacity(copied + stamps.size_hint().1.unwrap_or_default());
    own.iter().for_each(|held| change.extend(held.change()));
    change.extend(stamps);
    change.sort_unstable_by_key(|(name, _)| *name);
    Ok(Action::Replace(row.changed(&change)?, Condition::Match(row.etag())))
}
