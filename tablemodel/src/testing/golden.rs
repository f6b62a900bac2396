//! Golden rows: real stored rows of a version, kept as text beside the program, so that every later version can be tested
//! against them.
//!
//! A line is a row as [`Database::export`](crate::Database::export) writes it; an export is a file of golden rows. Contents of blobs are
//! not among the rows of a store; those that are made here hold them.

use std::{collections::BTreeMap, fmt};

use tablemodel_store::{DateTime, Properties, Row};

#[cfg(feature = "blob")]
use crate::blob::Placed;
#[cfg(feature = "cli")]
use crate::{
    entity::ModelRow,
    plan::{entries::entries, shadow, system::RowKind},
};
use crate::{
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Change, Context, is_head, planned_row},
        group::Group,
        image::{self, Image},
        known::Known,
        part::{self, Parts},
        states::{IndexStates, Setting},
        system, version,
    },
    row_json,
    schema::EntitySchema,
    upgrade::{Upgrade, asks},
};

/// The rows of these entities, as an insert of this version writes them: one line for each row. Derived rows are not among
/// them, since nothing is upgraded from those. What an insert would upload as a blob stands in the row, however long it is, so that an
/// upgrade which asks for it (`Blob::content`) has it at hand; a blob that was read from a store stays a link, without its content.
///
/// The same entities always give the same text. Write it to a file when a version is frozen, and commit it.
///
/// ```
/// # use tablemodel::testing::example::*;
/// use tablemodel::testing::{golden_rows, read_golden};
///
/// let lines = golden_rows(&[employee(7)])?;
/// assert!(lines.contains(r#""EntityType":"Employee@1""#));
/// assert_eq!(read_golden::<Employee>(&lines)?, [employee(7)]);
/// # Ok::<(), tablemodel::Error>(())
/// ```
///
/// # Errors
///
/// Those of an insert. `NotFound` for an entity with a copy that must have a source: export such rows instead. `Unsupported` for a blob
/// that is a stream: make it from bytes.
pub fn golden_rows<E: TableEntity>(entities: &[E]) -> Result<String> {
    let mut text = String::new();
    for entity in entities {
        let image = Image::made(entity)?;
        #[cfg(feature = "blob")]
        let image = with_contents(image);
        for row in rows_of(image)?.iter() {
            text.push_str(&row_json::to_line(E::SCHEMA.table, row));
            text.push('\n');
        }
    }
    Ok(text)
}

/// The entities of type `E` among golden rows, of whatever version, as this program reads them; other rows are passed over. Where the
/// entity has moved, those of its old form come after the others, as what the move makes of them.
///
/// # Errors
///
/// `Invalid` for a line that is none; `UnknownVersion`, `UpgradeFailed` and `Corrupt` as a read of the row from a store. `UpgradeFailed` too
/// where the upgrade asks for the content of a blob that the row links, as rows from a store do.
pub fn read_golden<E: TableEntity>(lines: &str) -> Result<Vec<E>> {
    let mut entities = Vec::new();
    for form in forms(E::SCHEMA) {
        for rows in groups(form, lines)? {
            entities.push(read(form, &rows).map_err(without_content)?);
        }
    }
    Ok(entities)
}

/// Says of an upgrade that asks for the content of a blob where there are rows that hold it.
fn without_content(error: Error) -> Error {
    match asks(&error) {
        true => error.within("rows from a store link blobs, and do not hold their contents; those of `golden_rows` do"),
        false => error,
    }
}

/// The forms of which a program reads golden rows.
fn forms(schema: &'static EntitySchema) -> impl Iterator<Item = &'static EntitySchema> {
    std::iter::once(schema).chain(schema.moved_from)
}

/// The entity of these rows, which are of this form.
fn read<E: TableEntity>(form: &'static EntitySchema, rows: &Group) -> Result<E> {
    if form.version == E::SCHEMA.version {
        return image::decode(rows);
    }
    image::read_image(&latest(E::SCHEMA, form, rows)?, &rows.head, E::read_fields)
}

/// What a program that has this `schema` makes of rows of the form.
fn latest(schema: &'static EntitySchema, form: &'static EntitySchema, rows: &Group) -> Result<Image> {
    let image = Image::stored(form, rows)?;
    match form.moves_to.as_ref().filter(|moved| moved.form().version == schema.version) {
        Some(moved) => image.moved(moved),
        None => Ok(image),
    }
}

/// How many golden rows there are of each version.
#[cfg(feature = "cli")]
#[derive(Debug, Default)]
pub(crate) struct Golden {
    /// Of versions that the program reads, or moves from.
    pub(crate) read: BTreeMap<String, usize>,
    /// Of these, but their upgrade asks for the content of a blob that the row links.
    pub(crate) unchecked: BTreeMap<String, usize>,
    /// Of older ones that it does not name any more.
    pub(crate) passed_over: BTreeMap<String, usize>,
}

#[cfg(feature = "cli")]
impl Golden {
    pub(crate) fn is_empty(&self) -> bool {
        [&self.read, &self.unchecked, &self.passed_over].iter().all(|rows| rows.is_empty())
    }

    pub(crate) fn add(&mut self, other: Self) {
        let add = |to: &mut BTreeMap<String, usize>, of: BTreeMap<String, usize>| {
            of.into_iter().for_each(|(version, rows)| *to.entry(version).or_default() += rows);
        };
        add(&mut self.read, other.read);
        add(&mut self.unchecked, other.unchecked);
        add(&mut self.passed_over, other.passed_over);
    }
}

/// Reads golden rows by the model's entities, each twice with the same result to the byte; `read_row` makes the struct of one. Rows of
/// the form that an entity moves from are taken along. Of a row whose upgrade asks for the content of a blob nothing can be told.
#[cfg(feature = "cli")]
pub(crate) fn check_golden(
    model: &[&'static EntitySchema],
    read_row: fn(ModelRow) -> Result<()>,
    lines: &str,
) -> Result<Golden> {
    let mut found = Golden::default();
    for schema in model.iter().copied() {
        let left = rows(schema, lines)?.into_iter().filter(|(_, row)| is_left(schema, row));
        left.for_each(|(_, row)| count(&mut found.passed_over, schema, &row));
        for form in forms(schema) {
            for rows in groups(form, lines)?.into_iter().filter(|rows| !is_left(schema, &rows.head)) {
                match check_pure(form, &rows) {
                    Err(error) if asks(&error) => {
                        count(&mut found.unchecked, form, &rows.head);
                        continue;
                    }
                    checked => checked?,
                }
                count(&mut found.read, form, &rows.head);
                // The upgrade of a move has made the struct of the new form.
                if form.version == schema.version {
                    read_row(ModelRow { rows, schema: Some(schema) })?;
                }
            }
        }
    }
    Ok(found)
}

/// Counts the row under the version that wrote it.
#[cfg(feature = "cli")]
fn count(of: &mut BTreeMap<String, usize>, schema: &EntitySchema, head: &Row) {
    let version = version::of_head(schema, head).unwrap_or(schema.version);
    *of.entry(format!("{}@{version}", schema.entity_type)).or_default() += 1;
}

/// Whether the row, in whatever table, is the entity's in an older version, which the program does not name any more.
#[cfg(feature = "cli")]
fn is_left(schema: &'static EntitySchema, row: &Row) -> bool {
    let mut known = forms(schema).flat_map(EntitySchema::lineage);
    match system::kind(&row.properties) {
        RowKind::Primary { entity, version } => {
            entity == schema.entity_type && version < schema.version && known.all(|known| known.version != version)
        }
        _ => false,
    }
}

#[cfg(feature = "cli")]
fn check_pure(form: &'static EntitySchema, rows: &Group) -> Result<()> {
    if stored(form, rows)? == stored(form, rows)? {
        return Ok(());
    }
    let detail = "two upgrades of the row differ; an upgrade depends on nothing but the row";
    Err(Error::new(ErrorKind::Invalid, detail).of(form.entity_type).at_key(rows.key().clone()))
}

/// What this program would store in place of the rows, with the keys of what it would derive from them: where they move, in the new form.
#[cfg(feature = "cli")]
fn stored(form: &'static EntitySchema, rows: &Group) -> Result<String> {
    let image = Image::stored(form, rows)?;
    entries(&image)?;
    shadow::add_entries(&image, &mut Vec::new())?;
    let image = match &form.moves_to {
        Some(moved) => image.moved(moved)?,
        None => image,
    };
    Ok(row_json::to_line(image.schema.table, &planned_row(image.key.clone(), image.fields)))
}

/// Panics unless every golden row of version `Old` is read as `New`, twice with the same result to the byte. A row is passed over whose
/// upgrade asks for the content of a blob that the row links, as rows from a store do: those of [`golden_rows`] hold it.
///
/// # Panics
///
/// When a row cannot be upgraded, when two upgrades of it differ, or when there is no row of `Old`, or none that is not passed over.
pub fn upgrade_is_pure<Old: TableEntity, New: TableEntity + Upgrade<Old>>(lines: &str) {
    if let Err(fault) = check_upgrade::<Old, New>(lines) {
        #[expect(clippy::panic, reason = "a check for tests, which fail by panicking")]
        {
            panic!("{fault}");
        }
    }
}

fn check_upgrade<Old: TableEntity, New: TableEntity + Upgrade<Old>>(lines: &str) -> Result<(), Fault> {
    let old = Old::SCHEMA;
    let (mut is_any, mut is_linked) = (false, false);
    for form in forms(New::SCHEMA).filter(|form| form.entity_type == old.entity_type) {
        let is_old = |rows: &Group| version::of_head(form, &rows.head) == Some(old.version);
        for rows in groups(form, lines).map_err(Fault::Error)?.into_iter().filter(is_old) {
            match check_twice::<New>(form, &rows) {
                Err(Fault::Error(error)) if asks(&error) => is_linked = true,
                checked => {
                    checked?;
                    is_any = true;
                }
            }
        }
    }
    match (is_any, is_linked) {
        (true, _) => Ok(()),
        (false, true) => Err(Fault::Linked(old.discriminator)),
        (false, false) => Err(Fault::None(old.discriminator)),
    }
}

/// That two upgrades of these rows, which are of this form, give the same.
fn check_twice<New: TableEntity>(form: &'static EntitySchema, rows: &Group) -> Result<(), Fault> {
    let bytes = || -> Result<String> {
        let image = latest(New::SCHEMA, form, rows)?;
        read::<New>(form, rows)?;
        Ok(row_json::to_line(New::SCHEMA.table, &planned_row(image.key.clone(), image.fields)))
    };
    let (first, second) = (bytes().map_err(Fault::Error)?, bytes().map_err(Fault::Error)?);
    if first == second { Ok(()) } else { Err(Fault::Impure { first, second }) }
}

/// What is wrong with an upgrade.
enum Fault {
    Error(Error),
    None(&'static str),
    Linked(&'static str),
    Impure { first: String, second: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => write!(f, "a golden row cannot be upgraded: {error}"),
            Self::None(of) => write!(f, "there are no golden rows of `{of}`"),
            Self::Linked(of) => {
                let why = "links a blob whose content its upgrade asks for, and does not hold it";
                write!(f, "every golden row of `{of}` {why}: let `golden_rows` write some, which do")
            }
            Self::Impure { first, second } => {
                write!(
                    f,
                    "two upgrades of one row differ; an upgrade depends on nothing but the row:\n{first}\n{second}"
                )
            }
        }
    }
}

/// The image with the contents of its blobs in their fields, as far as they are at hand: golden rows have no other place for them.
#[cfg(feature = "blob")]
fn with_contents(mut image: Image) -> Image {
    for pending in std::mem::take(&mut image.blobs) {
        let content = pending.blob.at_hand().map(|bytes| Placed::Value(bytes.to_vec()));
        match content.or_else(|| pending.placed()) {
            Some(placed) => placed.put(pending.names, &mut image.fields),
            None => image.blobs.push(pending),
        }
    }
    image
}

/// The rows that an insert of the entity writes at the beginning of time.
fn rows_of(image: Image) -> Result<Group> {
    let setting = Setting {
        states: IndexStates(Vec::new()),
        deferred: false,
        tombstones: false,
        moving: false,
        copied: Vec::new(),
    };
    let context = Context { now: 1, operation: None, due: DateTime::MIN, fresh: None };
    let key = image.key.clone();
    let planned = change::plan(&Change::Insert(image), &Known::new(), &setting, context)?;
    let head = planned_row(key, planned.after.unwrap_or_else(Properties::new));
    Ok(Group::of(head, planned.parts))
}

/// Rows, each with its table.
fn rows(schema: &'static EntitySchema, lines: &str) -> Result<Vec<(String, Row)>> {
    let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(number, line): (usize, &str)| {
        row_json::from_line(line)
            .map_err(|why| Error::new(ErrorKind::Invalid, format!("line {}: {why}", number + 1)).of(schema.entity_type))
    };
    lines.map(row).collect()
}

fn groups(schema: &'static EntitySchema, lines: &str) -> Result<Vec<Group>> {
    let own = rows(schema, lines)?.into_iter().filter(|(table, _)| table.eq_ignore_ascii_case(schema.table));
    let is_part = |row: &Row| system::is_part_of(&row.properties, schema.entity_type);
    let (of_entities, heads): (Vec<Row>, Vec<Row>) = own.map(|(_, row)| row).partition(is_part);
    let mut partitions: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    of_entities.into_iter().for_each(|part| partitions.entry(part.key.partition.clone()).or_default().push(part));
    let apart = partitions.into_iter().map(|(partition, rows)| (partition, Parts::apart(rows, |_| true).0));
    let mut parts: BTreeMap<String, Parts> = apart.collect();
    let settled = |head: Row| {
        let torn = |torn: part::Torn| Error::corrupt(torn.detail).of(schema.entity_type).at_key(torn.key);
        let of_partition = parts.entry(head.key.partition.clone()).or_default();
        part::settled(of_partition.with(head)).map_err(torn)
    };
    heads.into_iter().filter(|row| is_head(schema, row)).map(settled).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::{UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
    struct ThingV1 {
        p: String,
        id: u32,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Things", version = 2, previous = ThingV1, partition = "{p}", row = "{id}")]
    struct Thing {
        p: String,
        id: u32,
        at: i64,
    }

    static TICKS: AtomicI64 = AtomicI64::new(0);

    impl Upgrade<ThingV1> for Thing {
        fn upgrade(old: ThingV1) -> Result<Self, UpgradeError> {
            let ThingV1 { p, id } = old;
            let at = if p == "clock" { TICKS.fetch_add(1, Ordering::Relaxed) } else { 7 };
            Ok(Self { p, id, at })
        }
    }

    fn fault(p: &str) -> Option<String> {
        let lines = golden_rows(&[ThingV1 { p: p.to_owned(), id: 1 }]).unwrap();
        check_upgrade::<ThingV1, Thing>(&lines).err().map(|fault| fault.to_string())
    }

    #[test]
    fn an_upgrade_that_looks_at_a_clock_is_caught() {
        assert_eq!(fault("plain"), None);
        assert!(fault("clock").unwrap().contains("two upgrades of one row differ"));
    }

    #[test]
    fn no_golden_rows_prove_nothing() {
        assert!(check_upgrade::<ThingV1, Thing>("").err().unwrap().to_string().contains("no golden rows of `Thing@1`"));
    }
}
