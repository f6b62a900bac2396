//! Between a user's struct and the properties of a row: the traits that the derives implement, and the two helpers
//! that their one-line bodies call.
//!
//! No key is formatted here and no store is known.

use std::{cell::Cell, fmt};

use serde::{Serialize, de::DeserializeOwned};
use tablemodel_store::{Properties, PropertyName, Row, Value, ValueRef};

use crate::{
    error::Result,
    key::{KeyValues, NO_VALUES},
    plan::{group::Group, image::Image},
    property::{ValueError, json},
    read::columns::InRow,
    schema::{COPIED_SEQUENCE, EntitySchema, PropertySchema},
};

/// A struct kept in a table: implemented by `#[derive(TableEntity)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity",
    label = "not an entity",
    note = "write `#[derive(TableEntity)]` on the struct"
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
}

impl<P: Projection> CopyOf<P::Of> for P {
    const PROPERTIES: &'static [&'static str] = P::PROPERTIES;
    const OPTIONAL: bool = false;

    fn read_copy(from: Option<&Properties>) -> std::result::Result<Self, ValueError> {
        let properties = from.ok_or(ValueError::Missing)?;
        P::read_fields(&FieldReader::new(properties, &NO_VALUES)).map_err(|error| error.error)
    }
}

impl<P: Projection> CopyOf<P::Of> for Option<P> {
    const PROPERTIES: &'static [&'static str] = P::PROPERTIES;
    const OPTIONAL: bool = true;

    fn read_copy(from: Option<&Properties>) -> std::result::Result<Self, ValueError> {
        from.map(|properties| P::read_copy(Some(properties))).transpose()
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
pub trait TableModel: Sized + Send + Sync + 'static {
    /// Their stored formats.
    const ENTITIES: &'static [&'static EntitySchema];

    /// The variant for a primary row of one of the entities, or the `other` variant for any other row.
    ///
    /// Index rows and tombstones of known entities never come here.
    #[doc(hidden)]
    fn from_row(row: ModelRow) -> Result<Self>;
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

/// Collects the properties of an entity; one line per field in generated code.
#[derive(Debug)]
pub struct FieldWriter {
    properties: Properties,
    /// Of the first field that could not be written.
    error: Option<FieldError>,
    #[cfg(feature = "blob")]
    blobs: Vec<crate::blob::Pending>,
}

impl FieldWriter {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            properties: Properties::with_capacity(count),
            error: None,
            #[cfg(feature = "blob")]
            blobs: Vec::new(),
        }
    }

    /// Notes a blob that has to be uploaded before the properties are complete.
    #[cfg(feature = "blob")]
    pub(crate) fn add_blob(&mut self, blob: crate::blob::Pending) {
        self.blobs.push(blob);
    }

    /// The properties of what was written, where nothing is to be uploaded.
    pub(crate) fn into_properties(self) -> Properties {
        self.properties
    }

    /// The properties of what was written, with links to blobs and contents as they are; and those blobs that the next write
    /// of the entity puts elsewhere.
    #[cfg(feature = "blob")]
    pub(crate) fn into_linked(self) -> std::result::Result<(Properties, Vec<crate::blob::Pending>), String> {
        let (mut properties, mut moving) = (self.properties, Vec::new());
        for pending in self.blobs {
            let placed = pending.placed().ok_or("it makes a blob of what is not at hand")?;
            if !pending.stays(&placed) {
                moving.push(pending.clone());
            }
            for (name, value) in placed.properties(pending.names) {
                properties.insert(PropertyName::from_static(name), value);
            }
        }
        Ok((properties, moving))
    }

    /// The blobs of what was written that are not kept in the row.
    #[cfg(feature = "blob")]
    pub(crate) fn into_blobs(self) -> Vec<crate::Blob> {
        self.blobs.into_iter().map(|pending| pending.blob).collect()
    }

    /// The image of what was written.
    pub(crate) fn into_image(self, schema: &'static EntitySchema) -> Result<Image> {
        let image = Image::new(schema, self.properties)?;
        #[cfg(feature = "blob")]
        let image = Image { blobs: self.blobs, ..image };
        Ok(image)
    }

    /// A field that is one property; `None` leaves the property out.
    pub fn put(
        &mut self,
        property: &'static str,
        value: std::result::Result<Option<Value>, ValueError>,
    ) -> std::result::Result<(), FieldError> {
        self.set(property, value.map_err(|error| FieldError { property, error })?);
        Ok(())
    }

    /// As [`put`](Self::put), with its error kept for [`written`](Self::written).
    pub fn add(&mut self, property: &'static str, value: std::result::Result<Option<Value>, ValueError>) {
        match value {
            Ok(value) => self.set(property, value),
            Err(error) if self.error.is_none() => self.error = Some(FieldError { property, error }),
            Err(_) => {}
        }
    }

    /// A field marked `json`, as [`add`](Self::add).
    pub fn add_json<T: Serialize>(&mut self, property: &'static str, value: &T) {
        self.add(property, json::to_value(value));
    }

    /// The error of the first field that could not be added.
    pub fn written(&mut self) -> std::result::Result<(), FieldError> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn set(&mut self, property: &'static str, value: Option<Value>) {
        if let Some(value) = value {
            self.properties.set(PropertyName::from_static(property), value.as_ref());
        }
    }
}

/// How a type is read: its `from_value`.
type ReadValue<T> = fn(Option<ValueRef<'_>>) -> std::result::Result<T, ValueError>;

/// Gives the fields of an entity back; one line per field in generated code.
///
/// Fastest when fields are asked for in order of their stored names, as the derive does.
#[derive(Debug)]
pub struct FieldReader<'a> {
    source: Source<'a>,
    keys: &'a KeyValues<'a>,
    /// The further rows of an entity that is more than one.
    others: Vec<FieldReader<'a>>,
}

/// Where fields are read from.
#[derive(Debug)]
enum Source<'a> {
    /// Properties, and how far they were passed.
    Properties(&'a Properties, Cell<usize>),
    Shown(&'a InRow<'a>),
}

impl<'a> FieldReader<'a> {
    /// Reads from stored properties, and from the values that the keys hold.
    pub(crate) fn new(properties: &'a Properties, keys: &'a KeyValues<'a>) -> Self {
        Self { source: Source::Properties(properties, Cell::new(0)), keys, others: Vec::new() }
    }

    /// Reads from a row that a store shows, and from the values that its keys hold.
    #[inline]
    pub(crate) fn of_shown(row: &'a InRow<'a>, keys: &'a KeyValues<'a>) -> Self {
        Self { source: Source::Shown(row), keys, others: Vec::new() }
    }

    /// Reads from further rows of the entity too.
    pub(crate) fn with(mut self, others: impl Iterator<Item = &'a Properties>) -> Self {
        self.others = others.map(|properties| Self::new(properties, &NO_VALUES)).collect();
        self
    }

    fn value(&self, property: &'static str) -> Option<ValueRef<'a>> {
        if let Some(value) = self.keys.get(property) {
            return Some(value);
        }
        let value = match &self.source {
            Source::Shown(row) => return row.get(property),
            Source::Properties(properties, place) => {
                let mut at = place.get();
                let value = properties.get_from(&mut at, property);
                place.set(at);
                value
            }
        };
        if value.is_some() || self.others.is_empty() {
            return value;
        }
        self.others.iter().find_map(|other| other.value(property))
    }

    /// The value of a property under any name.
    fn find(&self, name: &str) -> Option<ValueRef<'a>> {
        match &self.source {
            Source::Properties(properties, _) => properties.get(name),
            Source::Shown(row) => row.find(name),
        }
    }

    /// A field that is one property, by its type's `from_value`.
    pub fn take<T>(&self, property: &'static str, read: ReadValue<T>) -> std::result::Result<T, FieldError> {
        read(self.value(property)).map_err(|error| FieldError { property, error })
    }

    /// A field that is one property, with a default where it is absent.
    pub fn take_or<T>(
        &self,
        property: &'static str,
        read: ReadValue<T>,
        default: impl FnOnce() -> T,
    ) -> std::result::Result<T, FieldError> {
        match self.value(property) {
            None => Ok(default()),
            value => read(value).map_err(|error| FieldError { property, error }),
        }
    }

    /// A field marked `json`.
    pub fn take_json<T: DeserializeOwned>(&self, property: &'static str) -> std::result::Result<T, FieldError> {
        json::from_value(self.value(property)).map_err(|error| FieldError { property, error })
    }

    /// A field that is a copy: of what is stored under its name, `_`, and a name of the source.
    pub fn take_copy<E, T: CopyOf<E>>(&self, property: &'static str) -> std::result::Result<T, FieldError> {
        let of = |name: &str| format!("{property}_{name}");
        let is_there = matches!(self.find(&of(COPIED_SEQUENCE)), Some(ValueRef::Int64(1..)));
        let named = |name: &&'static str| Some((PropertyName::from_static(name), self.find(&of(name))?.to_value()));
        let properties = is_there.then(|| T::PROPERTIES.iter().filter_map(named).collect::<Properties>());
        T::read_copy(properties.as_ref()).map_err(|error| FieldError { property, error })
    }

    /// A field marked `json`, with a default where it is absent.
    pub fn take_json_or<T: DeserializeOwned>(
        &self,
        property: &'static str,
        default: impl FnOnce() -> T,
    ) -> std::result::Result<T, FieldError> {
        match self.value(property) {
            None => Ok(default()),
            value => json::from_value(value).map_err(|error| FieldError { property, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Property;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = ["A", "B", "Ba", "C", "_seq"];

    proptest! {
        #[test]
        fn fields_are_found_whatever_order_they_are_asked_for_in(
            stored in prop::collection::btree_map(0..NAMES.len(), any::<i32>(), 0..5),
            asked in prop::collection::vec(0..NAMES.len(), 0..12),
        ) {
            let properties: Properties = stored.iter().map(|(name, value)| (NAMES[*name], *value)).collect();
            let reader = FieldReader::new(&properties, &NO_VALUES);
            for name in asked {
                let found = reader.take_or(NAMES[name], i32::from_value, || -1);
                prop_assert_eq!(found.unwrap(), stored.get(&name).copied().unwrap_or(-1));
            }
        }
    }
}
