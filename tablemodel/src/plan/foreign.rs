//! Whose a plain row is: another program's, or one that the framework writes, which its entity's calls are for.
//!
//! Pure: told by what the row says, and by the keys that the templates of a model make.

use tablemodel_store::{Properties, RowKey};

use crate::{
    error::{Error, Result},
    plan::{
        change::{self, planned_row},
        image::key_values,
        system::{self, Named, RowKind},
    },
    schema::{EntitySchema, IndexSchema},
};

/// A call that writes a plain row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Insert,
    Replace,
    Delete,
}

impl Call {
    /// What does the same to an entity.
    const fn typed(self) -> &'static str {
        match self {
            Self::Insert => "`db.insert(..)` or `db.upsert(..)`",
            Self::Replace => "`db.save(..)` or `db.update(..)`",
            Self::Delete => "`db.delete(..)`",
        }
    }
}

/// A row as it is given, or as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain<'r> {
    /// The table, without the run-time prefix.
    pub(crate) table: &'r str,
    pub(crate) key: &'r RowKey,
    pub(crate) properties: &'r Properties,
}

/// That the row is of no type of the model, and none that the framework writes; of one that is to be new or to go, that no plan rests on what
/// stands at its key; of one that is to be new, that no row of an index is written over it later. `is_recorded` tells the entities that the
/// store has, those of other models too.
pub(crate) fn check(
    model: &[&'static EntitySchema],
    row: Plain<'_>,
    call: Call,
    is_recorded: impl Fn(&str) -> bool,
) -> Result<()> {
    check_space(&row.key.row)?;
    let listed = |entity: &str| model.iter().copied().find(|schema| schema.entity_type == entity);
    if let Some(named) = system::named(row.properties)
        && let Some(schema) = listed(named.entity)
    {
        return Err(of_entity(row, named, call).of(schema.entity_type));
    }
    check_kind(row, is_recorded)?;
    if let Some(schema) = adopter(model, row, call) {
        let detail =
            "the table is adopted, and a row of no other type at such keys is read as this entity: write it by";
        return Err(Error::unsupported(format!("{detail} {}", call.typed())).of(schema.entity_type));
    }
    match call {
        Call::Insert => check_unrelied(model, row).and_then(|()| check_free(model, row)),
        Call::Delete => check_unrelied(model, row),
        Call::Replace => Ok(()),
    }
}

/// That the key is not in the framework's own space.
fn check_space(row: &str) -> Result<()> {
    if row.starts_with("~~") || row.contains(" ~~") {
        let detail = "row keys that begin with `~~`, or hold ` ~~`, are of the framework's own rows, which come and go with their entities";
        return Err(Error::unsupported(detail));
    }
    Ok(())
}

/// That the row is of an entity of the model.
fn of_entity(row: Plain<'_>, named: Named<'_>, call: Call) -> Error {
    let told = told(row);
    Error::unsupported(match (named.kind, named.version) {
        ("", Some(_)) => format!(
            "a row of type `{told}` is of an entity of the model, and what is derived from that would not follow: write it by {}",
            call.typed()
        ),
        ("", None) => format!(
            "the type `{told}` is of an entity of the model, and names no version: mend the row past the framework, by \
             `db.store()`, and call `db.repair()`"
        ),
        _ => format!(
            "a row of type `{told}` comes and goes with an entity of the model: write that, or call `db.repair()`"
        ),
    })
}

/// That the row is none of an entity of another model, and of no kind that only the framework writes.
fn check_kind(row: Plain<'_>, is_recorded: impl Fn(&str) -> bool) -> Result<()> {
    let told = told(row);
    let remedy = "write it by the program whose model lists that, or list it in this one's";
    let detail = match system::kind(row.properties) {
        RowKind::Foreign => return Ok(()),
        RowKind::Primary { entity, .. } if entity.starts_with('~') => {
            format!("the framework alone writes rows of type `{told}`")
        }
        // Every row of ours has a number.
        RowKind::Primary { entity, .. }
            if row.properties.get_constant(system::SEQUENCE).is_some() || is_recorded(entity) =>
        {
            format!(
                "a row of type `{told}` is of the entity `{entity}` of another model, and what is derived from that would not follow: \
                 {remedy}"
            )
        }
        RowKind::Primary { .. } => return Ok(()),
        RowKind::Derived { entity, .. } | RowKind::Part { entity, .. } | RowKind::Tombstone { entity } => {
            format!("a row of type `{told}` comes and goes with the entity `{entity}` of another model: {remedy}")
        }
    };
    Err(Error::unsupported(detail))
}

fn told(row: Plain<'_>) -> &str {
    system::entity_type(row.properties).unwrap_or_default()
}

/// The entity that reads the row, of another program, as its own: by its keys alone where it is to be new; where one stands there, as reads and
/// `verify` tell, so that what comes as `other` can be written.
fn adopter(model: &[&'static EntitySchema], row: Plain<'_>, call: Call) -> Option<&'static EntitySchema> {
    let adopts = |schema: &&'static EntitySchema| {
        system::is_adopted(schema, row.properties) && schema.table.eq_ignore_ascii_case(row.table)
    };
    let by_keys = model.iter().copied().filter(adopts).find(|schema| key_values(schema, row.key).is_ok());
    match call {
        Call::Insert => by_keys,
        Call::Replace | Call::Delete => {
            by_keys?; // most rows have no such keys, and are not copied
            change::adopter(model, row.table, &planned_row(row.key.clone(), row.properties.clone()))
        }
    }
}

/// That no plan rests on a row of another type at the key. While there is one, no entity comes to stand there: a holder of copies looks no
/// further for its source then, and who takes an expired claim none for its owner.
fn check_unrelied(model: &[&'static EntitySchema], row: Plain<'_>) -> Result<()> {
    let all = model.iter().copied().flat_map(forms);
    let has_key =
        |form: &&'static EntitySchema| form.table.eq_ignore_ascii_case(row.table) && key_values(form, row.key).is_ok();
    for form in all.filter(has_key) {
        let why = match (is_copied(model, form), form.has_claims()) {
            (true, _) => "others copy it",
            (false, true) => "its unique values stand in other partitions",
            (false, false) => continue,
        };
        let detail = format!(
            "entity `{}` could have this key, and {why}: writes of other programs rest on what stands here, so a row of another type is \
             replaced here, and neither inserted nor deleted; do that by `db.store()`, past the framework, while no program writes",
            form.entity_type
        );
        return Err(Error::unsupported(detail).of(form.entity_type));
    }
    Ok(())
}

/// Whether an entity of the model, in whatever version or form, copies this one.
fn is_copied(model: &[&'static EntitySchema], source: &EntitySchema) -> bool {
    let versions = model.iter().copied().flat_map(forms).flat_map(EntitySchema::lineage);
    versions.flat_map(|holder| holder.copies).any(|copy| copy.source_type == source.entity_type)
}

/// The entity in its form, and in the other one where it moves.
fn forms(schema: &'static EntitySchema) -> impl Iterator<Item = &'static EntitySchema> {
    std::iter::once(schema).chain(schema.other_form())
}

/// That no index makes such keys: its rows are written over whatever stands there. (Entities are
/// not: their keys are free but for the above.)
fn check_free(model: &[&'static EntitySchema], row: Plain<'_>) -> Result<()> {
    let versions = model.iter().copied().flat_map(forms).flat_map(EntitySchema::lineage);
    let mut indexes = versions.flat_map(|schema| schema.indexes.iter().map(move |index| (schema, index)));
    match indexes.find(|(schema, index)| may_be_of(schema, index, row)) {
        Some((schema, index)) => {
            let detail =
                format!("rows of index `{}` have such keys, and are written over what stands there", index.name);
            Err(Error::unsupported(format!("{detail}: choose a key of another form")).of(schema.entity_type))
        }
        None => Ok(()),
    }
}

/// Whether rows of the index have keys of this form.
fn may_be_of(schema: &EntitySchema, index: &IndexSchema, Plain { table, key, .. }: Plain<'_>) -> bool {
    let (own, partition) = match &index.elsewhere {
        None => (schema.table, &schema.partition),
        Some(elsewhere) => (elsewhere.table, &elsewhere.partition),
    };
    own.eq_ignore_ascii_case(table) && index.row.decode(&key.row).is_ok() && partition.decode(&key.partition).is_ok()
}
