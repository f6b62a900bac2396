#![doc = include_str!("../../docs/rooms/copy.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use tablemodel_store::{DateTime, Properties, Row, RowKey, ValueRef, limits, size};

use crate::{
    entity::FieldError,
    error::{Error, ErrorKind, Result},
    key::{KeyError, Part, Template},
    plan::{
        change::{check_told, is_primary},
        entries::{Away, Entry},
        image::{Fields, Image, key_fault},
        left_out::leaves_out,
        outbox::is_tombstone,
        states::CopiedBy,
        system::{self, RowKind},
    },
    schema::{COPIED_SEQUENCE, CopySchema, EntitySchema, OnDelete},
};

/// What the row keys of back-references begin with.
pub(crate) const REFERENCE: &str = "~~ref|";
/// On a back-reference: the table of the holder.
const TABLE: &str = "_table";

/// Where a source stands.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) schema: &'static EntitySchema,
    pub(crate) key: RowKey,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.schema.entity_type == other.schema.entity_type && self.key == other.key
    }
}

impl Source {
    /// Whether it stands in the partition of this holder.
    pub(crate) fn is_beside(&self, schema: &EntitySchema, partition: &str) -> bool {
        self.schema.table.eq_ignore_ascii_case(schema.table) && self.key.partition == partition
    }
}

/// The source that the fields name; none where a field of its key has no value.
pub(crate) fn source(holder: &impl Fields, copy: &CopySchema) -> Result<Option<Source>> {
    let schema = (copy.source)();
    let value = |part: &Part| {
        let pair = copy.key.iter().find(|pair| pair.source == part.property);
        pair.and_then(|pair| holder.get(pair.holder))
    };
    if copy.key.iter().any(|pair| holder.get(pair.holder).is_none()) {
        return Ok(None);
    }
    let encode = |template: Template| {
        let key = template.encode(value);
        key.map_err(|error| no_key(holder.schema(), copy, error))
    };
    Ok(match (encode(schema.partition)?, encode(schema.row)?) {
        (Some(partition), Some(row)) => Some(Source { schema, key: RowKey { partition, row } }),
        _ => None,
    })
}

/// That the key of a source cannot be made: told by the field of the holder that it is made of.
fn no_key(schema: &'static EntitySchema, copy: &CopySchema, error: KeyError) -> Error {
    let pair = copy.key.iter().find(|pair| Some(pair.field) == error.field);
    let field = pair.and_then(|pair| schema.field_of(pair.holder));
    key_fault(schema, error).of_field(field).within(&format!("copy `{}`", copy.name))
}

/// Adds the back-reference that the copy at this position of the schema wants for the image.
pub(crate) fn entries(image: &Image, position: usize, to: &mut Vec<Entry>) -> Result<()> {
    let Some(copy) = image.schema.copies.get(position) else { return Ok(()) };
    let Some(source) = source(image, copy)? else { return Ok(()) };
    let RowKey { partition, row } = &image.key;
    let row = format!("{}{row}", references_of(&source.key.row, (image.schema, copy), partition));
    if size::utf16_len(&row) > limits::MAX_KEY_CHARS {
        let detail =
            format!("copy `{}`: the keys of the entity and its source are too long for a back-reference", copy.name);
        let error = Error::new(ErrorKind::KeyTooLong, detail).of_field(Some(copy.name));
        return Err(error.of(image.schema.entity_type).at_key(image.key.clone()));
    }
    let beside = source.is_beside(image.schema, &image.key.partition);
    let away = match beside {
        true => None,
        false => Some(Away { table: source.schema.table, partition: source.key.partition }),
    };
    let index = image.schema.indexes.len() + position;
    to.push(Entry { index, away, row, properties: reference(image) });
    Ok(())
}

fn reference(image: &Image) -> Properties {
    let mut properties = Properties::new();
    properties.insert(system::OWNER_PARTITION, image.key.partition.as_str());
    properties.insert(system::OWNER_ROW, image.key.row.as_str());
    properties.insert(TABLE, image.schema.table);
    properties
}

/// What the row keys of all back-references of a source begin with. Lengths stand before what may hold any character, so that no two are alike.
pub(crate) fn references_to(source: &str) -> String {
    format!("{REFERENCE}{}|{source}|", source.len())
}

/// What the row keys of all back-references of a copy begin with; of holders in one partition, where it is told.
pub(crate) fn references_by(source: &str, by: CopiedBy, partition: Option<&str>) -> String {
    let copy = (by.holder, by.copy);
    partition.map_or_else(|| references_as(source, copy), |partition| references_of(source, copy, partition))
}

/// The same: holders in other tables may have the same keys, and call their copies alike.
fn references_as(source: &str, (holder, copy): (&EntitySchema, &CopySchema)) -> String {
    format!("{}{}.{}|", references_to(source), holder.entity_type, copy.name)
}

fn references_of(source: &str, copy: (&EntitySchema, &CopySchema), partition: &str) -> String {
    format!("{}{}|{partition}|", references_as(source, copy), partition.len())
}

/// A back-reference of a copy that the model knows.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) by: CopiedBy,
    pub(crate) holder: RowKey,
    /// Whether the holder has let it go.
    pub(crate) is_dead: bool,
    /// It was put before its holder was written; until when that may still come.
    pub(crate) pending: Option<DateTime>,
}

/// What a back-reference says; nothing where the model does not know its copy, and where it names the holder in the form that that is
/// not kept in, of one that moves.
pub(crate) fn read(row: &Row, copied: &[CopiedBy]) -> Option<Reference> {
    let RowKind::Derived { entity, name, version } = system::kind(&row.properties) else { return None };
    let by = *copied.iter().find(|by| by.is_named(entity, name))?;
    if by.holder.is_of_other_form(version) {
        return None;
    }
    let (is_dead, pending) = (system::is_dead(&row.properties), expires(&row.properties));
    Some(Reference { by, holder: system::owner(row)?, is_dead, pending })
}

/// Whether the back-reference is of a holder that has left the form in which this program takes it to be kept, for a newer one.
pub(crate) fn is_ahead(row: &Row, by: CopiedBy) -> bool {
    let RowKind::Derived { entity, name, version } = system::kind(&row.properties) else { return false };
    let is_newer = version > by.holder.version && by.holder.is_of_other_form(version);
    by.is_named(entity, name)
        && is_newer
        && row.properties.get(system::MOVED).is_none()
        && !system::is_dead(&row.properties)
}

/// Until when the holder of a back-reference that was put before it may still be written.
pub(crate) fn expires(properties: &Properties) -> Option<DateTime> {
    match properties.get(system::EXPIRES) {
        Some(ValueRef::DateTime(expires)) if system::is_pending(properties) => Some(expires),
        _ => None,
    }
}

/// Whether the image wants the back-reference at this place; `position` is the number of the copy in the latest schema.
pub(crate) fn wants(image: &Image, position: usize, table: &str, key: &RowKey) -> Result<bool> {
    let mut wanted = Vec::new();
    for copy in 0..image.schema.copies.len() {
        if image.latest.position_of(image.schema, image.schema.indexes.len() + copy) == position {
            entries(image, copy, &mut wanted)?;
        }
    }
    for (_, _, now) in image.left_out().filter(|(number, ..)| *number == position) {
        entries(now, position - now.schema.indexes.len(), &mut wanted)?;
    }
    Ok(wanted.iter().any(|entry| {
        let away = entry.away.as_ref();
        let (wanted_table, partition) =
            away.map_or((image.schema.table, &image.key.partition), |away| (away.table, &away.partition));
        wanted_table.eq_ignore_ascii_case(table) && *partition == key.partition && entry.row == key.row
    }))
}

/// Whether the copy says other than its source's row does. A copy whose source is gone may stay unless it is to be cleared.
pub(crate) fn is_stale(image: &Image, copy: &CopySchema, row: Option<&Row>) -> Result<bool> {
    if !follows(copy, row) {
        return Ok(false);
    }
    let mut filled = image.clone();
    fill(&mut filled, copy, row)?;
    // What changes of the source do not concern the copy leave its number behind.
    let says = |image: &Image, name: &str| image.fields.get(copy.stored(name).as_str()).map(|value| value.to_value());
    let is_as = |filled: &Image| copy.properties.iter().all(|name| says(filled, name) == says(image, name));
    let Some(row) = row.filter(|row| is_primary((copy.source)(), row) && !is_as(&filled)) else {
        return Ok(!is_as(&filled));
    };
    // A source of an older version may have been copied as it stands, by a program of that version.
    let from = Image::written((copy.source)(), &row.clone().into())?;
    put(&mut filled, copy, &from, 0);
    Ok(!is_as(&filled))
}

/// Whether the copy has some of what its source says, and nothing else: what a version has that copies less.
pub(crate) fn is_part(image: &Image, copy: &CopySchema, row: Option<&Row>) -> Result<bool> {
    let mut filled = image.clone();
    fill(&mut filled, copy, row)?;
    let says = |image: &Image, name: &str| image.fields.get(copy.stored(name).as_str()).map(|value| value.to_value());
    let mut had = copy.properties.iter().filter(|name| says(image, name).is_some()).peekable();
    Ok(had.peek().is_some() && had.all(|name| says(&filled, name) == says(image, name)))
}

/// Whether the back-reference stands for a holder that was written.
pub(crate) fn is_settled(row: &Row) -> bool {
    !system::is_dead(&row.properties) && !system::is_pending(&row.properties)
}

/// The back-reference as it is put before its holder is written: over what is there, at its number.
pub(crate) fn pending(entry: &Entry, schema: &EntitySchema, there: Option<&Row>, expires: DateTime) -> Properties {
    let mut properties = entry.properties.clone();
    let discriminator = schema.derived(entry.index).map(|kind| kind.discriminator).unwrap_or_default();
    system::stamp(&mut properties, discriminator, there.map_or(0, |row| system::sequence(&row.properties)), None);
    properties.insert(system::CLAIM, system::PENDING);
    properties.insert(system::EXPIRES, expires);
    properties
}

/// Fills the copy from its source's row as it is. Where that is a tombstone, or none, the copy is empty.
pub(crate) fn fill(image: &mut Image, copy: &CopySchema, row: Option<&Row>) -> Result<()> {
    clear(image, copy);
    if row.is_some() {
        image.fields.merge(&taken(copy, row)?);
    }
    Ok(())
}

/// What the copy holds of its source's row as it is.
///
/// With what is copied goes its number, negative for a tombstone's: a holder changes with every change of its source, even
/// if it says the same again, so that who read an older source cannot write it late.
pub(crate) fn taken(copy: &CopySchema, row: Option<&Row>) -> Result<Properties> {
    let mut taken = Properties::new();
    let Some(row) = row else { return Ok(taken) };
    let schema = (copy.source)();
    let number = system::sequence(&row.properties);
    if is_primary(schema, row) {
        copied(copy, &Image::stored(schema, &row.clone().into())?, number, &mut taken);
    } else if is_tombstone(row) {
        taken.insert(copy.stored(COPIED_SEQUENCE), number.saturating_neg());
    } else {
        check_told(schema, row)?;
    }
    Ok(taken)
}

/// Whether the copy becomes what its source is, be it gone; else it stays as it was.
pub(crate) fn follows(copy: &CopySchema, row: Option<&Row>) -> bool {
    let is_cleared = || copy.optional && copy.on_delete == OnDelete::Clear && !is_damaged(copy, row);
    row.is_some_and(|row| is_primary((copy.source)(), row)) || is_cleared()
}

/// Whether the source is there, and what it says cannot be told: once it is mended, it may be what was copied.
pub(crate) fn is_damaged(copy: &CopySchema, row: Option<&Row>) -> bool {
    row.is_some_and(|row| check_told((copy.source)(), row).is_err())
}

fn put(image: &mut Image, copy: &CopySchema, from: &Image, number: i64) {
    clear(image, copy);
    copied(copy, from, number, &mut image.fields);
}

/// What the copy holds of this source.
fn copied(copy: &CopySchema, from: &Image, number: i64, to: &mut Properties) {
    for name in copy.properties {
        if let Some(value) = from.fields.get(name) {
            to.set(copy.stored(name), value);
        }
    }
    to.insert(copy.stored(COPIED_SEQUENCE), number.max(1));
}

/// Takes the copy over from an earlier image of the same entity, if that names the same source. Whether it does.
pub(crate) fn carry(image: &mut Image, copy: &CopySchema, old: &Image) -> Result<bool> {
    clear(image, copy);
    if source(old, copy)? != source(image, copy)? {
        return Ok(false);
    }
    for (name, value) in old.fields.iter().filter(|(name, _)| copy.holds(name.as_str())) {
        image.fields.insert(name.clone(), value.to_value());
    }
    Ok(true)
}

/// Whether the copy says something: of a source that there is, or was and is kept. The number of a tombstone says nothing.
pub(crate) fn is_filled(image: &Image, copy: &CopySchema) -> bool {
    matches!(image.fields.get(copy.stored(COPIED_SEQUENCE).as_str()), Some(ValueRef::Int64(1..)))
}

fn clear(image: &mut Image, copy: &CopySchema) {
    image.fields.retain(|name| !copy.holds(name));
}

/// What is wrong with the copy as it is stored: it must be there and is not, or is of a form that is not read. An `Option` is none then.
pub(crate) fn misread(image: &Image, copy: &CopySchema) -> Option<FieldError> {
    (copy.reads)(&image.fields, copy.property).err()
}

/// That a copy which must be there says something, where no source fills it.
pub(crate) fn check_filled(image: &Image, copy: &CopySchema, source: Option<&Source>) -> Result<()> {
    if is_filled(image, copy) { Ok(()) } else { Err(missing(image, copy, source)) }
}

/// The same, and that what it says can be read: an older version may have taken it in another form.
pub(crate) fn check_kept(image: &Image, copy: &CopySchema, source: Option<&Source>) -> Result<()> {
    check_filled(image, copy, source)?;
    let Some(error) = misread(image, copy) else { return Ok(()) };
    let (name, of) = (copy.name, copy.source_type);
    let detail = format!(
        "copy `{name}`: what is kept of a {of} that is gone cannot be read ({}): insert that once more, name another, or make the \
         field an `Option`",
        error.error
    );
    let told = Error::corrupt(detail).of(image.schema.entity_type).of_field(Some(name));
    Err(told.at_key(image.key.clone()).caused_by(error))
}

/// That a copy which must have a source has one.
pub(crate) fn missing(image: &Image, copy: &CopySchema, source: Option<&Source>) -> Error {
    let (name, of) = (copy.name, copy.source_type);
    let error = match source {
        Some(source) => {
            let detail = format!(
                "copy `{name}`: there is no {of} at {}; insert it first, or make the field an `Option`",
                source.key
            );
            Error::new(ErrorKind::NotFound, detail)
        }
        None => {
            let detail =
                format!("copy `{name}`: a field of the key of its {of} has no value; make the copy an `Option`");
            Error::new(ErrorKind::Invalid, detail)
        }
    };
    error.of(image.schema.entity_type).of_field(Some(name)).at_key(image.key.clone())
}

/// Whether a property that some entity copies differs.
pub(crate) fn differs(copied: &[CopiedBy], old: &Properties, new: &Properties) -> bool {
    copied.iter().flat_map(|by| by.copy.properties).any(|name| old.get(name) != new.get(name))
}

/// Whether the holder of a back-reference names the source; `is_pending` if that was put before its holder.
pub(crate) fn holds(by: CopiedBy, is_pending: bool, holder: Option<&Row>, source: &RowKey) -> Result<bool> {
    let Some(row) = holder.filter(|row| is_primary(by.holder, row)) else { return Ok(false) };
    let image = Image::written(by.holder, &row.clone().into())?;
    if image.is_untold(by.copy) || (leaves_out(image.schema, by.copy) && !is_pending) {
        return Ok(true); // by which fields it named a source is not known for sure; that it did, the back-reference says
    }
    for (copy, image) in all(&image).filter(|(copy, _)| copy.name == by.copy.name) {
        if self::source(image, copy)?.is_some_and(|named| named.key == *source) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The copies of an entity, each with the image whose fields tell its source.
pub(crate) fn all(image: &Image) -> impl Iterator<Item = (&'static CopySchema, &Image)> {
    let own = image.schema.copies.iter().map(move |copy| (copy, image));
    own.chain(image.left_out().map(|(_, copy, now)| (copy, now)))
}

/// The refusal to delete what is copied.
pub(crate) fn restricted(schema: &EntitySchema, source: &RowKey, reference: &Reference) -> Error {
    let Reference { by, holder, .. } = reference;
    let (entity, copy) = (by.holder.entity_type, by.copy.name);
    let detail = format!(
        "the {entity} at {holder} copies it as `{copy}`, which restricts its deletion; point that one elsewhere, or delete it, first"
    );
    Error::new(ErrorKind::Restricted { entity, copy, holder: holder.clone() }, detail)
        .of(schema.entity_type)
        .at_key(source.clone())
}

/// The refusal to delete what may be copied at any moment.
pub(crate) fn being_registered(schema: &EntitySchema, source: &RowKey, reference: &Reference) -> Error {
    let (entity, holder) = (reference.by.holder.entity_type, &reference.holder);
    let detail = format!("the {entity} at {holder} is being written, and will copy it; try again");
    Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(source.clone())
}
