//! What a path's terminals give, made from the rows they read.
//!
//! No I/O: loading what an index row names is `read`'s.

use tablemodel_store::{PropertyName, Row, RowKey};

use crate::{
    entity::{FieldReader, Projection, TableEntity},
    error::{Error, Result},
    key::Template,
    plan::{
        group::Group,
        image::{self, KeyValues},
        system,
    },
    rooms::index,
    schema::EntitySchema,
    stored::{Seen, Stored},
};

/// A result of a path, read from one row.
pub trait Found: Sized + Send + 'static {
    /// The entity.
    type Entity: TableEntity;
    /// Whether it is read from the primary row, also when the path is over an index.
    const OF_PRIMARY: bool;

    /// Reads it from a primary row, or from a row of the index at this position.
    #[doc(hidden)]
    fn read(index: Option<usize>, rows: Group) -> Result<Self>;
}

impl<E: TableEntity> Found for Stored<E> {
    type Entity = E;
    const OF_PRIMARY: bool = true;

    fn read(_index: Option<usize>, rows: Group) -> Result<Self> {
        Self::read(rows)
    }
}

impl<E: TableEntity> Found for Seen<E> {
    type Entity = E;
    const OF_PRIMARY: bool = false;

    fn read(_index: Option<usize>, rows: Group) -> Result<Self> {
        let row = rows.head;
        image::check_version(E::SCHEMA, &row)?;
        let key = owner(E::SCHEMA, &row)?;
        let keys = image::key_values(E::SCHEMA, &key)?;
        let value = E::read_fields(&FieldReader::new(&row.properties, &keys));
        Ok(Self::new(value.map_err(|error| image::corrupt(E::SCHEMA, &row, error))?, key))
    }
}

/// Reads a projection from a primary row, or from an index row that keeps its fields.
pub(crate) fn project<P: Projection>(index: Option<usize>, row: &Row) -> Result<P> {
    let schema = P::Of::SCHEMA;
    image::check_version(schema, row)?;
    let read = |keys: &KeyValues<'_>| {
        let value = P::read_fields(&FieldReader::new(&row.properties, keys));
        value.map_err(|error| image::corrupt(schema, row, error))
    };
    match index.and_then(|index| schema.indexes.get(index)) {
        None => read(&image::key_values(schema, &row.key)?),
        Some(index) => {
            let owner = owner(schema, row)?;
            let mut keys = image::key_values(schema, &owner)?;
            read_index_key(index.row, row, &mut keys)?;
            read(&keys)
        }
    }
}

fn read_index_key<'k>(template: Template, row: &'k Row, to: &mut KeyValues<'k>) -> Result<()> {
    template.read(&row.key.row, to).map_err(|error| {
        Error::corrupt("the key of an index row is not in the form of its index")
            .at_key(row.key.clone())
            .caused_by(error)
    })
}

/// The primary key that an index row belongs to.
pub(crate) fn owner(schema: &'static EntitySchema, row: &Row) -> Result<RowKey> {
    match system::owner_row(&row.properties) {
        Some(owner) => Ok(RowKey::new(row.key.partition.clone(), owner)),
        None => {
            Err(Error::corrupt("an index row does not name its entity").of(schema.entity_type).at_key(row.key.clone()))
        }
    }
}

/// The key of the row that the index at this position wants for a primary row; none while it wants none.
pub(crate) fn index_row(schema: &'static EntitySchema, index: usize, primary: &Row) -> Result<Option<String>> {
    image::check_version(schema, primary)?;
    let keys = image::key_values(schema, &primary.key)?;
    index::row_key(schema, index, |property| {
        let in_key = keys.iter().find(|(part, _)| part.property == property);
        in_key.map(|(_, value)| value.as_ref()).or_else(|| primary.properties.get(property))
    })
}

/// The stored properties to ask for, so that these can be read: those of keys need none, an index row's owner does.
pub(crate) fn selection(properties: &[&'static str], index: bool) -> Vec<PropertyName> {
    let system = [system::ENTITY_TYPE].into_iter().chain(index.then_some(system::OWNER_ROW));
    properties.iter().copied().chain(system).map(PropertyName::from_static).collect()
}
