//! Planning with copies: what a change takes from its sources, what guards that, and who must follow a source.
//!
//! What a copy holds is the room's to say. Nothing is read or written here.

use std::borrow::Cow;

use tablemodel_store::{Action, Condition, Row, RowKey, Value};

use crate::{
    error::Result,
    plan::{
        change::{Change, Planned, PlannedRow, Planner, Role, is_primary, known_images, next_sequence},
        entries::Away,
        group::Group,
        image::Image,
        known::Known,
        outbox::Intent,
        shape,
        states::Setting,
        system,
        version::Old,
    },
    rooms::copy::{self, Source},
    schema::{COPIED_SEQUENCE, CopySchema, EntitySchema, OnDelete},
};

/// What keeps a copy from staying as a source was that changed meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Guard {
    /// A write that fails unless the source is as it was read.
    Unchanged(Place, Action),
    /// An outbox row: its delivery looks at the source again.
    Again,
}

/// What becomes of the copies of an entity that is only written as new. A change of its own, behind that, brings them to what their sources
/// are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// They stay as they are.
    AsStored,
    /// They are filled, since the entity could not be read with what they are.
    Filled,
}

/// Which copies of a holder are brought to what their sources are, and so that it changes with every change of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recopied {
    All,
    /// Those in these properties. Of the others a source that says the same again leaves the holder as it is: what changed it tells its holders
    /// itself, and who wrote the holder is to have it as it stands.
    These(Vec<&'static str>),
}

impl Recopied {
    fn names(&self, copy: &CopySchema) -> bool {
        match self {
            Self::All => true,
            Self::These(named) => named.contains(&copy.property),
        }
    }
}

impl Change {
    /// That all copies of a holder are brought to what their sources are.
    pub(crate) const fn recopied(schema: &'static EntitySchema, key: RowKey, repair: bool) -> Self {
        Self::Recopy { schema, key, of: Recopied::All, repair }
    }
}

/// Where a source stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) away: Away,
    pub(crate) row: String,
}

/// The sources of copies that must be read before the change can be planned, once the rows that it [`needs`] are known; all of
/// them, if it is `planned_over` what an earlier change of its batch leaves.
pub(crate) fn sources(change: &Change, setting: &Setting, known: &Known, planned_over: bool) -> Result<Vec<Source>> {
    let copies = change.schema().copies;
    if copies.is_empty() {
        return Ok(Vec::new());
    }
    let images = known_images(change, setting, known)?;
    let (old, new) = match (change, images.as_slice()) {
        (Change::Insert(_) | Change::Upsert(_) | Change::Recopy { .. } | Change::Arrive(_), [new]) => (None, new),
        (Change::Recopy { .. }, [_, new]) => (None, new),
        (_, [old, new]) => (Some(old), new),
        _ => return Ok(Vec::new()),
    };
    let mut sources = Vec::new();
    for (at, copy) in copies.iter().enumerate() {
        if planned_over || !setting.copies(new.schema, at) || !is_registered(copy, old, new)? {
            sources.extend(copy::source(new, copy)?);
        }
    }
    Ok(sources)
}

/// Whether the old image's back-reference and copy are those of the new one. One of an older version may hold less of its source, or in
/// another form.
fn is_registered(copy: &CopySchema, old: Option<&Image>, new: &Image) -> Result<bool> {
    match old.filter(|old| old.is_current() && old.key == new.key) {
        Some(old) => Ok(copy::source(old, copy)? == copy::source(new, copy)?),
        None => Ok(new.renewal == Some(Renewal::AsStored)),
    }
}

/// The entities that the change may take from under their copies, and whose copies may have to follow it.
pub(crate) fn followed(change: &Change, setting: &Setting, known: &Known) -> Result<Vec<String>> {
    if setting.copied.is_empty() || matches!(change, Change::Recopy { .. } | Change::Contribute(_)) {
        return Ok(Vec::new());
    }
    let images = known_images(change, setting, known)?;
    Ok(match (change, images.as_slice()) {
        (Change::Touch { .. }, [_]) => Vec::new(),
        // What an upgrade makes of a property is new to those who copied it.
        (_, [old, new]) if !old.is_current() && old.key == new.key => vec![new.key.row.clone()],
        (Change::Refresh { sets, .. }, _) if !sets.iter().any(|set| is_copied(set.0, setting)) => Vec::new(),
        (Change::Patch { schema, key, sets, .. }, _) => match known.get(&key.row) {
            Some(Some(row)) if is_patched(schema, row, sets, setting) => vec![key.row.clone()],
            _ => Vec::new(),
        },
        (_, [old, new]) if old.key != new.key => vec![old.key.row.clone(), new.key.row.clone()],
        (_, [old, new]) if !copy::differs(&setting.copied, &old.fields, &new.fields) => Vec::new(),
        _ => vec![change.key().row.clone()],
    })
}

fn is_copied(property: &str, setting: &Setting) -> bool {
    setting.copied.iter().any(|by| by.copy.properties.contains(&property))
}

/// Whether the patch changes what some entity copies.
pub(super) fn is_patched(
    schema: &EntitySchema,
    row: &Row,
    sets: &[(&'static str, Option<Value>)],
    setting: &Setting,
) -> bool {
    let differs = |(name, value): &(&str, Option<Value>)| row.properties.get(name) != value.as_ref().map(Value::as_ref);
    sets.iter().any(|set| is_copied(set.0, setting) && !schema.in_key(set.0) && differs(set))
}

impl Planner<'_> {
    /// That those who copy the entity may have to follow later, if others may copy it.
    pub(super) fn copied(&self, key: &RowKey, sequence: i64) -> Option<Intent> {
        let Setting { deferred, copied, .. } = self.setting;
        (*deferred && !copied.is_empty()).then(|| Intent::copied(key.row.clone(), sequence, copied))
    }

    /// Fills the copies of the new image: from their sources, or as they were where nothing about them changed. Gives the
    /// writes that fail unless the sources are as they were read; none for one that is only written as new, whose sources are looked at again:
    /// somebody may be about to write one of them, as the caller read it, and wait for that.
    pub(super) fn copy(&self, old: Option<&Old>, new: &mut Cow<'_, Image>) -> Result<Vec<Guard>> {
        let mut guards = Vec::new();
        if new.schema.copies.is_empty() {
            return Ok(guards);
        }
        let new = new.to_mut();
        for (at, copy) in new.schema.copies.iter().enumerate() {
            let mut is_carried = false;
            if let Some(old) = old {
                is_carried = copy::carry(new, copy, old.now())?;
                if self.setting.copies(new.schema, at) && is_registered(copy, Some(&old.written), new)? {
                    continue;
                }
            }
            let source = copy::source(new, copy)?;
            let row = source.as_ref().and_then(|source| self.source_row(new, source));
            let live = row.as_deref().filter(|row| is_primary((copy.source)(), row));
            if live.is_none() && !copy.optional {
                match old {
                    Some(_) => copy::check_kept(new, copy, source.as_ref())?,
                    // What has left its old key arrives, whatever it holds.
                    None => copy::check_filled(new, copy, source.as_ref())?,
                }
            }
            // What is kept of a source that is gone goes with a holder that moves; what was taken of one that is damaged stays.
            let is_kept = copy.on_delete == OnDelete::Keep || (is_carried && copy::is_damaged(copy, row.as_deref()));
            if live.is_some() || (copy.optional && !is_kept) {
                copy::fill(new, copy, row.as_deref())?;
            }
            let guard = source.filter(|_| new.renewal.is_none());
            let guard = guard.and_then(|source| self.guard(new, &source, row.as_deref()));
            let is_new = guard.as_ref().is_some_and(|guard| !guards.contains(guard)); // two copies may be of one source
            guards.extend(guard.filter(|_| is_new));
        }
        Ok(guards)
    }

    fn source_row(&self, holder: &Image, source: &Source) -> Option<Cow<'_, Row>> {
        match source.is_beside(holder.schema, &holder.key.partition) {
            true => self.before.row(&source.key.row).flatten(),
            false => self.before.known().row_at(source.schema.table, &source.key).map(Cow::Borrowed),
        }
    }

    /// What guards a copy of this source; nothing where the holder's outbox row looks at it again in any case, for its
    /// back-reference in another partition.
    fn guard(&self, holder: &Image, source: &Source, row: Option<&Row>) -> Option<Guard> {
        let is_live = row.is_some_and(|row| is_primary(source.schema, row));
        let beside = source.is_beside(holder.schema, &holder.key.partition);
        if self.setting.deferred && !(beside && is_live) {
            return beside.then_some(Guard::Again);
        }
        let action = match row {
            Some(row) => Action::Replace(row.properties.clone(), Condition::Match(row.etag.clone())),
            // So that an insert of the source meets something, and looks for who waits for it.
            None => Action::Insert(system::tombstone(source.schema, self.context.now, None)),
        };
        let away = Away { table: source.schema.table, partition: source.key.partition.clone() };
        Some(Guard::Unchanged(Place { away, row: source.key.row.clone() }, action))
    }

    /// Brings the entity's copies to what their sources are. One of an older version that could not be read as new, or whose blobs have yet to
    /// be put where this one keeps them, stays as it is, for a migration to tell: it is written nevertheless, so that who read another of
    /// its sources before cannot write that late.
    pub(super) fn recopy(&self, schema: &'static EntitySchema, key: &RowKey, of: &Recopied) -> Result<Planned> {
        let row = self.before.row(&key.row).flatten().filter(|row| is_primary(schema, row));
        let Some(row) = row else { return Ok(Planned::default()) };
        let old = shape::known(schema, row.into_owned(), self.before)?;
        let was = Old::of(schema, &old)?;
        let (mut new, mut is_whole) = (Cow::Borrowed(was.now()), was.now().check_settled().is_ok());
        for copy in schema.copies {
            let source = copy::source(&*new, copy)?;
            let row = source.as_ref().and_then(|source| self.source_row(&new, source));
            if copy::follows(copy, row.as_deref()) {
                copy::fill(new.to_mut(), copy, row.as_deref())?;
                if !of.names(copy) {
                    keep_number(new.to_mut(), copy, was.now());
                }
            } else {
                is_whole &= copy.optional || copy::check_kept(&new, copy, source.as_ref()).is_ok();
            }
        }
        if new.fields == was.now().fields {
            return Ok(Planned { after: Some(old.head.properties), parts: old.parts, ..Planned::default() });
        }
        if was.is_older() && !is_whole {
            return Ok(as_it_is(old));
        }
        let sequence = next_sequence(&old.head.properties, self.context.now);
        let mut cells = self.cells(Some(&was.written), Some(&new))?;
        cells.extend(self.keep_totals(&was, &mut new)?);
        let mut planned = Planned { cells, ..self.put(Some(&was.written), &new, sequence, Some(&old), None)? };
        for row in planned.rows.iter_mut().filter(|row| row.role == Role::Primary) {
            row.role = Role::Holder;
        }
        Ok(planned)
    }

    /// That no entity copies this one that would not let it go.
    pub(super) fn check_unheld(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<()> {
        if !self.setting.copied.iter().any(|by| by.copy.on_delete == OnDelete::Restrict) {
            return Ok(());
        }
        let known = self.before.known();
        let stored = known.references.get(&key.row).into_iter().flatten().map(Cow::Borrowed);
        for row in stored.chain(self.before.put_under(&copy::references_to(&key.row))) {
            let Some(reference) = copy::read(&row, &self.setting.copied) else { continue };
            if reference.by.copy.on_delete != OnDelete::Restrict || reference.is_dead {
                continue;
            }
            let holder = reference.by.holder;
            let beside = holder.table.eq_ignore_ascii_case(schema.table) && reference.holder.partition == key.partition;
            let row = match beside {
                true => self.before.row(&reference.holder.row).flatten(),
                false => known.row_at(holder.table, &reference.holder).map(Cow::Borrowed),
            };
            if copy::holds(reference.by, reference.pending.is_some(), row.as_deref(), key)? {
                return Err(copy::restricted(schema, key, &reference));
            }
            if reference.pending.is_some_and(|expires| self.context.now < expires.ticks()) {
                return Err(copy::being_registered(schema, key, &reference));
            }
        }
        Ok(())
    }
}

/// Leaves the copy its number where it says the same as in an earlier image.
fn keep_number(image: &mut Image, copy: &CopySchema, old: &Image) {
    let says = |image: &Image, name: &str| image.fields.get(copy.stored(name).as_str()).map(|value| value.to_value());
    let is_same = copy.properties.iter().all(|name| says(image, name) == says(old, name));
    let number =
        says(old, COPIED_SEQUENCE).filter(|_| is_same && copy::is_filled(image, copy) == copy::is_filled(old, copy));
    if let Some(number) = number {
        image.fields.insert(copy.stored(COPIED_SEQUENCE), number);
    }
}

/// The write of a holder that leaves it as it is.
fn as_it_is(old: Group) -> Planned {
    let Group { head, parts, .. } = old;
    let action = Action::Replace(head.properties.clone(), Condition::Match(head.etag));
    let row = PlannedRow { row: head.key.row, action, role: Role::Holder };
    Planned { rows: vec![row], after: Some(head.properties), parts, ..Planned::default() }
}
