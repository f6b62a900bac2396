//! Holders of which nothing but their own row changes with what they copy: each is written over as it was read, without a plan
//! of its own, so that thousands can follow one change of their source.
//!
//! What a copy holds is the room's to say. Nothing is read or written here.

use std::sync::OnceLock;

use tablemodel_store::{Action, Condition, Properties, Row, RowKey, Value};

use crate::{
    error::Result,
    plan::{
        change::{Context, is_primary, next_sequence},
        group::Group,
        image::{Fields, Stored},
        states::{IndexState, Setting},
        system, version,
    },
    rooms::copy::{self, Source},
    schema::{AggregateSchema, CopySchema, EntitySchema, Function, IndexSchema},
};

/// Whether a change of its copies changes no row of the holder but its own, and no other entity.
pub(crate) fn is_alone(schema: &'static EntitySchema, setting: &Setting) -> bool {
    let kinds = schema.indexes.len() + schema.copies.len() + schema.aggregates.len();
    // What is being built is written with every write of its entity.
    (0..kinds).all(|kind| setting.of(kind) == IndexState::Readable)
        && !setting.moving // with the rows of the form that it moves to
        && schema.shape.is_none()
        && !schema.has_ancestors() // a row of an older version is written with all its rows
        && schema.readable_by.is_none() // with what older programs read of it
        && !schema.holds_aggregates()
        && !schema.indexes.iter().any(|index| shows_copies(schema, index))
        && !schema.aggregates.iter().any(|aggregate| adds_copies(schema, aggregate))
        && !setting.copied.iter().any(|by| by.copy.properties.iter().any(|name| schema.copy_with(name).is_some()))
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
    /// Under the holder's names.
    properties: Properties,
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
        Ok(Some(Self { copy, source, properties: copy::taken(copy, row)?, named_by: OnceLock::new() }))
    }

    fn is_of(&self, holder: &Stored<'_>) -> Result<bool> {
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

    fn is_in(&self, properties: &Properties) -> bool {
        properties.iter().filter(|(name, _)| self.copy.holds(name.as_str())).eq(self.properties.iter())
    }
}

/// The write that makes the copies of a holder what they are to hold, over its row as it was read; nothing where they are so,
/// and where no holder stands there.
pub(crate) fn write(
    schema: &'static EntitySchema,
    row: Row,
    held: &[Held],
    context: Context,
) -> Result<Option<Action>> {
    if !is_primary(schema, &row) {
        return Ok(None);
    }
    version::check_writable(schema, &row)?;
    let holder = Group::from(row);
    let fields = Stored::of(schema, &holder)?;
    let mut own = Vec::with_capacity(1);
    for held in held {
        if held.is_of(&fields)? {
            own.push(held);
        }
    }
    let before = &holder.head.properties;
    if own.iter().all(|held| held.is_in(before)) {
        return Ok(None);
    }
    let mut after = replaced(before, &own);
    let sequence = next_sequence(before, context.now);
    let operations = context.operation.map(|operation| system::with_operation(Some(before), operation));
    system::stamp(&mut after, schema.discriminator, sequence, operations);
    Ok(Some(Action::Replace(after, Condition::Match(holder.head.etag.clone()))))
}

/// The properties, with what the copies are to hold in place of what they held.
fn replaced(before: &Properties, own: &[&Held]) -> Properties {
    let is_gone = |held: &&Held, name: &str| held.copy.holds(name) && held.properties.get(name).is_none();
    let mut after = before.filtered(|name| !own.iter().any(|held| is_gone(held, name)));
    own.iter().for_each(|held| after.merge(&held.properties));
    after
}
