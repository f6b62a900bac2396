//! Images: all fields of an entity as properties, those that its keys hold included; and back.
//!
//! The bridge between a user's struct, its stored primary row, and untyped planning.

use std::{borrow::Cow, sync::Arc};

use tablemodel_store::{Properties, PropertyName, Row, RowKey, Value, ValueRef};

use crate::{
    entity::{FieldError, FieldReader, FieldWriter, TableEntity, reads},
    error::{Error, ErrorKind, Result},
    key::{KeyError, KeyFault, KeyValues, NO_VALUES, Template},
    plan::{
        absent,
        copies::Renewal,
        entries::Entry,
        group::Group,
        shape, system,
        version::{self, Writer},
    },
    property::json,
    schema::{Derived, EntitySchema, PropertySchema},
};

/// Whether all fields of an entity can be read.
type Reads = fn(&Properties) -> std::result::Result<(), FieldError>;

/// An entity as planning sees it: its keys and all its fields.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// The format of its fields: that of the version that wrote it.
    pub(crate) schema: &'static EntitySchema,
    /// The format that the program knows the entity by: the same, or that of a newer version.
    pub(crate) latest: &'static EntitySchema,
    pub(crate) key: RowKey,
    /// Every field under its stored name, and the unknown properties of the stored row.
    pub(crate) fields: Properties,
    /// Blobs whose place is not settled: none of an image that is planned.
    #[cfg(feature = "blob")]
    pub(crate) blobs: Vec<crate::blob::Pending>,
    /// What its upgrade reads in place of some fields.
    pub(crate) fetched: Option<Arc<Properties>>,
    /// Of one of a frozen version that leaves copies out: what tells them.
    pub(crate) telling: Option<Arc<Image>>,
    /// Of what was stored, and is only written as new: what becomes of its copies by that.
    pub(crate) renewal: Option<Renewal>,
}

/// That a property may be absent: JSON that is `null` is, and is not what a field with another default reads then.
pub(crate) fn check_absent(schema: &'static EntitySchema, property: &PropertySchema) -> Result<()> {
    let default = property.default.filter(|_| property.codec == json::CODEC);
    match default.map(|default| default()) {
        Some(Ok(Some(_))) => {
            Err(invalid(schema, FieldError { property: property.property, error: json::null_for_default() }))
        }
        _ => Ok(()),
    }
}

impl Image {
    /// The image of a user's value, without its copies: those are the framework's to fill.
    pub(crate) fn of<E: TableEntity>(entity: &E) -> Result<Self> {
        let schema = E::SCHEMA;
        if schema.frozen {
            let detail = format!(
                "version {} is frozen: it tells how rows were, and nothing is written by it any more",
                schema.version
            );
            return Err(Error::unsupported(detail).of(schema.entity_type));
        }
        Self::made(entity)
    }

    /// The same, of a frozen version too: for a look at what it was.
    pub(crate) fn made<E: TableEntity>(entity: &E) -> Result<Self> {
        let schema = E::SCHEMA;
        let mut writer = FieldWriter::with_capacity(schema.property_count() + crate::schema::SYSTEM_PROPERTIES);
        entity.write_fields(&mut writer).map_err(|error| invalid(schema, error))?;
        Self::of_written(schema, writer, reads::<E>)
    }

    fn of_written(schema: &'static EntitySchema, writer: FieldWriter, reads: Reads) -> Result<Self> {
        let has_json = writer.has_json;
        let mut image = writer.into_image(schema)?;
        if has_json {
            image.check_reads_back(reads)?;
        }
        if !schema.copies.is_empty() {
            image.fields.retain(|name| !schema.copies.iter().any(|copy| copy.holds(name)));
        }
        Ok(image)
    }

    /// That the entity can be read back: serde's attributes on the type of a field that is JSON may not belong together.
    fn check_reads_back(&self, reads: Reads) -> Result<()> {
        #[cfg_attr(not(feature = "blob"), expect(unused_mut, reason = "only blobs are not there yet"))]
        let mut fields = Cow::Borrowed(&self.fields);
        #[cfg(feature = "blob")]
        for pending in &self.blobs {
            let [own, ..] = pending.names;
            fields.to_mut().set(PropertyName::from_static(own), ValueRef::Binary(&[]));
        }
        let unread = |FieldError { property, error }| FieldError { property, error: json::unreadable(&error) };
        let at_key = |error: Error| error.at_key(self.key.clone());
        reads(&fields).map_err(|error| at_key(invalid(self.schema, unread(error))))?;
        let mut absent = self.schema.properties().filter(|property| self.fields.get(property.property).is_none());
        absent.try_for_each(|property| check_absent(self.schema, property)).map_err(at_key)
    }

    /// The image with these fields; the key is made from them.
    pub(crate) fn new(schema: &'static EntitySchema, fields: Properties) -> Result<Self> {
        let partition = primary_part(schema, "partition key", schema.partition, &fields)?;
        let row = primary_part(schema, "row key", schema.row, &fields)?;
        Ok(Self::with(schema, RowKey { partition, row }, fields))
    }

    /// The image of a stored primary row as this program knows it: that of an older version is upgraded.
    pub(crate) fn stored(schema: &'static EntitySchema, rows: &Group) -> Result<Self> {
        match version::writer(schema, &rows.head)? {
            Writer::This | Writer::Newer(_) => Self::read(schema, schema, rows),
            Writer::Older(older) => Self::read(older, schema, rows)?.upgrade(),
        }
    }

    /// The image of a stored primary row as the version that wrote it has it: by it the rows are told that were derived from
    /// it. `UnknownVersion` where that is a newer one than this program's.
    pub(crate) fn written(schema: &'static EntitySchema, rows: &Group) -> Result<Self> {
        version::check_writable(schema, &rows.head)?;
        match version::writer(schema, &rows.head)? {
            Writer::This | Writer::Newer(_) => Self::read(schema, schema, rows),
            Writer::Older(older) => {
                let image = Self::read(older, schema, rows)?;
                Ok(Self { telling: image.telling().map(Arc::new), ..image })
            }
        }
    }

    fn read(schema: &'static EntitySchema, latest: &'static EntitySchema, rows: &Group) -> Result<Self> {
        let mut fields = shape::join(schema, rows)?;
        if schema.has_ancestors() {
            fields.retain(|name| !version::is_former(schema, name));
        }
        for (part, value) in key_values(schema, &rows.head.key)?.iter() {
            fields.set(PropertyName::from_static(part.property), value.as_ref());
        }
        for name in absent::told(schema, &fields) {
            fields.remove(name);
        }
        let absent = absent::defaults(schema, |property| fields.get_constant(property).is_some())?;
        if !absent.is_empty() {
            fields.merge(&absent);
        }
        let fetched = rows.fetched.clone();
        Ok(Self { latest, fetched, ..Self::with(schema, rows.head.key.clone(), fields) })
    }

    /// Whether the version that wrote it is the program's own.
    pub(crate) fn is_current(&self) -> bool {
        self.schema.version == self.latest.version
    }

    /// What an entry of this image is, as its row says.
    pub(crate) fn kind(&self, entry: &Entry) -> Option<Derived> {
        self.latest.derived_by(entry.index, self.schema.version)
    }

    /// The image with these fields of an entity that stands there; what its keys hold need not be among them.
    pub(super) fn at(schema: &'static EntitySchema, partition: &str, row: &str, fields: Properties) -> Self {
        Self::with(schema, RowKey::new(partition, row), fields)
    }

    fn with(schema: &'static EntitySchema, key: RowKey, fields: Properties) -> Self {
        Self {
            schema,
            latest: schema,
            key,
            fields,
            #[cfg(feature = "blob")]
            blobs: Vec::new(),
            fetched: None,
            telling: None,
            renewal: None,
        }
    }

    /// With some properties set, or taken away.
    pub(crate) fn with_sets(mut self, sets: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Self {
        for (property, value) in sets {
            match value {
                Some(value) => drop(self.fields.insert(PropertyName::from_static(property), value)),
                None => drop(self.fields.remove(property)),
            }
        }
        self
    }

    /// That no blob of the image is still to be uploaded: a row never links what is not there.
    pub(crate) fn check_settled(&self) -> Result<()> {
        #[cfg(feature = "blob")]
        if let Some(pending) = self.blobs.first() {
            let [property, ..] = pending.names;
            let detail = format!("property `{property}`: the blob was not uploaded; this operation takes none");
            let error = Error::unsupported(detail).of_field(self.schema.field_of(property));
            return Err(error.of(self.schema.entity_type).at_key(self.key.clone()));
        }
        Ok(())
    }

    /// The properties of the primary row, without the system's: what the keys hold is not stored twice.
    pub(crate) fn primary_properties(&self) -> Properties {
        self.fields.filtered(|name| !self.schema.in_key(name))
    }

    /// The image with what `stored` (all rows put together) holds and this version of the struct does not know.
    pub(crate) fn keeping_unknown(&self, stored: &Properties) -> Cow<'_, Self> {
        // What this version writes it knows: that is most, and both are in order of name.
        let mut written = self.fields.iter().map(|(name, _)| name).peekable();
        let mut is_written = |name: &PropertyName| {
            written.next_if(|written| *written == name).is_some() || {
                while written.next_if(|written| *written < name).is_some() {}
                written.next_if(|written| *written == name).is_some()
            }
        };
        let others = stored.iter().filter(|(name, _)| !is_written(name));
        let unknown = others.filter(|(name, _)| system::is_unknown(self.schema, name.as_str()));
        let mut image = Cow::Borrowed(self);
        unknown.for_each(|(name, value)| image.to_mut().fields.set(name.clone(), value));
        image
    }
}

/// The fields of an entity, those of its keys too.
pub(crate) trait Fields {
    /// Its format.
    fn schema(&self) -> &'static EntitySchema;
    /// Its key.
    fn key(&self) -> &RowKey;
    /// The value of the property with this name.
    fn get(&self, property: &'static str) -> Option<ValueRef<'_>>;
}

impl Fields for Image {
    fn schema(&self) -> &'static EntitySchema {
        self.schema
    }

    fn key(&self) -> &RowKey {
        &self.key
    }

    fn get(&self, property: &'static str) -> Option<ValueRef<'_>> {
        self.fields.get_constant(property)
    }
}

/// The fields of a stored entity where they stand: for a look at some of them, where an [`Image`] copies all.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    schema: &'static EntitySchema,
    key: &'a RowKey,
    in_key: KeyValues<'a>,
    others: Cow<'a, Properties>,
}

impl<'a> Stored<'a> {
    /// Those of these rows, as this program knows them.
    pub(crate) fn of(schema: &'static EntitySchema, rows: &'a Group) -> Result<Self> {
        let key = rows.key();
        if let Some(image) = version::upgraded(schema, rows)? {
            return Ok(Self { schema, key, in_key: KeyValues::new(), others: Cow::Owned(image.fields) });
        }
        let (in_key, mut others) = (key_values(schema, key)?, shape::whole(schema, rows)?);
        let nulls = absent::told(schema, &others);
        if !nulls.is_empty() {
            others.to_mut().retain(|name| !nulls.contains(&name));
        }
        let absent =
            absent::defaults(schema, |property| in_key.get(property).or(others.get_constant(property)).is_some())?;
        if !absent.is_empty() {
            others.to_mut().merge(&absent);
        }
        Ok(Self { schema, key, in_key, others })
    }
}

impl Fields for Stored<'_> {
    fn schema(&self) -> &'static EntitySchema {
        self.schema
    }

    fn key(&self) -> &RowKey {
        self.key
    }

    fn get(&self, property: &'static str) -> Option<ValueRef<'_>> {
        self.in_key.get(property).or_else(|| self.others.get_constant(property))
    }
}

fn primary_part(schema: &'static EntitySchema, which: &str, template: Template, fields: &Properties) -> Result<String> {
    let key = template.encode(|part| fields.get(part.property)).map_err(|error| match error.field {
        Some(_) if !matches!(error.fault, KeyFault::TooLong { .. }) => key_error(schema, error, None),
        _ => key_error(schema, error, None).within(which),
    })?;
    key.ok_or_else(|| Error::new(ErrorKind::Invalid, "a field of the primary key has no value").of(schema.entity_type))
}

/// The values that the primary keys hold.
pub(crate) fn key_values<'k>(schema: &'static EntitySchema, key: &'k RowKey) -> Result<KeyValues<'k>> {
    let mut values = KeyValues::new();
    let keys = [(schema.partition, &key.partition), (schema.row, &key.row)];
    let foreign = |error| foreign_key(schema, key.clone(), error);
    for (template, text) in keys {
        template.read(text, &mut values).map_err(foreign)?;
    }
    if schema.adopt {
        // A field that stands in both: what this program writes agrees by itself, another's may not.
        for (template, text) in keys {
            template.check_repeated(text, &values, 0).map_err(foreign)?;
        }
    }
    Ok(values)
}

/// The error for keys that are not in the form of their type.
pub(crate) fn foreign_key(schema: &'static EntitySchema, key: RowKey, error: KeyError) -> Error {
    let detail =
        "the keys of the row are not in the form of its type; another program wrote it, or a key template changed";
    Error::corrupt(detail).of(schema.entity_type).at_key(key).caused_by(error)
}

/// Reads an entity from its primary row.
pub(crate) fn decode<E: TableEntity>(rows: &Group) -> Result<E> {
    match version::upgraded(E::SCHEMA, rows)? {
        Some(image) => read_image(&image, &rows.head, E::read_fields),
        None => read_whole(E::SCHEMA, rows, &key_values(E::SCHEMA, &rows.head.key)?, E::read_fields),
    }
}

/// Reads fields from all rows of an entity.
pub(crate) fn read_whole<T>(
    schema: &'static EntitySchema,
    rows: &Group,
    keys: &KeyValues<'_>,
    read: fn(&FieldReader<'_>) -> std::result::Result<T, FieldError>,
) -> Result<T> {
    let mut reader = FieldReader::new(&rows.head.properties, keys);
    let chunked;
    if schema.shape.is_some() {
        chunked = shape::chunked_values(schema, rows)?;
        reader = reader.with(&mut rows.parts.iter().map(|part| &part.properties).chain([&chunked]));
    }
    read(&reader).map_err(|error| corrupt(schema, &rows.head, error))
}

/// Reads fields from an image.
pub(crate) fn read_image<T>(
    image: &Image,
    row: &Row,
    read: fn(&FieldReader<'_>) -> std::result::Result<T, FieldError>,
) -> Result<T> {
    read(&FieldReader::new(&image.fields, &NO_VALUES)).map_err(|error| corrupt(image.schema, row, error))
}

/// A stored value that does not fit its field: never read as a default.
pub(crate) fn corrupt(schema: &'static EntitySchema, row: &Row, error: FieldError) -> Error {
    let is_copy = schema.copies.iter().any(|copy| copy.property == error.property);
    let remedy = "; it is not filled yet, or of another form of its source: `db.migrations().apply()` writes it anew";
    let detail = format!("stored {error}{}", if is_copy { remedy } else { "" });
    let told = Error::corrupt(detail).of(schema.entity_type).of_field(schema.field_of(error.property));
    told.at_key(row.key.clone()).caused_by(error)
}

/// A field's value that cannot be stored.
pub(crate) fn invalid(schema: &'static EntitySchema, error: FieldError) -> Error {
    let field = schema.field_of(error.property);
    let detail = format!("field `{}`: {}", field.unwrap_or(error.property), error.error);
    Error::new(ErrorKind::Invalid, detail).of(schema.entity_type).of_field(field).caused_by(error)
}

/// A key of the entity, or of its index, that cannot be made.
pub(crate) fn key_error(schema: &'static EntitySchema, error: KeyError, index: Option<&'static str>) -> Error {
    // The key of an index may also hold the keys of its entity.
    let field = error.field.filter(|field| schema.properties().any(|own| own.field == *field));
    let told = key_fault(schema, error).of_field(field).of_index(index);
    index.into_iter().fold(told, |told, index| told.within(&format!("index `{index}`")))
}

/// A key of another entity that cannot be made of this one's fields: whoever asks tells of which.
pub(crate) fn key_fault(schema: &EntitySchema, error: KeyError) -> Error {
    let kind = match error.fault {
        KeyFault::TooLong { .. } => ErrorKind::KeyTooLong,
        KeyFault::Overflow { .. } | KeyFault::Negative => ErrorKind::KeyOverflow,
        _ => ErrorKind::Invalid,
    };
    Error::new(kind, error.to_string()).of(schema.entity_type).caused_by(error)
}
