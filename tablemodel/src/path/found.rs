//! What a path's terminals give, made from the rows they read.
//!
//! No I/O: loading what an index row names is `read`'s.

use tablemodel_store::{PropertyName, Row, RowKey, ValueRef};

use crate::{
    entity::{FieldReader, Projection, TableEntity},
    error::{Error, Result},
    key::{KeyValues, Template},
    path::{
        plan::ReadPlan,
        query::{PathQuery, PointKey},
    },
    plan::{group::Group, image, system, version},
    read::columns::InRow,
    schema::EntitySchema,
    stored::{Seen, Stored},
};

/// A result of a path, read from one row.
pub trait Found: Sized + Send + 'static {
    /// The entity.
    type Entity: TableEntity;
    /// Whether it is read from the primary row, also when the path is over an index.
    const OF_PRIMARY: bool;

    /// Reads it from a primary row, or from a row of the index at this position, which is of the program's own version.
    #[doc(hidden)]
    fn read(index: Option<usize>, rows: Group) -> Result<Self>;

    /// Reads it from a primary row of the program's own version as it was read where the store shows it, with what its keys hold.
    /// It is put where it is to be: it may be large.
    #[doc(hidden)]
    fn read_shown(row: &InRow<'_>, put: impl FnOnce(Self)) -> Result<()> {
        put(Self::read(None, row.row()?.into())?);
        Ok(())
    }
}

/// The values that the keys of an entity hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InKeys<'k>(Source<'k>);

/// Where they are known from.
#[derive(Debug, Clone, Copy)]
enum Source<'k> {
    /// They were read from the keys.
    Keys(&'k KeyValues<'k>),
    /// The keys were made from what was given for a full one.
    Asked(&'k PathQuery, &'k PointKey),
}

impl<'k> InKeys<'k> {
    /// Those that were read.
    pub(crate) const fn read(values: &'k KeyValues<'k>) -> Self {
        Self(Source::Keys(values))
    }

    /// Those of the entity at the full primary key of this query.
    pub(crate) const fn asked(query: &'k PathQuery, key: &'k PointKey) -> Self {
        Self(Source::Asked(query, key))
    }

    /// The value of a property that they hold, probably in the component at this place among those of both keys.
    #[inline]
    pub(crate) fn at(self, place: usize, property: &str) -> Option<ValueRef<'k>> {
        match self.0 {
            Source::Keys(values) => values.at(place, property),
            Source::Asked(query, key) => query.held_in(key, place, property),
        }
    }
}

impl<E: TableEntity> Found for Stored<E> {
    type Entity = E;
    const OF_PRIMARY: bool = true;

    fn read(_index: Option<usize>, rows: Group) -> Result<Self> {
        Self::read(rows)
    }

    #[inline]
    fn read_shown(row: &InRow<'_>, put: impl FnOnce(Self)) -> Result<()> {
        Self::read_shown(row, put)
    }
}

impl<E: TableEntity> Found for Seen<E> {
    type Entity = E;
    const OF_PRIMARY: bool = false;

    fn read(index: Option<usize>, rows: Group) -> Result<Self> {
        let Some(_) = index else { return Ok(Self::new(image::decode(&rows)?, rows.head.key)) };
        let row = rows.head;
        let key = owner(E::SCHEMA, &row)?;
        let keys = image::key_values(E::SCHEMA, &key)?;
        let value = E::read_fields(&FieldReader::new(&row.properties, &keys));
        Ok(Self::new(value.map_err(|error| image::corrupt(E::SCHEMA, &row, error))?, key))
    }
}

/// Reads a projection from a primary row, or from an index row that keeps its fields.
pub(crate) fn project<P: Projection>(index: Option<usize>, rows: &Group) -> Result<P> {
    let (schema, row) = (P::Of::SCHEMA, &rows.head);
    if index.is_none()
        && let Some(image) = version::upgraded(schema, rows)?
    {
        return image::read_image(&image, row, P::read_fields);
    }
    let read = |keys: &KeyValues<'_>| {
        let value = P::read_fields(&FieldReader::new(&row.properties, keys));
        value.map_err(|error| image::corrupt(schema, row, error))
    };
    match index.and_then(|index| schema.indexes.get(index)) {
        None => image::read_whole(schema, rows, &image::key_values(schema, &row.key)?, P::read_fields),
        Some(index) => {
            let owner = owner(schema, row)?;
            let mut keys = image::key_values(schema, &owner)?;
            if let Some(elsewhere) = &index.elsewhere {
                read_index_key(elsewhere.partition, row, &row.key.partition, &mut keys)?;
            }
            read_index_key(index.row, row, &row.key.row, &mut keys)?;
            // An element of a list in the key is not the list.
            read(&match index.each {
                Some(each) => keys.without(each.property),
                None => keys,
            })
        }
    }
}

fn read_index_key<'k>(template: Template, row: &Row, text: &'k str, to: &mut KeyValues<'k>) -> Result<()> {
    template.read(text, to).map_err(|error| {
        Error::corrupt("the key of an index row is not in the form of its index")
            .at_key(row.key.clone())
            .caused_by(error)
    })
}

/// The primary key that an index row belongs to.
pub(crate) fn owner(schema: &'static EntitySchema, row: &Row) -> Result<RowKey> {
    system::owner(row).ok_or_else(|| {
        Error::corrupt("an index row does not name its entity").of(schema.entity_type).at_key(row.key.clone())
    })
}

/// The stored properties to ask for, so that these can be read: those of keys need none, an index row's owner does.
pub(crate) fn selection(properties: &[&'static str], plan: &ReadPlan) -> Vec<PropertyName> {
    let owner: &[&str] = match (plan.index, plan.elsewhere()) {
        (None, _) => &[],
        (Some(_), None) => &[system::OWNER_ROW],
        (Some(_), Some(_)) => &[system::OWNER_ROW, system::OWNER_PARTITION, system::DEAD, system::CLAIM],
    };
    let system = [system::ENTITY_TYPE].into_iter().chain(owner.iter().copied());
    properties.iter().copied().chain(system).map(PropertyName::from_static).collect()
}
