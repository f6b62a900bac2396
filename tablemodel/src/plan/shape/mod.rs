//! Shapes: an entity as the rows it is stored in. Cut into a head and parts, joined again, and the writes that lead from
//! its old rows to its new ones.
//!
//! What goes into which row is the rooms' ([`wide`](crate::rooms::wide), [`chunked`](crate::rooms::chunked)); an entity
//! without a shape passes through as its one row.

use std::borrow::Cow;

use tablemodel_store::{
    Action, Condition, DateTime, Properties, PropertyName, Row, RowKey, Value, ValueRef, limits, size,
};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Before, PlannedRow, Role, stale_etag},
        group::Group,
        image::Image,
        part::{self, Generation, MAX_PARTS, Marks, PartName},
        system,
    },
    rooms::{chunked, wide},
    schema::{BLOB, EntitySchema, Shape},
};

/// Bytes kept free in a row for the framework's own properties, beside those that hold keys and types.
const SYSTEM_BYTES: usize = 512;

/// The rows of an image, without the system's properties.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) head: Properties,
    pub(crate) parts: Vec<Properties>,
}

/// The image as rows.
///
/// `TooLarge` if a value does not fit in a property, or the entity not in its parts.
pub(crate) fn cut(image: &Image) -> Result<Cut> {
    cut_beside(image, 0)
}

/// The same, where each row holds so many bytes beside what is of the image.
pub(crate) fn cut_beside(image: &Image, beside: usize) -> Result<Cut> {
    let mut plain = image.primary_properties();
    let Some(shape) = &image.schema.shape else { return Ok(Cut { head: plain, parts: Vec::new() }) };
    let mut values = Vec::new();
    for property in shape.chunked {
        values.extend(plain.remove(property).map(|value| chunked::cut(property, value.as_ref())));
    }
    plain.retain(|name| !shape.chunked.iter().any(|property| chunked::is_of(property, name)));
    let long = long_contents(image.schema, &plain);
    if !long.is_empty() {
        plain.retain(|name| long.get(name).is_none());
    }
    check_values(image.schema, &image.key, &plain)?;
    let mut rows = wide::deal(image.schema, shape, &plain, values, room(image, beside)).into_iter();
    let mut cut = Cut { head: rows.next().unwrap_or_default(), parts: rows.collect() };
    check_parts(image, &cut)?;
    cut.head.merge(&long);
    Ok(cut)
}

/// Contents of blobs that no property of a store holds. What is written has links in their place: golden rows alone have them, in the head.
fn long_contents(schema: &'static EntitySchema, plain: &Properties) -> Properties {
    let long = plain.iter().filter(|(name, value)| {
        matches!(value, ValueRef::Binary(bytes) if bytes.len() > limits::MAX_BINARY_BYTES)
            && schema.property(name.as_str()).is_some_and(|property| property.codec == BLOB)
    });
    long.map(|(name, value)| (name.clone(), value.to_value())).collect()
}

/// Bytes that the rows have for the entity's own properties.
fn room(image: &Image, beside: usize) -> wide::Room {
    let bytes = |row: &str| {
        let keys = size::row_bytes(&image.key.partition, row, &Properties::new());
        limits::MAX_ROW_BYTES.saturating_sub(keys + beside + SYSTEM_BYTES + 4 * image.schema.discriminator.len())
    };
    let longest = PartName { generation: Generation::Own(0), number: MAX_PARTS }.key(&image.key.row);
    let owner = 2 * size::utf16_len(&image.key.row);
    wide::Room { head: bytes(&image.key.row), part: bytes(&longest).saturating_sub(owner) }
}

/// That each value fits in a property.
fn check_values(schema: &'static EntitySchema, key: &RowKey, values: &Properties) -> Result<()> {
    for (name, value) in values {
        let (size, limit, unit) = match value {
            ValueRef::String(text) => (size::utf16_len(text), limits::MAX_STRING_CHARS, "characters"),
            ValueRef::Binary(bytes) => (bytes.len(), limits::MAX_BINARY_BYTES, "bytes"),
            _ => continue,
        };
        if size > limit {
            let field = schema.field_of(name.as_str());
            let detail = format!(
                "field `{}` has {size} {unit}, and one property holds {limit}: say `#[table(chunked)]` on the field",
                field.unwrap_or(name.as_str())
            );
            return Err(too_large(schema, key, detail).of_field(field));
        }
    }
    Ok(())
}

/// What is too large of a row that a store refused; nothing where that is something else.
pub(crate) fn check_row(schema: &'static EntitySchema, key: &RowKey, properties: &Properties) -> Result<()> {
    check_values(schema, key, properties)?;
    let (bytes, limit) = (size::row_bytes(&key.partition, &key.row, properties), limits::MAX_ROW_BYTES);
    if bytes <= limit {
        return Ok(());
    }
    let detail = format!(
        "the row has {bytes} bytes, and one holds {limit}: say `#[table(wide)]` on the struct, or keep large values as blobs"
    );
    Err(too_large(schema, key, detail))
}

fn check_parts(image: &Image, cut: &Cut) -> Result<()> {
    if cut.parts.is_empty() {
        return Ok(());
    }
    if cut.parts.len() > MAX_PARTS {
        let sizes = image.fields.iter().map(|(name, value)| (size::property_bytes(name.as_str(), value), name));
        let (bytes, largest) =
            sizes.max_by_key(|(bytes, _)| *bytes).map_or((0, ""), |(bytes, name)| (bytes, name.as_str()));
        let field = image.schema.field_of(largest);
        let detail = format!(
            "the entity needs {} parts, and {MAX_PARTS} are allowed; field `{}` is the largest, {bytes} bytes: keep it in \
             a blob or a file, and its name here",
            cut.parts.len(),
            field.unwrap_or(largest)
        );
        return Err(too_large(image.schema, &image.key, detail).of_field(field));
    }
    let longest = PartName { generation: Generation::Own(0), number: MAX_PARTS }.key(&image.key.row);
    let chars = size::utf16_len(&longest);
    if chars > limits::MAX_KEY_CHARS {
        let detail = format!(
            "the row keys of the entity's parts have {chars} characters, and at most {} are allowed: shorten the row key",
            limits::MAX_KEY_CHARS
        );
        return Err(Error::new(ErrorKind::KeyTooLong, detail).of(image.schema.entity_type).at_key(image.key.clone()));
    }
    Ok(())
}

fn too_large(schema: &EntitySchema, key: &RowKey, detail: String) -> Error {
    Error::new(ErrorKind::TooLarge, detail).of(schema.entity_type).at_key(key.clone())
}

/// What the rows of an entity hold, put together, without the system's properties.
pub(crate) fn join(schema: &'static EntitySchema, rows: &Group) -> Result<Properties> {
    let Some(shape) = &schema.shape else {
        return Ok(whole(schema, rows)?.filtered(|name| !system::is_system(name)));
    };
    let is_chunk = |name: &str| shape.chunked.iter().any(|property| chunked::is_of(property, name));
    let mut pairs: Vec<(PropertyName, Value)> = Vec::new();
    for row in rows.iter() {
        let own =
            row.properties.iter().filter(|(name, _)| !system::is_system(name.as_str()) && !is_chunk(name.as_str()));
        pairs.extend(own.map(|(name, value)| (name.clone(), value.to_value())));
    }
    pairs.extend(chunked_values(schema, rows)?);
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(pairs.into_iter().collect())
}

/// The values that stand in chunks, put together.
pub(crate) fn chunked_values(schema: &'static EntitySchema, rows: &Group) -> Result<Properties> {
    let Some(Shape { chunked, .. }) = &schema.shape else { return Ok(Properties::new()) };
    let stored = |name: &str| rows.iter().find_map(|row| row.properties.get(name));
    let mut values = Properties::new();
    for property in chunked.iter().filter_map(|property| schema.property(property)) {
        let value = chunked::join(property.property, property.edm, stored).map_err(|fault| {
            let detail = format!("field `{}`: {}", property.field, fault.0);
            let error = Error::corrupt(detail).of(schema.entity_type).of_field(Some(property.field));
            error.at_key(rows.key().clone())
        })?;
        if let Some(value) = value {
            values.insert(PropertyName::from_static(property.property), value);
        }
    }
    Ok(values)
}

/// What the rows hold, borrowed where that is one row, and then with the system's properties.
pub(crate) fn whole<'a>(schema: &'static EntitySchema, rows: &'a Group) -> Result<Cow<'a, Properties>> {
    if schema.shape.is_some() {
        return join(schema, rows).map(Cow::Owned);
    }
    if rows.head.properties.get_constant(system::PARTS).is_some() {
        let detail = "the entity has parts, of which this program's type knows nothing: say `#[table(wide)]`";
        return Err(Error::unsupported(detail).of(schema.entity_type).at_key(rows.key().clone()));
    }
    Ok(Cow::Borrowed(&rows.head.properties))
}

/// The rows of the entity whose head this is, as they are known before a change.
pub(crate) fn known(schema: &'static EntitySchema, head: Row, before: &dyn Before) -> Result<Group> {
    let fetched = before.known().fetched(&head);
    if !schema.has_parts() {
        return Ok(Group { fetched, ..head.into() });
    }
    let missing = |row: &str| {
        let key = RowKey::new(head.key.partition.clone(), row);
        Error::corrupt("a part of the entity is missing").of(schema.entity_type).at_key(key)
    };
    let Some(marks) = Marks::read(&head.properties) else { return Err(missing(&head.key.row)) };
    let parts = (1..=marks.count).map(|number| {
        let row = PartName { generation: marks.generation, number }.key(&head.key.row);
        before.row(&row).flatten().map(Cow::into_owned).ok_or_else(|| missing(&row))
    });
    let parts = parts.collect::<Result<_>>()?;
    Ok(Group { fetched, ..Group::of(head, parts) })
}

/// Where the parts of one entity go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) schema: &'static EntitySchema,
    pub(crate) key: &'a RowKey,
    pub(crate) sequence: i64,
    /// The generation to write the parts under before their head; none where all is one batch.
    pub(crate) fresh: Option<u64>,
}

/// The writes of parts that a change brings.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    /// In the batch of the head.
    pub(crate) rows: Vec<PlannedRow>,
    /// Before it.
    pub(crate) staged: Vec<PlannedRow>,
    /// After it.
    pub(crate) swept: Vec<PlannedRow>,
    /// The parts afterwards; the ETag of one that is written is not known yet.
    pub(crate) parts: Vec<Row>,
}

impl Layout<'_> {
    /// From the old rows at this key to these parts; the head gets its marks.
    ///
    /// Without a fresh generation, parts that stay as they are are not written.
    pub(crate) fn lay(self, cut: Vec<Properties>, head: &mut Properties, old: Option<&Group>) -> Laid {
        let old_marks = old.and_then(|old| Marks::read(&old.head.properties)).filter(|marks| marks.count > 0);
        let generation = match self.fresh {
            Some(fresh) => Generation::Own(fresh),
            None => old_marks.map_or(Generation::Shared, |marks| marks.generation),
        };
        Marks::of(generation, cut.iter()).write(head);
        let old_parts = old.map_or(&[][..], |old| &old.parts);
        let mut laid = match self.fresh {
            Some(_) => Laid { swept: removals(old_parts), ..Laid::default() },
            None => Laid { rows: removals(old_parts.get(cut.len()..).unwrap_or_default()), ..Laid::default() },
        };
        for (at, properties) in cut.into_iter().enumerate() {
            let name = PartName { generation, number: at + 1 };
            let before = old_parts.get(at).filter(|_| self.fresh.is_none());
            self.lay_part(name, properties, before, &mut laid);
        }
        laid
    }

    fn lay_part(self, name: PartName, mut properties: Properties, before: Option<&Row>, laid: &mut Laid) {
        let kind = system::part_type(self.schema);
        let stays = |before: &&Row| {
            is_same(&before.properties, &properties) && system::entity_type(&before.properties) == Some(&kind)
        };
        if let Some(before) = before.filter(stays) {
            laid.parts.push(before.clone());
            return;
        }
        part::stamp(&mut properties, &kind, &self.key.row, self.sequence);
        let row = name.key(&self.key.row);
        let action = match before {
            Some(before) => rewriting(before, &properties),
            // No other write has the keys of its generation: what is there was written before, and may be published by now.
            None if self.fresh.is_some() => Action::Insert(properties.clone()),
            // What an interrupted write may have left there belongs to nobody; the head's condition guards the rest.
            None => Action::InsertOrReplace(properties.clone()),
        };
        let key = RowKey::new(self.key.partition.clone(), row.clone());
        let (etag, timestamp) =
            before.map_or((stale_etag(), DateTime::UNIX_EPOCH), |before| (before.etag.clone(), before.timestamp));
        laid.parts.push(Row { key, etag, timestamp, properties });
        let planned = PlannedRow { row, action, role: Role::Part };
        if self.fresh.is_some() { laid.staged.push(planned) } else { laid.rows.push(planned) }
    }
}

/// Whether a stored part holds these own properties.
fn is_same(stored: &Properties, own: &Properties) -> bool {
    stored.iter().filter(|(name, _)| !system::is_system(name.as_str())).eq(own.iter())
}

/// What makes the row so: a Merge of what changed, where nothing is taken away.
pub(crate) fn rewriting(before: &Row, properties: &Properties) -> Action {
    let condition = Condition::Match(before.etag.clone());
    if before.properties.iter().any(|(name, _)| properties.get(name.as_str()).is_none()) {
        return Action::Replace(properties.clone(), condition);
    }
    let changed = properties.iter().filter(|(name, value)| before.properties.get(name.as_str()) != Some(*value));
    Action::Merge(changed.map(|(name, value)| (name.clone(), value.to_value())).collect(), condition)
}

/// The deletes of parts.
pub(crate) fn removals(parts: &[Row]) -> Vec<PlannedRow> {
    let removal = |part: &Row| PlannedRow {
        row: part.key.row.clone(),
        action: Action::Delete(Condition::Match(part.etag.clone())),
        role: Role::Part,
    };
    parts.iter().map(removal).collect()
}

#[cfg(test)]
mod tests;
