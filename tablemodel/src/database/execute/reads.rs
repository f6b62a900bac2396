//! What a run reads before it plans, and remembers between its attempts.
//!
//! Which rows those are is `plan::change`'s to say.

use tablemodel_store::Row;

use super::Run;
use crate::{
    database::{calls::ATTEMPTS, older::Copies},
    error::Result,
    plan::{
        change::{Change, needs},
        known::Known,
    },
    rooms::aggregate::is_first,
    schema::EntitySchema,
};

/// Whether an entity is one row, which is planned over as it is read.
pub(in crate::database) fn is_read_alone(schema: &EntitySchema) -> bool {
    !schema.has_parts() && !has_moving_blobs(schema)
}

/// Whether entities of older versions are written as new before anything else is done with them.
#[cfg(feature = "blob")]
pub(in crate::database) fn has_moving_blobs(schema: &EntitySchema) -> bool {
    schema.has_moving_blobs()
}

/// Without blobs none is.
#[cfg(not(feature = "blob"))]
pub(in crate::database) const fn has_moving_blobs(_: &EntitySchema) -> bool {
    false
}

impl Run<'_> {
    pub(in crate::database) async fn learn(&mut self, row: &str) -> Result<Option<&Row>> {
        let found = self.db.get_row(&self.registered.table, &self.key(row)).await?;
        let found = self.db.with_keys(&self.registered.table, found).await?;
        Ok(self.known.entry(row.to_owned()).insert_entry(found).into_mut().as_ref())
    }

    /// As `learn`, of an entity's head: its parts are learnt too.
    pub(in crate::database) async fn learn_entity(
        &mut self,
        schema: &'static EntitySchema,
        row: &str,
        copies: Copies,
    ) -> Result<Option<&Row>> {
        if is_read_alone(schema) {
            return self.learn(row).await;
        }
        let found = self.db.placed_entity(schema, &self.registered.table, &self.key(row), copies).await?;
        found.iter().for_each(|found| self.known.keep_fetched(found));
        let (head, parts) = found.map_or((None, Vec::new()), |found| (Some(found.head), found.parts));
        self.known.extend(parts.into_iter().map(|part| (part.key.row.clone(), Some(part))));
        Ok(self.known.entry(row.to_owned()).insert_entry(head).into_mut().as_ref())
    }

    /// What the changes need to be planned; all of it again where an entity that was on its way has come meanwhile.
    pub(in crate::database) async fn read_needs(&mut self, changes: &[Change]) -> Result<()> {
        self.look_at_clock();
        for _ in 0..ATTEMPTS {
            if !self.read_for(changes).await? {
                return self.read_sources(changes).await;
            }
            self.known = Known::new();
        }
        Err(self.exhausted())
    }

    /// Whether an entity has come that was on its way to where one of them puts another.
    async fn read_for(&mut self, changes: &[Change]) -> Result<bool> {
        let mut has_come = false;
        self.read_holders(changes).await?;
        for (number, change) in changes.iter().enumerate() {
            let is_recopied = matches!(change, Change::Recopy { .. });
            if is_recopied {
                self.known.is_of_copies(&change.key().row);
            }
            let copies = if is_recopied { Copies::FollowAnyway } else { Copies::AreToFollow };
            if matches!(change, Change::Upsert(_) | Change::Patch { .. }) {
                self.known.is_needed(&change.key().row);
            }
            let registered = self.registered(change)?;
            loop {
                let needs = needs(change, &registered.setting, &self.known);
                let needs = needs.map_err(|error| error.in_operation(number))?;
                if needs.is_empty() {
                    break;
                }
                for need in needs {
                    match need.head {
                        Some(schema) => drop(self.learn_entity(self.newest(change, schema)?, &need.row, copies).await?),
                        None if is_first(&need.row) => self.learn_first(need.row, changes.len()).await?,
                        None => drop(self.learn(&need.row).await?),
                    };
                }
            }
            if !self.known.is_blank() {
                has_come |= self.clear_way(change).await.map_err(|error| error.in_operation(number))?;
            }
        }
        Ok(has_come)
    }
}
