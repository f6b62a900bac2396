//! Registration: back-references that are put before their holder is written, where a copy restricts the deletion of a source in
//! another partition.
//!
//! Only one request follows another here; what a back-reference holds is decided in `rooms::copy`, and what is taken back in
//! `database::copies`.

use std::collections::HashSet;

use tablemodel_store::{Action, Batch, Condition, Properties, Receipts, Row, RowKey};

use crate::{
    database::{
        calls::{ATTEMPTS, in_vain, is_transient},
        execute::Run,
        outbox::{is_race, later},
    },
    error::{Error, Result},
    plan::{
        bonds::bonds,
        change::{Change, is_primary},
        copies::sources,
        entries::{Entry, entries},
        grouped::in_turn,
        image::Image,
        states::IndexState,
        system,
    },
    rooms::copy::{self, Source},
    schema::OnDelete,
};

/// A back-reference that was put before its holder.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) table: String,
    pub(super) row: Row,
    /// The tombstone that it was put over, which fences off what is delivered late.
    pub(super) over: Option<Properties>,
}

/// Whether each of the changes is the last that says which sources its entity names: what an earlier one of the batch says is so of nothing
/// that is written.
fn are_last(changes: &[Change]) -> Vec<bool> {
    let mut said = HashSet::new();
    let mut are_last: Vec<_> = changes.iter().rev().map(|change| is_last(change, &mut said)).collect();
    are_last.reverse();
    are_last
}

/// Whether the change is of an entity of which nothing was said, and from now on it was.
fn is_last<'c>(change: &'c Change, said: &mut HashSet<&'c RowKey>) -> bool {
    let is_last = !said.contains(change.key());
    match change {
        Change::Insert(image) | Change::Upsert(image) => said.extend([&image.key]),
        Change::Save { old, new } => said.extend([old.key(), &new.key]),
        Change::Delete { old, .. } => said.extend([old.key()]),
        _ => {}
    }
    is_last
}

impl Run<'_> {
    /// Puts the back-references that must be there before their holder is: of copies that restrict the deletion of a
    /// source in another partition. The source is written with each, as it is, under its ETag: a deletion that did not see
    /// the back-reference fails.
    pub(super) async fn register(&mut self, changes: &[Change]) -> Result<()> {
        if self.db.is_atomic() {
            return Ok(());
        }
        let turns = in_turn(changes, Change::key).zip(are_last(changes));
        for (number, ((change, is_again), is_last)) in turns.enumerate() {
            if is_last && !change.schema().copies.is_empty() {
                self.register_change(change, is_again).await.map_err(|error| error.in_operation(number))?;
            }
        }
        Ok(())
    }

    async fn register_change(&mut self, change: &Change, is_again: bool) -> Result<()> {
        let (Change::Insert(image) | Change::Upsert(image) | Change::Save { new: image, .. }) = change else {
            return Ok(());
        };
        let registered = self.registered(change)?;
        let sources = sources(change, &registered.setting, &self.known, is_again)?;
        for entry in entries(image)? {
            if registered.setting.of(entry.index) < IndexState::WriteOnly {
                continue; // nobody counts on it yet
            }
            let Some(copy) = entry.index.checked_sub(image.schema.indexes.len()) else { continue };
            let Some(copy) = image.schema.copies.get(copy) else { continue };
            let source = copy::source(image, copy)?.filter(|source| sources.contains(source));
            if let (Some(source), OnDelete::Restrict, true) = (source, copy.on_delete, entry.away.is_some()) {
                self.register_one(image, &entry, &source).await?;
            }
        }
        Ok(())
    }

    /// The same for an entity that is about to move here, of copies that it must have.
    pub(super) async fn register_arriving(&mut self, image: &Image) -> Result<()> {
        for bond in bonds(image, &self.registered.setting)? {
            if !bond.is_beside() {
                self.register_one(image, &bond.entry, &bond.source).await?;
            }
        }
        Ok(())
    }

    /// One of them. It expires after twice the fence: the writer gives up after half of it, and clocks may be apart by two
    /// thirds.
    async fn register_one(&mut self, image: &Image, entry: &Entry, source: &Source) -> Result<()> {
        let clock = &self.db.environment().clock;
        self.copying.since.get_or_insert_with(|| self.db.since());
        let table = self.db.table_name(source.schema.table);
        let place = RowKey::new(source.key.partition.clone(), entry.row.clone());
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let found = self.db.get_row(&table, &source.key).await?;
            let there = self.db.get_row(&table, &place).await?;
            self.known.elsewhere.insert((source.schema.table, source.key.clone()), found.clone());
            let Some(found) = found.filter(|row| is_primary(source.schema, row)) else { return Ok(()) };
            if there.as_ref().is_some_and(copy::is_settled) && self.holds_already(image, source).await? {
                return Ok(()); // what this write rests on is not current: it will fail, or begin again
            }
            let properties = copy::pending(
                entry,
                image.schema,
                there.as_ref(),
                later(clock.now(), self.db.0.fence.saturating_mul(2)),
            );
            let is_ours = there.as_ref().is_none_or(|there| self.may_take_back(there));
            let over = there.as_ref().and_then(|there| self.tombstone_under(there));
            let reference = match there {
                Some(there) => Action::Replace(properties.clone(), Condition::Match(there.etag)),
                None => Action::Insert(properties.clone()),
            };
            let as_it_is = Action::Replace(found.properties.clone(), Condition::Match(found.etag.clone()));
            let batch = Batch::new(&table, place.partition.clone());
            let batch = batch.with(place.row.clone(), reference).with(source.key.row.clone(), as_it_is);
            match self.db.commit_store(&[batch], attempt).await {
                Ok(receipts) => {
                    if is_ours {
                        self.remember(&table, (place, properties), over, &receipts);
                    }
                    return Ok(());
                }
                Err(error) if is_transient(&error) || is_race(error.kind()) => {
                    self.db.pause(attempt).await;
                    last = Some(error);
                }
                Err(error) => return Err(Error::from(error).of(source.schema.entity_type).at_key(source.key.clone())),
            }
        }
        Err(in_vain("the source of a copy", last).at_key(source.key.clone()))
    }

    /// Whether the entity, as it is now, names the source in a copy that restricts its deletion.
    async fn holds_already(&self, image: &Image, source: &Source) -> Result<bool> {
        let row = self.db.get_row(&self.registered(&Change::Insert(image.clone()))?.table, &image.key).await?;
        let Some(row) = row.filter(|row| is_primary(image.schema, row)) else { return Ok(false) };
        let current = Image::written(image.schema, &row.into())?;
        for (copy, image) in copy::all(&current) {
            if copy::source(image, copy)?.as_ref() == Some(source) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether what replaces the row may be taken back: not where another writer may count on it, who put it there for the same
    /// entity and has not written that yet.
    fn may_take_back(&self, there: &Row) -> bool {
        copy::is_settled(there) || system::is_dead(&there.properties) || self.own(there).is_some()
    }

    /// What this run put there before, and is there still.
    fn own(&self, there: &Row) -> Option<&Registration> {
        self.copying.registered.iter().find(|own| own.row.key == there.key && own.row.etag == there.etag)
    }

    /// The tombstone that is there, or was before this run.
    fn tombstone_under(&self, there: &Row) -> Option<Properties> {
        match system::is_dead(&there.properties) {
            true => Some(there.properties.clone()),
            false => self.own(there).and_then(|own| own.over.clone()),
        }
    }

    fn remember(
        &mut self,
        table: &str,
        (key, properties): (RowKey, Properties),
        over: Option<Properties>,
        receipts: &[Receipts],
    ) {
        let written = receipts.first().and_then(|batch| batch.first());
        if let Some((etag, timestamp)) = written.and_then(|row| Some((row.etag.clone()?, row.timestamp))) {
            let (table, row) = (table.to_owned(), Row { key, etag, timestamp, properties });
            self.copying.registered.push(Registration { table, row, over });
        }
    }

    /// That a registration is not held for so long that another may take it for left behind.
    pub(super) fn check_registered(&self) -> Result<()> {
        self.copying.since.map_or(Ok(()), |since| self.db.check_held(since))
    }
}
