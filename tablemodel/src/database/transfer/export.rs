//! Export: every row of the model's tables as a line, each entity of several rows as it was at one moment.
//!
//! Writes nothing to the store.

use std::{collections::HashMap, io::Write};

use tablemodel_store::{KeyRange, Query, Row, StoreErrorKind};

use super::Transferred;
use crate::{
    database::{
        Database,
        calls::ATTEMPTS,
        leases::INSTANCE,
        migrate::Exported,
        registry::{
            SCHEMA_TABLE, lapsed,
            moved::{LeftBehind, check_stays},
            recording::IMPORT,
        },
    },
    error::{Error, ErrorKind, Result},
    plan::{
        group::Group,
        part,
        system::{self, RowKind},
    },
    row_json,
};

impl Database {
    /// Writes every row of the model's tables, and the index states, as JSON lines: one object a row, in Azure's own
    /// JSON with type annotations, with the table's name under `odata.table`.
    ///
    /// Cost: one request per 1,000 rows. A table is read page by page: what changes meanwhile may or may not be in it, and
    /// where programs write beside an export, [`Database::repair`] is for the rows derived from what it holds. An entity of
    /// several rows is in it as it was at one moment; one that changed on the way is read again. Parts of entities that no
    /// head names are left out.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut lines = Vec::new();
    /// let exported = db.export(&mut lines).await?;
    /// let copy = Database::in_memory::<Company>().await?;
    /// assert_eq!(copy.import(lines.as_slice()).await?, exported);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the store, and `Denied` with the cause when `to` cannot be written. Of an entity that the store keeps elsewhere than this
    /// program: `Moved`, `NotSwitched`, or `Unsupported`; of one that others [move](crate::moves) while it is exported, or begin to move
    /// where this program does not know, `Unavailable`, once its rows are written: what was exported is to be thrown away.
    pub async fn export(&self, to: &mut (impl Write + Send)) -> Result<Transferred> {
        let mut exported = Transferred::default();
        let before = self.read_registry().await?;
        for schema in self.model().iter().copied() {
            self.0.registry.get(schema)?; // else its rows would be looked for where they are not
        }
        let mut tables = self.table_names();
        if !tables.contains(&self.dirty_table()) {
            tables.push(self.dirty_table()); // moves under way are marked there, whatever the model
        }
        for table in tables {
            let rows = self.export_table(&table, &before, to).await?;
            exported.rows += rows;
            exported.tables += u64::from(rows > 0);
        }
        to.flush().map_err(unwritten)?;
        Ok(exported)
    }

    /// `before` are the records of entities and the states of indexes before any row was read.
    async fn export_table(
        &self,
        table: &str,
        before: &HashMap<String, Row>,
        to: &mut (impl Write + Send),
    ) -> Result<u64> {
        let name = table.get(self.0.prefix.len()..).unwrap_or(table);
        let mut query = Query::new(table, KeyRange::table());
        let mut lines = Lines { db: self, table, name, to, count: 0, open: None };
        let is_of_states = name.eq_ignore_ascii_case(SCHEMA_TABLE);
        let exported = self.table_names();
        let has = |table: &str| exported.iter().any(|own| own.eq_ignore_ascii_case(&self.table_name(table)));
        let left = LeftBehind::of(self.0.model, before);
        let migrations = Exported::of(before, &left);
        let mut is_raised = false;
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(0),
                other => other?,
            };
            for mut row in page.rows {
                if left.has(&row) || (is_of_states && !migrations.takes(&mut row)) {
                    continue;
                }
                if is_of_states {
                    lapsed::without_rows(&mut row, has);
                    is_raised |= left.is_raised(&row);
                    left.check_begun_before(&row, is_raised)?;
                    left.begin_anew(&mut row);
                    let was = before.get(&row.key.row);
                    check_stays(&row, was)?;
                    lapsed::as_begun(&mut row, was)?;
                }
                lines.take(row).await?;
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        lines.close().await?;
        Ok(lines.count)
    }
}

/// The lines of one table.
struct Lines<'a, W> {
    db: &'a Database,
    /// Its name in the store, and in the export.
    table: &'a str,
    name: &'a str,
    to: &'a mut W,
    count: u64,
    /// The entity whose parts may follow.
    open: Option<Group>,
}

impl<W: Write + Send> Lines<'_, W> {
    /// Takes the next row of the table.
    async fn take(&mut self, row: Row) -> Result<()> {
        if matches!(system::kind(&row.properties), RowKind::Part { .. }) {
            if let Some(open) = self.open.as_mut().filter(|open| is_of(open, &row)) {
                open.parts.push(row);
            }
            return Ok(());
        }
        if self.open.as_ref().is_some_and(|open| !part::is_before_parts(open.key(), &row.key)) {
            self.close().await?;
        }
        if part::has_parts(&row.properties) {
            self.close().await?;
            self.open = Some(row.into());
            return Ok(());
        }
        self.write(&row) // of others, it may stand between a head and its parts
    }

    /// Writes the entity that is open.
    async fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        match self.db.whole(self.table, open).await? {
            Some(rows) => rows.iter().try_for_each(|row| self.write(row)),
            None => Ok(()),
        }
    }

    fn write(&mut self, row: &Row) -> Result<()> {
        if stays(self.name, row) {
            return Ok(());
        }
        self.count += 1;
        writeln!(self.to, "{}", row_json::to_line(self.name, row)).map_err(unwritten)
    }
}

fn is_of(head: &Group, part: &Row) -> bool {
    head.key().partition == part.key.partition && head.key().row == part::entity_row(&part.key.row)
}

impl Database {
    /// The entity with the parts that its head names, read again while they do not fit; none if it is gone. One that is
    /// damaged is given as it is.
    async fn whole(&self, table: &str, rows: Group) -> Result<Option<Group>> {
        let mut rows = rows;
        for attempt in 0..ATTEMPTS {
            if let Ok(settled) = part::settled(rows.clone()) {
                return Ok(Some(settled));
            }
            let Some(again) = self.read_rows(table, rows.key()).await? else { return Ok(None) };
            if again.etags().eq(rows.etags()) {
                return Ok(Some(rows)); // no other program is writing them
            }
            rows = again;
            self.pause(attempt).await;
        }
        let detail = "the entity keeps changing while it is exported; export again";
        Err(Error::new(ErrorKind::Unavailable, detail).at_key(rows.key().clone()))
    }
}

fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Denied, "the export cannot be written").caused_by(error)
}

/// Whether the row is of no meaning in another store: the lease of a program, or that an import is not over.
fn stays(table: &str, row: &Row) -> bool {
    table.eq_ignore_ascii_case(SCHEMA_TABLE) && (row.key.row.starts_with(INSTANCE) || row.key.row == IMPORT)
}
