//! Arrivals: entities that have left their old key, as their intents tell, and how they come to the new one.
//!
//! Whoever meets an intent lets its entity arrive; several may do so at once.

use futures_util::{FutureExt, future::BoxFuture};
use tablemodel_store::{KeyRange, Query, Row, RowKey};

use crate::{
    database::Database,
    error::{ErrorKind, Result},
    key::beginning_with,
    plan::{
        change::Change,
        group::Group,
        system::{self, RowKind},
    },
    rooms::rekey::{Move, Reservation, intents_of},
    schema::EntitySchema,
};

impl Database {
    pub(in crate::database) async fn intent(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
    ) -> Result<Option<Move>> {
        let rows = self.read_entity(schema, &self.table_name(schema.table), key).await?;
        rows.map(|rows| Move::read(schema, &rows)).transpose()
    }

    /// The moves that have taken an entity from this key and are not finished. One range query, and one for each of an
    /// entity that may be several rows.
    pub(in crate::database) async fn moves_of(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<Vec<Move>> {
        let range = KeyRange::rows(key.partition.clone(), beginning_with(&intents_of(&key.row)));
        let mut query = Query::new(self.table_name(schema.table), range);
        let mut moves = Vec::new();
        loop {
            let page = self.query_page(&query).await?;
            for row in page.rows.into_iter().filter(|row| is_intent_of(schema, row)) {
                match schema.has_parts() {
                    false => moves.push(Move::read(schema, &row.into())?),
                    true => moves.extend(self.intent(schema, &row.key).await?),
                }
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        moves.retain(|moving| moving.from == *key);
        Ok(moves)
    }

    /// Finishes what moves have taken an entity from this key; whether there was one.
    pub(in crate::database) async fn finish_moves_of(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
    ) -> Result<bool> {
        let moves = self.moves_of(schema, key).await?;
        for moving in &moves {
            self.finish_move(moving).await?;
        }
        Ok(!moves.is_empty())
    }

    /// Lets the entity arrive, unless it has; hands it the values that its old key's claims name; removes the intent.
    /// Gives the row at its new key, if this call wrote it.
    ///
    /// Boxed, since a write may have to finish a move first, and a move ends in a write.
    pub(in crate::database) fn finish_move<'a>(&'a self, moving: &'a Move) -> BoxFuture<'a, Result<Option<Group>>> {
        self.arrive(moving).boxed()
    }

    async fn arrive(&self, moving: &Move) -> Result<Option<Group>> {
        let since = self.since();
        let schema = moving.to.schema;
        let registered = self.registered(schema)?;
        if self.is_atomic() {
            self.hand_over(moving, since).await?; // else the claims of the old key would be in the way of the one commit
        }
        let arrived = match self.waits(moving).await? {
            false => None,
            true => match self.write_one(&registered, Change::Arrive(Box::new(moving.clone()))).await {
                Err(error) if *error.kind() == ErrorKind::NotFound && !self.waits(moving).await? => None,
                other => other?,
            },
        };
        if !self.is_atomic() {
            self.hand_over(moving, since).await?;
        }
        self.remove_intent(moving).await?;
        Ok(arrived)
    }

    /// Takes the intent away, with its parts.
    async fn remove_intent(&self, moving: &Move) -> Result<()> {
        let (schema, key) = (moving.to.schema, moving.intent_key());
        let table = self.table_name(schema.table);
        let rows = match schema.has_parts() {
            false => self.get_row(&table, &key).await?.map(Group::from),
            true => self.read_rows(&table, &key).await?,
        };
        match rows {
            Some(rows) => self.remove_rows(&table, &rows).await,
            None => Ok(()),
        }
    }

    /// Whether the new key is still reserved for the move. Anything else there means that the entity has arrived.
    async fn waits(&self, moving: &Move) -> Result<bool> {
        let there = self.get_row(&self.table_name(moving.to.schema.table), &moving.to.key).await?;
        Ok(there.as_ref().and_then(Reservation::of).is_some_and(|reservation| reservation.id == moving.id))
    }
}

/// Whether the row is an intent of such an entity, be it one that cannot be read.
fn is_intent_of(schema: &EntitySchema, row: &Row) -> bool {
    let is_damaged = system::damaged(&row.properties) == Some(schema.entity_type);
    is_damaged
        || matches!(system::kind(&row.properties), RowKind::Derived { entity, .. } if entity == schema.entity_type)
}
