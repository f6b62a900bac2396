//! Between a user's struct and the properties of a row: the traits that the derives implement. The two helpers that their
//! one-line bodies call are in `writer` and `reader`.
//!
//! No key is formatted here and no store is known.

mod reader;
mod writer;

use std::fmt;

use tablemodel_store::{Properties, Row};

pub use self::{reader::FieldReader, writer::FieldWriter};
use crate::{
    error::Result,
    key::NO_VALUES,
    plan::group::Group,
    property::ValueError,
    schema::{EntitySchema, PropertySchema},
};

/// A struct kept in a table: implemented by `#[derive(TableEntity)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity",
    label = "not an entity",
    note = "write `#[derive(TableEntity)]` on the struct; of a `Stored` or `Seen` that was read, give what is in it: `&*stored`"
)]
pub trait TableEntity: Sized + Send + Sync + 'static {
    /// The stored name of the entity: what `EntityType` begins with.
    const ENTITY_TYPE: &'static str;
    /// The stored format.
    const SCHEMA: &'static EntitySchema;

    /// Writes every field, those of the keys too.
    #[doc(hidden)]
    fn write_fields(&self, to: &mut FieldWriter) -> std::result::Result<(), FieldError>;

    /// Reads every field.
    #[doc(hidden)]
    fn read_fields(from: &FieldReader<'_>) -> std::result::Result<Self, FieldError>;

    /// Reads the fields that are copies, which a write fills.
    #[doc(hidden)]
    fn read_copies(&mut self, _: &FieldReader<'_>) -> std::result::Result<(), FieldError> {
        Ok(())
    }
}

/// A struct whose fields are properties of the entity that holds it: `#[derive(Property)]` on a struct with named
/// fields, used by `#[table(flatten)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group of properties",
    label = "cannot be flattened",
    note = "write `#[derive(Property)]` on a struct with named fields; a type that is one property needs no `flatten`"
)]
pub trait PropertyGroup: Sized + Send + Sync + 'static {
    /// The properties.
    const PROPERTIES: &'static [PropertySchema];

    /// Writes every field.
    #[doc(hidden)]
    fn write_fields(&self, to: &mut FieldWriter) -> std::result::Result<(), FieldError>;

    /// Reads every field.
    #[doc(hidden)]
    fn read_fields(from: &FieldReader<'_>) -> std::result::Result<Self, FieldError>;
}

/// Some properties of an entity: implemented by `#[derive(Projection)]`.
pub trait Projection: Sized + Send + Sync + 'static {
    /// The entity.
    type Of: TableEntity;
    /// The stored names of the properties it reads.
    const PROPERTIES: &'static [&'static str];

    /// Reads every field.
    #[doc(hidden)]
    fn read_fields(from: &FieldReader<'_>) -> std::result::Result<Self, FieldError>;
}

/// The type of a field that is a copy of properties of an entity: a projection of it, or an `Option` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a copy of `{E}`",
    label = "not a projection of `{E}`",
    note = "a copy is a struct with `#[derive(Projection)]` and `#[table(of = {E})]`, or an `Option` of one"
)]
pub trait CopyOf<E>: Sized {
    /// The stored names, on the source, of what is copied.
    const PROPERTIES: &'static [&'static str];
    /// Whether there may be no source.
    const OPTIONAL: bool;

    /// Reads the copy from the properties as the source has them; nothing where there is no source.
    #[doc(hidden)]
    fn read_copy(from: Option<&Properties>) -> std::result::Result<Self, ValueError>;

    /// Fails where the fields of a holder have no copy of this stored name that must be there, or have it in a form that is not read.
    #[doc(hidden)]
    fn check_stored(fields: &Properties, property: &'static str) -> std::result::Result<(), FieldError>;
}

impl<P: Projection> CopyOf<P::Of> for P {
    const PROPERTIES: &'static [&'static str] = P::PROPERTIES;
    const OPTIONAL: bool = false;

    fn read_copy(from: Option<&Properties>) -> std::result::Result<Self, ValueError> {
        let properties = from.ok_or(ValueError::Missing)?;
        P::read_fields(&FieldReader::new(properties, &NO_VALUES)).map_err(|error| error.error)
    }

    fn check_stored(fields: &Properties, property: &'static str) -> std::result::Result<(), FieldError> {
        FieldReader::new(fields, &NO_VALUES).take_copy::<P::Of, P>(property).map(drop)
    }
}

impl<P: Projection> CopyOf<P::Of> for Option<P> {
    const PROPERTIES: &'static [&'static str] = P::PROPERTIES;
    const OPTIONAL: bool = true;

    fn read_copy(from: Option<&Properties>) -> std::result::Result<Self, ValueError> {
        // An older version copied less, or in another form: none until it is taken anew. What is stored stays.
        Ok(from.and_then(|properties| P::read_copy(Some(properties)).ok()))
    }

    fn check_stored(fields: &Properties, property: &'static str) -> std::result::Result<(), FieldError> {
        match P::check_stored(fields, property) {
            Err(FieldError { error: ValueError::Missing, .. }) => Ok(()),
            other => other,
        }
    }
}

/// A field of a holder that gives the value of a field of type `T` of a source's key: `T`, or `Option<T>`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot stand for one of type `{T}` in the key of a source",
    label = "the field of the source is a `{T}`",
    note = "give the field the type `{T}`, or `Option<{T}>`"
)]
pub trait CopyKeyOf<T> {}

impl<T> CopyKeyOf<T> for T {}

impl<T> CopyKeyOf<T> for Option<T> {}

/// The entities of an application: implemented by `#[derive(TableModel)]` on an enum with one variant per entity.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "not a model",
    note = "a database is opened with a model: list each entity as a variant of an enum with `#[derive(TableModel)]`, and \
            name that enum here"
)]
pub trait TableModel: Sized + Send + Sync + 'static {
    /// Their stored formats.
    const ENTITIES: &'static [&'static EntitySchema];

    /// The variant for a primary row of one of the entities, or the `other` variant for any other row.
    ///
    /// Index rows and tombstones of known entities never come here.
    #[doc(hidden)]
    fn from_row(row: ModelRow) -> Result<Self>;
}

/// What a variant for all other rows holds.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a variant marked `other` holds rows as they are, and `{Self}` is none",
    label = "not `Row`",
    note = "write `Other(Row)` with `tablemodel::Row`, or take `#[table(other)]` from a variant that holds an entity"
)]
pub trait OtherRow {
    /// Of the row.
    fn of(row: ModelRow) -> Self;
}

impl OtherRow for Row {
    fn of(row: ModelRow) -> Self {
        row.into_row()
    }
}

/// A row on its way into a [`TableModel`].
#[derive(Debug)]
pub struct ModelRow {
    pub(crate) rows: Group,
    pub(crate) schema: Option<&'static EntitySchema>,
}

impl ModelRow {
    /// Whether this is a primary row of `E`.
    pub fn is<E: TableEntity>(&self) -> bool {
        self.is_of(E::SCHEMA)
    }

    /// Whether this is a primary row of the entity with this format.
    #[doc(hidden)]
    pub fn is_of(&self, schema: &'static EntitySchema) -> bool {
        self.schema.is_some_and(|own| own.entity_type == schema.entity_type)
    }

    /// The entity.
    pub fn read<E: TableEntity>(self) -> Result<E> {
        crate::plan::image::decode::<E>(&self.rows)
    }

    /// The row as it is stored, system properties included.
    pub fn into_row(self) -> Row {
        self.rows.head
    }

    /// The error for a row of a type that the model has no variant for.
    pub fn unknown<M>(self) -> Result<M> {
        Err(crate::Error::unsupported(format!(
            "the row is of a type that the model does not list (`{}`); add a variant `#[table(other)] Other(Row)`",
            crate::plan::system::entity_type(&self.rows.head.properties).unwrap_or("no EntityType")
        ))
        .at_key(self.rows.head.key))
    }
}

/// Whether all fields can be read as those of the entity, its copies aside: these are read last. For generated code.
#[doc(hidden)]
pub fn reads<E: TableEntity>(fields: &Properties) -> std::result::Result<(), FieldError> {
    let is_copy = |error: &FieldError| E::SCHEMA.copies.iter().any(|copy| copy.property == error.property);
    let read = E::read_fields(&FieldReader::new(fields, &NO_VALUES)).map(drop);
    read.or_else(|error| if is_copy(&error) { Ok(()) } else { Err(error) })
}

/// A value that does not fit its property, or the other way round.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The stored name of the property.
    pub property: &'static str,
    /// What was wrong.
    pub error: ValueError,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "property `{}`: {}", self.property, self.error)
    }
}

impl std::error::Error for FieldError {}
