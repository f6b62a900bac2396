//! Golden rows: real stored rows of a version, kept as text beside the program, so that every later version can be tested
//! against them.
//!
//! A line is a row as [`Database::export`](crate::Database::export) writes it; an export is a file of golden rows.

#[cfg(feature = "cli")]
use std::collections::BTreeMap;
use std::fmt;

use tablemodel_store::{DateTime, Properties, Row};

#[cfg(feature = "cli")]
use crate::{
    entity::ModelRow,
    plan::{entries::entries, shadow, system::RowKind},
};
use crate::{
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Change, Context, is_primary, planned_row},
        group::Group,
        image::{self, Image},
        known::Known,
        part::{self, Parts},
        states::{IndexStates, Setting},
        system,
    },
    row_json,
    schema::EntitySchema,
    upgrade::Upgrade,
};

/// The rows of these entities, as an insert of this version writes them: one line for each row. Derived rows are not among
/// them, since nothing is upgraded from those.
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
/// Those of an insert. `NotFound` for an entity with a copy that must have a source: export such rows instead.
pub fn golden_rows<E: TableEntity>(entities: &[E]) -> Result<String> {
    let mut text = String::new();
    for entity in entities {
        for row in rows_of(Image::made(entity)?)?.iter() {
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
/// `Invalid` for a line that is none; `UnknownVersion`, `UpgradeFailed` and `Corrupt` as a read of the row from a store.
pub fn read_golden<E: TableEntity>(lines: &str) -> Result<Vec<E>> {
    let mut entities = Vec::new();
    for form in forms(E::SCHEMA) {
        for rows in groups(form, lines)? {
            entities.push(read(form, &rows)?);
        }
    }
    Ok(entities)
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
    /// Of older ones that it does not name any more.
    pub(crate) passed_over: BTreeMap<String, usize>,
}

#[cfg(feature = "cli")]
impl Golden {
    pub(crate) fn is_empty(&self) -> bool {
        self.read.is_empty() && self.passed_over.is_empty()
    }

    pub(crate) fn add(&mut self, other: Self) {
        let add = |to: &mut BTreeMap<String, usize>, of: BTreeMap<String, usize>| {
            of.into_iter().for_each(|(version, rows)| *to.entry(version).or_default() += rows);
        };
        add(&mut self.read, other.read);
        add(&mut self.passed_over, other.passed_over);
    }
}

/// Reads golden rows by the model's entities, each twice with the same result to the byte; `read_row` makes the struct of one. Rows of
/// the form that an entity moves from are taken along.
#[cfg(feature = "cli")]
pub(crate) fn check_golden(
    model: &[&'static EntitySchema],
    read_row: fn(ModelRow) -> Result<()>,
    lines: &str,
) -> Result<Golden> {
    let mut found = Golden::default();
    let count = |of: &mut BTreeMap<String, usize>, row: &Row, schema: &EntitySchema| {
        let version = system::entity_type(&row.properties).unwrap_or(schema.discriminator);
        *of.entry(version.to_owned()).or_default() += 1;
    };
    for schema in model.iter().copied() {
        let left = rows(schema, lines)?.into_iter().filter(|(_, row)| is_left(schema, row));
        left.for_each(|(_, row)| count(&mut found.passed_over, &row, schema));
        for form in forms(schema) {
            for rows in groups(form, lines)?.into_iter().filter(|rows| !is_left(schema, &rows.head)) {
                check_pure(form, &rows)?;
                count(&mut found.read, &rows.head, form);
                // The upgrade of a move has made the struct of the new form.
                if form.version == schema.version {
                    read_row(ModelRow { rows, schema: Some(schema) })?;
                }
            }
        }
    }
    Ok(found)
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

/// Panics unless every golden row of version `Old` is read as `New`, twice with the same result to the byte.
///
/// # Panics
///
/// When a row cannot be upgraded, when two upgrades of it differ, or when there is no row of `Old` at all.
pub fn upgrade_is_pure<Old: TableEntity, New: TableEntity + Upgrade<Old>>(lines: &str) {
    if let Err(fault) = check_upgrade::<Old, New>(lines) {
        #[expect(clippy::panic, reason = "a check for tests, which fail by panicking")]
        {
            panic!("{fault}");
        }
    }
}

fn check_upgrade<Old: TableEntity, New: TableEntity + Upgrade<Old>>(lines: &str) -> Result<(), Fault> {
    let is_old = |rows: &Group| system::entity_type(&rows.head.properties) == Some(Old::SCHEMA.discriminator);
    let mut is_any = false;
    for form in forms(New::SCHEMA) {
        for rows in groups(form, lines).map_err(Fault::Error)?.into_iter().filter(is_old) {
            is_any = true;
            check_twice::<New>(form, &rows)?;
        }
    }
    if is_any { Ok(()) } else { Err(Fault::None(Old::SCHEMA.discriminator)) }
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
    Impure { first: String, second: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => write!(f, "a golden row cannot be upgraded: {error}"),
            Self::None(of) => write!(f, "there are no golden rows of `{of}`"),
            Self::Impure { first, second } => {
                write!(
                    f,
                    "two upgrades of one row differ; an upgrade depends on nothing but the row:\n{first}\n{second}"
                )
            }
        }
    }
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
    let rows = own.map(|(_, row)| row).collect();
    let (mut parts, heads) = Parts::apart(rows, |row| system::is_part_of(&row.properties, schema.entity_type));
    let settled = |head: Row| {
        let torn = |torn: part::Torn| Error::corrupt(torn.detail).of(schema.entity_type).at_key(torn.key);
        part::settled(parts.with(head)).map_err(torn)
    };
    heads.into_iter().filter(|row| is_primary(schema, row)).map(settled).collect()
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
