//! Outbox rows: those that no relay delivers or sweeps, and whether there is still one of an entity.
//!
//! What such a row names is not looked at here.

use tablemodel_store::{KeyRange, Query, Row, RowKey};

use crate::{
    database::{
        Database, outbox,
        verify::{Violation, ViolationKind, check::Check, mend::Mend},
    },
    error::{ErrorKind, Result},
    key::beginning_with,
    plan::{
        outbox::{OUTBOX, Progress},
        system,
    },
    schema::EntitySchema,
};

impl Database {
    /// Undelivered work: pending, unless it is overdue or no relay will find it. And what was delivered, whose tombstones stay where none
    /// finds it.
    pub(super) async fn check_outbox(&self, check: &mut Check) -> Result<()> {
        for (schema, row) in std::mem::take(&mut check.outbox) {
            let is_done = Progress::of(&row).delivered.is_some();
            check.pending += u64::from(!is_done);
            if is_done && !self.is_older_than_fences(&row, 2) {
                continue;
            }
            let is_marked = self.is_marked(schema, &row.key.partition).await?;
            let (kind, detail) = match (is_done, is_marked) {
                (true, false) => (
                    ViolationKind::Leftover,
                    "its tombstones stay: its partition has no marker, so that no relay sweeps",
                ),
                (false, false) => {
                    (ViolationKind::Undelivered, "its partition has no marker, so that no relay finds it")
                }
                (false, true) if self.is_older_than_fences(&row, 1) => {
                    (ViolationKind::Undelivered, "its work was not done for longer than the fence")
                }
                (_, true) => continue,
            };
            check.violations.push(Violation {
                table: schema.table.to_owned(),
                kind,
                detail: detail.to_owned(),
                mend: Mend::Deliver(schema.entity_type),
                key: row.key,
            });
        }
        Ok(())
    }

    /// Whether relays find the partition. Where they do not, this program no longer relies on a marker that it has written.
    async fn is_marked(&self, schema: &'static EntitySchema, partition: &str) -> Result<bool> {
        let marker = outbox::marker(schema.table, partition);
        let is_there = match self.get_row(&self.dirty_table(), &marker).await {
            // A model without rows elsewhere has that table once an entity has moved.
            Err(error) if *error.kind() == ErrorKind::NotFound => false,
            there => there?.is_some(),
        };
        if !is_there {
            self.0.markers.forget(&marker);
        }
        Ok(is_there)
    }

    /// Whether what the entity wants elsewhere is still on its way, or itself, from this key to another. Where an intent of it cannot be
    /// read, which is reported where that stands, nothing else is said.
    pub(in crate::database::verify) async fn is_pending(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
    ) -> Result<bool> {
        let is_left = self.has_outbox_rows(schema, owner, |row| Progress::of(row).delivered.is_none()).await?;
        match self.moves_of(schema, owner).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => Ok(true),
            moves => Ok(is_left || !moves?.is_empty()),
        }
    }

    /// Whether the entity has an outbox row that counts.
    pub(super) async fn has_outbox_rows(
        &self,
        schema: &'static EntitySchema,
        owner: &RowKey,
        counts: impl Fn(&Row) -> bool + Send,
    ) -> Result<bool> {
        let rows = beginning_with(&format!("{OUTBOX}{}|", owner.row));
        let mut query = Query::new(self.table_name(schema.table), KeyRange::rows(owner.partition.clone(), rows));
        // The keys of others may begin so too.
        let is_own = |row: &Row| system::owner_row(&row.properties) == Some(owner.row.as_str());
        loop {
            let page = self.query_page(&query).await?;
            if page.rows.iter().any(|row| is_own(row) && counts(row)) {
                return Ok(true);
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(false),
            }
        }
    }
}
