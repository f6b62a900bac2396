//! Changes, the rows that must be read before they can be planned, and the plan of each.
//!
//! A plan is a list of writes to rows of one partition; nothing is read or written here.

mod before;
mod derived;
mod moves;
mod needs;
mod planned;
mod refused;
mod totals;

use std::borrow::Cow;

use tablemodel_store::{Action, Condition, DateTime, ETag, Properties, Row, RowKey, Value};

pub(super) use self::needs::known_images;
pub(crate) use self::{
    before::Before,
    needs::needs,
    planned::{Planned, PlannedRow, Role},
    refused::{exists, reserved, violation},
};
use self::{planned::Derived, totals::left_cells};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        copies::Recopied,
        entries::{Entry, entries, told},
        group::Group,
        image::{Image, key_values},
        outbox::AwayKey,
        shape::{self, Cut, Laid, Layout},
        states::Setting,
        system::{self, OperationId, RowKind},
        version::{self, Old},
    },
    rooms::{
        aggregate::{self, Contribution},
        copy,
        index::Named,
        rekey::{Move, is_reserved},
    },
    schema::{Cover, EntitySchema},
};

/// What a caller wants done to one entity.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// The entity must not exist.
    Insert(Image),
    /// The entity must still be as `old` was read.
    Save { old: Group, new: Image },
    /// The entity is inserted, or replaced whatever it is.
    Upsert(Image),
    /// The entity must still be as `old` was read.
    Delete { schema: &'static EntitySchema, old: Group },
    /// The entity is written as it is, and every derived row with it. `strays` are rows elsewhere that may be there and
    /// are taken away unless the entity wants them.
    Touch { schema: &'static EntitySchema, old: Group, strays: Vec<AwayKey> },
    /// Properties that hold aggregates are set, whatever else the entity is, with every derived row that holds them.
    Refresh { schema: &'static EntitySchema, key: RowKey, sets: Vec<(&'static str, Option<Value>)> },
    /// The entity leaves for another partition, if it is still as `old` was read; an intent holds what it will be there.
    Leave { old: Group, to: Box<Move> },
    /// An entity that has left its old key takes the place that is reserved for it.
    Arrive(Box<Move>),
    /// A source of another partition adds to an aggregate, otherwise than before, or no more.
    Contribute(Contribution),
    /// Some properties are set; no key and no derived row is made from them. Where an index row `named` the entity, it must want
    /// that row.
    Patch { schema: &'static EntitySchema, key: RowKey, sets: Vec<(&'static str, Option<Value>)>, named: Option<Named> },
    /// The copies that the entity keeps are brought to what their sources are; nothing where it is gone. With `repair`,
    /// its derived rows are read, since one was found missing.
    Recopy { schema: &'static EntitySchema, key: RowKey, of: Recopied, repair: bool },
}

/// What planning is told beside the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// The clock, in 100 ns ticks: where the sequence of a fresh insert starts.
    pub(crate) now: i64,
    /// Put on primary rows when the store can lose a reply.
    pub(crate) operation: Option<OperationId>,
    /// When a relay may take over what is to be done in other partitions.
    pub(crate) due: DateTime,
    /// The generation under which parts are written before their head; none where all is one batch.
    pub(crate) fresh: Option<u64>,
}

/// A row to read before planning.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) row: String,
    /// The entity whose head it is, to be read with its parts.
    pub(crate) head: Option<&'static EntitySchema>,
}

impl Change {
    pub(crate) fn schema(&self) -> &'static EntitySchema {
        match self {
            Self::Insert(image) | Self::Upsert(image) | Self::Save { new: image, .. } => image.schema,
            Self::Delete { schema, .. } | Self::Touch { schema, .. } => schema,
            Self::Patch { schema, .. } | Self::Recopy { schema, .. } | Self::Refresh { schema, .. } => schema,
            Self::Leave { to, .. } | Self::Arrive(to) => to.to.schema,
            Self::Contribute(contribution) => contribution.of.target,
        }
    }

    /// The primary row that the change leaves, or takes away.
    pub(crate) fn key(&self) -> &RowKey {
        match self {
            Self::Insert(image) | Self::Upsert(image) | Self::Save { new: image, .. } => &image.key,
            Self::Delete { old, .. } | Self::Touch { old, .. } | Self::Leave { old, .. } => old.key(),
            Self::Arrive(to) => &to.to.key,
            Self::Patch { key, .. } | Self::Recopy { key, .. } | Self::Refresh { key, .. } => key,
            Self::Contribute(contribution) => &contribution.key,
        }
    }
}

/// Whether the entry is a key in a row of several entities.
pub(crate) fn is_list(schema: &EntitySchema, entry: &Entry) -> bool {
    schema.index_at(entry.index).is_some_and(|index| index.cover == Cover::List)
}

/// The writes of a change.
pub(crate) fn plan(change: &Change, before: &dyn Before, setting: &Setting, context: Context) -> Result<Planned> {
    let planner = Planner { before, setting, context };
    match change {
        Change::Insert(image) => planner.insert(image),
        Change::Save { old, new } => planner.save(old, new),
        Change::Upsert(image) => planner.upsert(image),
        Change::Delete { schema, old } => planner.delete(schema, old),
        Change::Touch { schema, old, strays } => planner.touch(schema, old, strays),
        Change::Leave { old, to } => planner.leave(old, to),
        Change::Arrive(to) => planner.arrive(to),
        Change::Contribute(contribution) => planner.contribute(contribution),
        Change::Patch { schema, key, sets, named } => planner.patch(schema, key, sets, named.as_ref()),
        Change::Recopy { schema, key, of, .. } => planner.recopy(schema, key, of),
        Change::Refresh { schema, key, sets } => planner.refresh(schema, key, sets),
    }
}

/// Plans one change.
pub(super) struct Planner<'a> {
    pub(super) before: &'a dyn Before,
    pub(super) setting: &'a Setting,
    pub(super) context: Context,
}

impl Planner<'_> {
    fn insert(&self, image: &Image) -> Result<Planned> {
        let dead = self.vacant(image)?;
        let mut image = Cow::Borrowed(image);
        let guards = self.copy(None, &mut image)?;
        let mut cells = self.cells(None, Some(&image))?;
        cells.extend(self.take_totals(&mut image)?);
        let dead = dead.map(|dead| dead.into_owned().into());
        let planned = self.put(None, &image, self.context.now, dead.as_ref(), None)?;
        Ok(Planned { cells, guards, ..planned })
    }

    /// That no entity stands at the image's key; the tombstone there, if that is what stands there.
    fn vacant(&self, image: &Image) -> Result<Option<Cow<'_, Row>>> {
        match self.before.row(&image.key.row) {
            None | Some(None) => Ok(None),
            Some(Some(row)) => match system::kind(&row.properties) {
                RowKind::Tombstone { .. } if is_reserved(&row) => Err(reserved(image.schema, &row)),
                RowKind::Tombstone { entity } if entity == image.schema.entity_type => Ok(Some(row)),
                _ => Err(exists(image.schema, image.key.clone(), &row)),
            },
        }
    }

    fn upsert(&self, image: &Image) -> Result<Planned> {
        match self.before.row(&image.key.row) {
            Some(Some(row)) if is_primary(image.schema, &row) => {
                self.save(&shape::known(image.schema, row.into_owned(), self.before)?, image)
            }
            _ => self.insert(image),
        }
    }

    fn save(&self, old: &Group, new: &Image) -> Result<Planned> {
        if old.key().partition != new.key.partition {
            let detail = "the partition key was changed, which no batch can do; use `db.rekey()`";
            return Err(Error::new(ErrorKind::KeyChanged, detail).of(new.schema.entity_type).at_key(old.key().clone()));
        }
        let was = Old::of(new.schema, old)?;
        let mut new = new.keeping_unknown(&was.now().fields);
        let sequence = next_sequence(&old.head.properties, self.context.now);
        let guards = self.copy(Some(&was), &mut new)?;
        let mut cells = self.cells(Some(&was.written), Some(&new))?;
        if *old.key() == new.key {
            cells.extend(self.keep_totals(&was, &mut new)?);
            let planned = self.put(Some(&was.written), &new, sequence, Some(old), None)?;
            return Ok(Planned { cells, guards, ..planned });
        }
        self.check_unheld(new.schema, old.key())?;
        self.check_row_moves(&was.written, &new)?;
        let dead = self.vacant(&new)?.map(|dead| dead.into_owned().into());
        let end = Some(sequence);
        cells.extend(self.take_totals(&mut new)?);
        cells.extend(left_cells(was.now()));
        let schema = new.schema;
        let mut planned = self.put(Some(&was.written), &new, sequence.max(self.context.now), dead.as_ref(), end)?;
        self.remove_parts(old, &mut planned);
        planned.rows.insert(0, self.gone(schema, &old.head));
        planned.copied.extend(self.copied(old.key(), sequence));
        Ok(Planned { cells, guards, ..planned })
    }

    fn delete(&self, schema: &'static EntitySchema, old: &Group) -> Result<Planned> {
        let image = Image::written(schema, old)?;
        self.check_unheld(schema, old.key())?;
        let sequence = next_sequence(&old.head.properties, self.context.now);
        let derived = self.derived(Some(&image), None, 0, sequence)?;
        let mut rows = vec![self.gone(schema, &old.head)];
        rows.extend(derived.rows);
        let copied = self.copied(old.key(), sequence).into_iter().collect();
        let mut cells = self.cells(Some(&image), None)?;
        cells.extend(left_cells(&image));
        let mut planned =
            Planned { rows, away: derived.away, lists: derived.lists, cells, copied, ..Planned::default() };
        self.remove_parts(old, &mut planned);
        Ok(planned)
    }

    /// The primary row of an entity that goes away: deleted, or a tombstone where rows elsewhere still follow.
    fn gone(&self, schema: &'static EntitySchema, old: &Row) -> PlannedRow {
        let condition = Condition::Match(old.etag.clone());
        let action = match self.setting.tombstones {
            false => Action::Delete(condition),
            true => {
                let sequence = next_sequence(&old.properties, self.context.now);
                let operations = self.context.operation.map(|id| system::with_operation(Some(&old.properties), id));
                Action::Replace(system::tombstone(schema, sequence, operations), condition)
            }
        };
        PlannedRow { row: old.key.row.clone(), action, role: Role::Primary }
    }

    fn touch(&self, schema: &'static EntitySchema, old: &Group, strays: &[AwayKey]) -> Result<Planned> {
        let was = Old::of(schema, old)?;
        // Above all that it may have had: rows elsewhere may be ahead of it, as a backup has them that was made beside writers.
        let sequence = next_sequence(&old.head.properties, self.context.now).max(self.context.now);
        let held = aggregate::held(schema, &old.key().row);
        // What it holds is made what the cells say; one that is missing says nothing.
        let cells = held.filter(|into| self.before.row(&into.cell()).flatten().is_some());
        let mut cells: Vec<_> = cells.map(aggregate::Edit::of_target).collect();
        let mut image = Cow::Borrowed(was.now());
        let (mut guards, mut leaving) = (Vec::new(), Derived::default());
        if was.is_older() {
            guards = self.copy(Some(&was), &mut image)?;
            cells.extend(self.cells(Some(&was.written), Some(&image))?);
            // What only the version that wrote it derives from it goes.
            let had = told(&was.written, |_| false).entries;
            leaving = self.leaving(&was.written, &had, &entries(&image)?, sequence);
        }
        let mut planned = Planned { cells, guards, ..self.put(None, &image, sequence, Some(old), None)? };
        planned.rows.extend(leaving.rows);
        planned.away.extend(leaving.away);
        planned.lists.extend(leaving.lists);
        let owner = &old.key().row;
        let wanted = |stray: &AwayKey, planned: &Planned| planned.away.iter().any(|row| stray.is_of(schema, row));
        for stray in strays {
            if !wanted(stray, &planned) {
                planned.away.extend(stray.removal(schema, owner, sequence));
            }
        }
        Ok(planned)
    }

    /// The parts of an entity that is taken away: in its batch, unless that would be too large.
    fn remove_parts(&self, old: &Group, planned: &mut Planned) {
        let removals = shape::removals(&old.parts);
        match self.context.fresh {
            None => planned.rows.extend(removals),
            Some(_) => planned.swept.extend(removals),
        }
    }

    /// The head's properties, and the writes of the parts; `over` are the rows at the image's key.
    pub(super) fn laid(&self, image: &Image, sequence: i64, over: Option<&Group>) -> Result<(Properties, Laid)> {
        let Cut { mut head, parts } = shape::cut(image)?;
        let layout = Layout { schema: image.schema, key: &image.key, sequence, fresh: self.context.fresh };
        let laid = layout.lay(parts, &mut head, over);
        version::expand(image, &mut head)?;
        if let Some(over) = over.filter(|_| !image.is_current()) {
            version::keep_shown(image.schema, &over.head.properties, &mut head);
        }
        self.stamp(&mut head, image.schema.discriminator, sequence, over.map(|over| &over.head));
        Ok((head, laid))
    }

    /// The primary row, its parts and its derived rows; `over` are the rows that they replace.
    ///
    /// The sequence is at least `sequence`, and over that of an earlier life of the key where one is known of; `end` is
    /// that of the old image's end, where the entity moves to another key.
    pub(super) fn put(
        &self,
        old: Option<&Image>,
        new: &Image,
        sequence: i64,
        over: Option<&Group>,
        end: Option<i64>,
    ) -> Result<Planned> {
        new.check_settled()?;
        let earlier =
            over.map_or_else(|| self.before.gone(&new.key.row), |over| system::sequence(&over.head.properties));
        let sequence = sequence.max(earlier.saturating_add(1));
        let (properties, laid) = self.laid(new, sequence, over)?;
        let action = match over {
            None => Action::Insert(properties.clone()),
            Some(over) => Action::Replace(properties.clone(), Condition::Match(over.head.etag.clone())),
        };
        let Laid { rows: of_parts, staged, swept, parts } = laid;
        let Derived { mut rows, away, lists } = self.derived(old, Some(new), sequence, end.unwrap_or(sequence))?;
        let primary = PlannedRow { row: new.key.row.clone(), action, role: Role::Primary };
        rows.splice(..0, std::iter::once(primary).chain(of_parts)); // mostly there is room
        let is_same = old.is_some_and(|old| {
            let is_kept = old.schema.version == new.schema.version && old.key == new.key;
            is_kept && !copy::differs(&self.setting.copied, &old.fields, &new.fields)
        });
        let copied = (!is_same).then(|| self.copied(&new.key, sequence)).flatten().into_iter().collect();
        let after = Some(properties);
        Ok(Planned { rows, away, lists, copied, after, parts, staged, swept, ..Planned::default() })
    }

    pub(super) fn stamp(
        &self,
        properties: &mut Properties,
        discriminator: &'static str,
        sequence: i64,
        over: Option<&Row>,
    ) {
        let before = over.map(|row| &row.properties);
        let operations = self.context.operation.map(|operation| system::with_operation(before, operation));
        system::stamp(properties, discriminator, sequence, operations);
    }
}

/// Whether the row is a primary row of the entity, of whatever version; in this form, where it moves.
pub(crate) fn is_primary(schema: &EntitySchema, row: &Row) -> bool {
    match system::kind(&row.properties) {
        RowKind::Primary { entity, version } => entity == schema.entity_type && !schema.is_of_other_form(version),
        RowKind::Foreign => system::is_adopted(schema, &row.properties),
        RowKind::Derived { .. } | RowKind::Part { .. } | RowKind::Tombstone { .. } => false,
    }
}

/// That the row is not the head of an entity of this type that names a version which is none: what that says and wants cannot be told.
pub(crate) fn check_told(schema: &EntitySchema, row: &Row) -> Result<()> {
    if is_primary(schema, row) || !system::is_damaged_head(&row.properties, schema.entity_type) {
        return Ok(());
    }
    let told = system::entity_type(&row.properties).unwrap_or_default();
    let detail = format!("its entity type `{told}` names no version: mend the row by hand, or delete it");
    Err(Error::corrupt(detail).of(schema.entity_type).at_key(row.key.clone()))
}

/// Whether a row that a walk over a table meets is the head of the entity. One of another program is that by its keys alone: what
/// stands at others is nobody's.
pub(crate) fn is_head(schema: &'static EntitySchema, row: &Row) -> bool {
    let is_at_its_keys = || system::kind(&row.properties) != RowKind::Foreign || key_values(schema, &row.key).is_ok();
    is_primary(schema, row) && !row.key.row.starts_with("~~") && is_at_its_keys()
}

/// The entity of this table that takes a row of another program for its own: one that adopts, whose keys and properties the row has.
pub(crate) fn adopter(entities: &[&'static EntitySchema], table: &str, row: &Row) -> Option<&'static EntitySchema> {
    entities.iter().copied().find(|schema| {
        schema.adopt
            && schema.table.eq_ignore_ascii_case(table)
            && is_primary(schema, row)
            && Image::stored(schema, &row.clone().into()).is_ok()
    })
}

/// The number after the row's own; a row that other programs wrote has none and starts at the clock.
pub(crate) fn next_sequence(properties: &Properties, now: i64) -> i64 {
    sequence_after(system::sequence(properties), now)
}

/// The number after this one.
pub(crate) fn sequence_after(sequence: i64, now: i64) -> i64 {
    match sequence {
        0 => now,
        sequence => sequence.saturating_add(1),
    }
}

/// A row as a plan leaves it.
pub(crate) fn planned_row(key: RowKey, properties: Properties) -> Row {
    Row { key, etag: stale_etag(), timestamp: DateTime::UNIX_EPOCH, properties }
}

/// An ETag that no row has: for a row whose state after a write is not known.
pub(crate) fn stale_etag() -> ETag {
    ETag::parse("")
}
