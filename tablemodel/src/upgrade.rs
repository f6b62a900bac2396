#![doc = include_str!("../docs/upgrades.md")]
//!
//! In this module nothing is read or written; which rows are upgraded, and when, is decided in `plan` and `read`.

use std::{error::Error as StdError, fmt, sync::Arc};

use tablemodel_store::Properties;

use crate::{
    check::{fail, nth, same_key},
    check_move::check_alone,
    entity::{FieldError, FieldReader, FieldWriter, TableEntity},
    error::Error,
    format::IS_ON,
    key::NO_VALUES,
    schema::{Convert, EntitySchema, Previous, SYSTEM_PROPERTIES, at, same},
};

/// How an entity is made of one of the version before it.
///
/// It is called for every row of that version that is read, and again for the same row until it is written anew: so it is
/// pure, without a clock, chance, or anything but `old`. [`testing::upgrade_is_pure`](crate::testing::upgrade_is_pure) helps
/// to see to that. Fields of the key stay as they are: a changed key is a [move](crate::moves).
///
/// ```
/// use tablemodel::{Upgrade, UpgradeError, prelude::*};
///
/// #[derive(TableEntity)]
/// #[table(name = "People", entity_type = "Person", frozen, partition = "{country}", row = "{id:06}")]
/// struct PersonV1 {
///     country: String,
///     id: u32,
///     name: String,
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "People", version = 2, previous = PersonV1, partition = "{country}", row = "{id:06}")]
/// struct Person {
///     country: String,
///     id: u32,
///     first_name: String,
///     last_name: String,
/// }
///
/// impl Upgrade<PersonV1> for Person {
///     fn upgrade(old: PersonV1) -> Result<Self, UpgradeError> {
///         let (first, last) = old.name.split_once(' ').ok_or_else(|| UpgradeError::new("a name without a space"))?;
///         let (first_name, last_name) = (first.to_owned(), last.to_owned());
///         Ok(Self { country: old.country, id: old.id, first_name, last_name })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "rows of `{Old}` cannot be read as `{Self}`: nothing says how to upgrade them",
    label = "`{Self}` has no `Upgrade<{Old}>`",
    note = "write `impl Upgrade<{Old}> for {Self} {{ fn upgrade(old: {Old}) -> Result<Self, UpgradeError> {{ .. }} }}`"
)]
pub trait Upgrade<Old>: Sized {
    /// The entity as this version has it.
    ///
    /// # Errors
    ///
    /// Whatever makes this row impossible to upgrade. Reading it is then `UpgradeFailed`, and nothing writes it.
    fn upgrade(old: Old) -> Result<Self, UpgradeError>;
}

/// How an entity looks to programs of the version before it, where both run at the same time.
///
/// With `#[table(previous = EmployeeV1, readable_by = 1, downgrade)]`, each row holds what the older version reads beside
/// what this one does. Pure, as [`Upgrade`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shown to programs that know `{Old}`",
    label = "`{Self}` has no `Downgrade<{Old}>`",
    note = "write `impl Downgrade<{Old}> for {Self} {{ fn downgrade(&self) -> {Old} {{ .. }} }}`, or leave out `downgrade`"
)]
pub trait Downgrade<Old> {
    /// The entity as the older version has it.
    fn downgrade(&self) -> Old;
}

/// Why a row of an older version could not be upgraded.
#[derive(Debug, Clone)]
pub struct UpgradeError {
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    /// The blob whose content is to be fetched first.
    #[cfg(feature = "blob")]
    asks: Option<Arc<crate::blob::Link>>,
}

impl UpgradeError {
    /// An error with what was wrong. The entity, its key and the versions are added by the framework.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
            #[cfg(feature = "blob")]
            asks: None,
        }
    }

    /// That the content of a blob has to be fetched first.
    #[cfg(feature = "blob")]
    pub(crate) fn asking(link: crate::blob::Link) -> Self {
        let message = format!("the content of blob `{}` is not at hand", link.name);
        Self { asks: Some(Arc::new(link)), ..Self::new(message) }
    }

    /// The same error, caused by another.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }
}

impl fmt::Display for UpgradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for UpgradeError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The blob whose content is to be fetched before the entity can be upgraded, if that is why it could not be.
#[cfg(feature = "blob")]
pub(crate) fn asked_for(error: &Error) -> Option<&crate::blob::Link> {
    error.source()?.downcast_ref::<UpgradeError>()?.asks.as_deref()
}

/// Whether the upgrade failed for the want of a blob's content.
pub(crate) fn asks(error: &Error) -> bool {
    #[cfg(feature = "blob")]
    return asked_for(error).is_some();
    #[cfg(not(feature = "blob"))]
    return {
        let _ = error;
        false
    };
}

/// Why the fields of one version did not become those of another.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The stored row is not what its version says.
    Read(FieldError),
    /// The user's code refused it.
    Refused(UpgradeError),
    /// What it was made cannot be stored.
    Write(FieldError),
}

impl Fault {
    /// The field that it is about, of the version that was read or of the one that was made.
    pub(crate) fn field(&self, read: &'static EntitySchema, made: &'static EntitySchema) -> Option<&'static str> {
        match self {
            Self::Read(error) => read.field_of(error.property),
            Self::Write(error) => made.field_of(error.property),
            Self::Refused(_) => None,
        }
    }
}

impl Previous {
    /// The version `Old` before `New`. For generated code.
    #[doc(hidden)]
    pub const fn of<Old: TableEntity, New: TableEntity + Upgrade<Old>>() -> Self {
        Self::with(Old::SCHEMA, upgrade::<Old, New>, None)
    }

    /// The same, where programs of both run. For generated code.
    #[doc(hidden)]
    pub const fn both_ways<Old: TableEntity, New: TableEntity + Upgrade<Old> + Downgrade<Old>>() -> Self {
        Self::with(Old::SCHEMA, upgrade::<Old, New>, Some(downgrade::<Old, New>))
    }

    const fn with(schema: &'static EntitySchema, upgrade: Convert, downgrade: Option<Convert>) -> Self {
        let (parts, blobs) = (schema.has_parts(), schema.has_blobs() || schema.had_blobs());
        Self { schema, upgrade, downgrade, parts, blobs }
    }

    pub(crate) fn upgrade(&self) -> Convert {
        self.upgrade
    }
}

/// How the fields of `Old` become those of `New`.
pub(crate) const fn convert<Old: TableEntity, New: TableEntity + Upgrade<Old>>() -> Convert {
    upgrade::<Old, New>
}

fn upgrade<Old: TableEntity, New: TableEntity + Upgrade<Old>>(fields: &Properties) -> Result<FieldWriter, Fault> {
    let old = Old::read_fields(&FieldReader::new(fields, &NO_VALUES)).map_err(Fault::Read)?;
    #[cfg(feature = "blob")]
    let blobs = if Old::SCHEMA.has_blobs() { written(&old)?.into_blobs() } else { Vec::new() };
    let new = New::upgrade(old);
    // Also where the upgrade went on without the content.
    #[cfg(feature = "blob")]
    if let Some(link) = blobs.iter().find_map(crate::Blob::asked) {
        return Err(Fault::Refused(UpgradeError::asking(link)));
    }
    written(&new.map_err(Fault::Refused)?)
}

fn downgrade<Old: TableEntity, New: TableEntity + Downgrade<Old>>(fields: &Properties) -> Result<FieldWriter, Fault> {
    let new = New::read_fields(&FieldReader::new(fields, &NO_VALUES)).map_err(Fault::Read)?;
    written(&new.downgrade())
}

fn written<E: TableEntity>(entity: &E) -> Result<FieldWriter, Fault> {
    let mut writer = FieldWriter::with_capacity(E::SCHEMA.property_count() + SYSTEM_PROPERTIES);
    entity.write_fields(&mut writer).map_err(Fault::Write)?;
    Ok(writer)
}

/// Fails unless rows of the version before can be read where they stand; `written` is what the user calls it.
#[track_caller]
pub const fn check_previous(schema: &EntitySchema, written: &str) {
    let Some(previous) = &schema.previous else { return };
    let (old, of) = (previous.schema, schema.entity_type);
    if old.has_mistakes() {
        return;
    }
    if !same(old.entity_type, of) {
        let remedy = "`: write `entity_type = \"";
        fail(&["`", written, "` is a version of `", old.entity_type, "`, not of `", of, remedy, of, "\"` on it"])
    }
    if old.version >= schema.version {
        let remedy = "` must have a lower version than the struct that names it: raise `version = ..` there";
        fail(&["the previous version `", written, remedy])
    }
    if !old.table.eq_ignore_ascii_case(schema.table) {
        let remedy = "`: an entity moves to another table by `moved_from = ..` in place of `previous = ..`";
        fail(&["`", written, "` is kept in table `", old.table, "`, not in `", schema.table, remedy])
    }
    if !same_key(&old.partition, &schema.partition) || !same_key(&old.row, &schema.row) {
        let remedy = "` are written in another form, so that its rows stand elsewhere: a row is upgraded where it \
                      stands, and moves to changed keys by `moved_from = ..` in place of `previous = ..`";
        fail(&["the keys of `", written, remedy])
    }
    if previous.downgrade.is_some() && schema.shape.is_some() {
        fail(&["an entity of several rows cannot hold what older programs read beside its own: leave out `downgrade`"])
    }
    check_adopt(schema);
    check_indexes(schema);
}

/// That no index has the keys of another one of a version before, whose rows stand there until they are rewritten.
#[track_caller]
const fn check_indexes(schema: &EntitySchema) {
    let mut newer = schema;
    while let Some(previous) = &newer.previous {
        let old = previous.schema;
        if let Some((own, its)) = schema.mistaken_for(old) {
            let (own, its) = (at(schema.indexes, own).name, at(old.indexes, its).name);
            let remedy = "`, whose rows stand there until they are written anew: let it keep its name and what it is, or give it \
                          other keys: another table, or a row key that begins with another literal";
            fail(&["index `", own, "` has the keys of `", its, "` of `", old.path, remedy])
        }
        newer = old;
    }
}

/// Fails unless it can go on with what each version before added to its aggregates, and those say it: else it would be added once
/// more with the next write.
#[track_caller]
pub const fn check_added(schema: &EntitySchema) {
    let mut newer = schema;
    while let Some(previous) = &newer.previous
        && same(previous.schema.entity_type, schema.entity_type)
    {
        let mut aggregates = schema.aggregates;
        while let [aggregate, tail @ ..] = aggregates {
            if let Some(how) = aggregate.otherwise_in(schema, previous.schema) {
                let (field, of) = (aggregate.name, aggregate.target.entity_type);
                let remedy = ", so that what is stored would be misread: keep this one under another name";
                fail(&["`", previous.schema.path, "` adds to `", field, "` of `", of, "` ", how, remedy])
            }
            if IS_ON && aggregate.is_left_out_of(previous.schema) {
                let (field, of) = (aggregate.name, aggregate.target.entity_type);
                let remedy = "`, so that each write would add it once more: declare its `count(..)`, or what it was, on that struct";
                let old = previous.schema.path;
                fail(&["`", old, "` leaves out what tablemodel.lock has it add to `", field, "` of `", of, remedy])
            }
            aggregates = tail;
        }
        newer = previous.schema;
    }
}

/// That rows of other programs, which are read as version 1, can become this version's.
#[track_caller]
const fn check_adopt(schema: &EntitySchema) {
    let mut oldest = schema;
    while let Some(previous) = &oldest.previous {
        oldest = previous.schema;
    }
    if schema.adopt && oldest.version > 1 {
        let remedy = "`, which is not among the versions before: name its struct by `previous = ..` on the oldest, or remove `adopt`";
        fail(&["`adopt` reads rows of other programs as version 1 of `", schema.entity_type, remedy])
    }
}

/// Fails if the entity at this place of a model only tells how rows were.
#[track_caller]
pub const fn check_listed(entities: &[(&str, &EntitySchema)], place: usize) {
    if let Some((name, schema)) = nth(entities, place) {
        check_alone(entities, name, schema);
    }
    if let Some((name, schema)) = nth(entities, place)
        && schema.frozen
    {
        fail(&[
            "`",
            name,
            "` is frozen, and nothing is kept by it: list the struct of the newest version of `",
            schema.entity_type,
            "`",
        ])
    }
}
