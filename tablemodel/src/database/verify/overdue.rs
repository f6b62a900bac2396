//! What a repair does with the outbox: what was left there for too long is carried out, and what only relays may do is brought where they
//! find it.

use tablemodel_store::RowKey;

use crate::{
    database::{Database, outbox::Outgoing, relay::is_of_newer},
    error::{Error, ErrorKind, Result},
    plan::outbox::{Intent, Progress},
    rooms::rekey::INTENT,
    schema::EntitySchema,
};

impl Database {
    /// Delivers an outbox row, or finishes the move of an intent, poisoned or not, and sees to it that relays find what is left. What was
    /// delivered is theirs to sweep, but where a store commits several partitions at once.
    pub(super) async fn deliver_overdue(&self, schema: &'static EntitySchema, key: &RowKey) -> Result<()> {
        let (table, since) = (self.table_name(schema.table), self.since());
        let Some(row) = self.get_row(&table, key).await? else { return Ok(()) };
        self.mark_moving(schema, &key.partition).await?;
        let is_done = Progress::of(&row).delivered.is_some();
        if is_done && !self.is_atomic() {
            return Ok(());
        }
        if is_of_newer(schema, &row) {
            let detail = "a newer version of the entity left this to be done: repair with that program";
            return Err(Error::new(ErrorKind::UnknownVersion, detail).of(schema.entity_type).at_key(key.clone()));
        }
        if key.row.starts_with(INTENT) {
            return match self.intent(schema, key).await? {
                Some(moving) => self.finish_move(&moving).await.map(drop),
                None => Ok(()),
            };
        }
        let intent = Intent::read(&row)?;
        let outgoing =
            Outgoing { schema, table: table.clone(), row: key.clone(), etag: row.etag.clone(), intent, since };
        match (self.is_atomic(), is_done) {
            (true, _) if self.leaves(&*self.registered(schema)?, &outgoing.intent) => return Err(self.left(&outgoing)?),
            (false, _) => return if self.deliver(&outgoing).await? { Ok(()) } else { Err(self.left(&outgoing)?) },
            (true, false) => self.relay().deliver_at_once(&outgoing, &row).await?,
            (true, true) => drop(self.relay().sweep(&outgoing, &row).await?),
        }
        match self.get_row(&table, key).await? {
            None => Ok(()),
            Some(_) => {
                let detail = "this goes once the other outbox rows and moves of its entity are done: repair again";
                Err(Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(key.clone()))
            }
        }
    }

    /// That an outbox row names an index, a copy or a form that the program does not have.
    fn left(&self, outgoing: &Outgoing) -> Result<Error> {
        let registered = self.registered(outgoing.schema)?;
        let lacked = self.lacked_of(&registered, &outgoing.intent).unwrap_or_default();
        let detail = format!(
            "it names `{lacked}`, an index, a copy or a move that this program's model lacks: repair with a program that has it"
        );
        Ok(Error::new(ErrorKind::Unsupported, detail).of(outgoing.schema.entity_type).at_key(outgoing.row.clone()))
    }
}
