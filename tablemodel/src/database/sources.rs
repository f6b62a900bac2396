//! The sources of copies, as a run reads them: after those who copy them. Who reads a source first, and then a holder that follows a later
//! state of it by now, would put that holder back, and nobody would look at it again.
//!
//! What a copy holds is decided in `rooms::copy`; nothing is written here.

use std::collections::HashSet;

use tablemodel_store::{Row, RowKey};

use crate::{
    database::{
        execute::{Run, has_moving_blobs},
        older::Copies,
    },
    error::Result,
    plan::{change::Change, copies::sources, grouped::in_turn},
    rooms::copy::Source,
    schema::EntitySchema,
};

impl Run<'_> {
    /// Reads the sources that the changes copy, after the entities themselves.
    pub(super) async fn read_sources(&mut self, changes: &[Change]) -> Result<()> {
        if changes.iter().all(|change| change.schema().copies.is_empty()) {
            return Ok(());
        }
        let mut read = HashSet::new();
        for (number, (change, is_again)) in in_turn(changes, Change::key).enumerate() {
            let sources = sources(change, &self.registered(change)?.setting, &self.known, is_again);
            for source in sources.map_err(|error| error.in_operation(number))? {
                if matches!(change, Change::Recopy { .. }) && read.insert((source.schema.table, source.key.clone())) {
                    self.forget_source(change.schema(), &source, changes);
                }
                self.read_row(change.schema(), source.schema, &source.key).await?;
            }
        }
        Ok(())
    }

    /// Forgets a source that was read before those who follow it. What this commit writes stays, which is refused where it is another by then:
    /// who follows another source is written by that.
    fn forget_source(&mut self, own: &EntitySchema, source: &Source, changes: &[Change]) {
        let place = (source.schema.table, source.key.clone());
        if self.known.is_shown(&place) {
            return;
        }
        if !source.is_beside(own, self.partition) {
            self.known.elsewhere.remove(&place);
        } else if !self.copying.own.contains(&source.key.row)
            && changes.iter().all(|change| *change.key() != source.key)
        {
            self.known.forget(&source.key.row);
        }
    }

    /// Reads a source or holder, wherever it stands.
    pub(super) async fn read_row(
        &mut self,
        own: &EntitySchema,
        schema: &'static EntitySchema,
        key: &RowKey,
    ) -> Result<Option<&Row>> {
        if schema.table.eq_ignore_ascii_case(own.table) && key.partition == self.partition {
            if !self.known.contains_key(&key.row) {
                // Read after its back-references, it would vouch for those that were not there yet.
                if self.copying.own.contains(&key.row) {
                    return Ok(None);
                }
                self.known.is_of_copies(&key.row);
                return match has_moving_blobs(schema) {
                    true => self.learn_entity(schema, &key.row, Copies::AreToFollow).await,
                    false => self.learn(&key.row).await,
                };
            }
            self.known.is_copied(&key.row);
            return Ok(self.known.get(&key.row).and_then(Option::as_ref));
        }
        let place = (schema.table, key.clone());
        if !self.known.elsewhere.contains_key(&place) {
            let table = self.db.table_name(schema.table);
            let row = match has_moving_blobs(schema) {
                true => self.db.placed_entity(schema, &table, key, Copies::AreToFollow).await?.map(|rows| rows.head),
                false => self.db.get_row(&table, key).await?,
            };
            self.known.elsewhere.insert(place.clone(), row);
        }
        Ok(self.known.elsewhere.get(&place).and_then(Option::as_ref))
    }
}
