//! Data in and out: JSON-lines export and import of every row, backup and restore of a file.
//!
//! Rows travel as they are stored, system properties included; nothing is planned or upgraded on the way.

use std::io::{BufRead, Write};

use tablemodel_store::{Action, Batch, KeyRange, Query, Row, StoreErrorKind, limits, size};

use crate::{
    database::Database,
    error::{Error, ErrorKind, Result},
    row_json,
};

/// What an export or import moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Rows.
    pub rows: u64,
    /// Tables that had rows.
    pub tables: u64,
}

impl Database {
    /// Writes every row of the model's tables, and the index states, as JSON lines: one object a row, in Azure's own
    /// JSON with type annotations, with the table's name under `odata.table`.
    ///
    /// Cost: one request per 1,000 rows. A table is read page by page: what changes meanwhile may or may not be in it.
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
    /// Those of the store, and `Denied` with the cause when `to` cannot be written.
    pub async fn export(&self, to: &mut (impl Write + Send)) -> Result<Transferred> {
        let mut moved = Transferred::default();
        for table in self.table_names() {
            let rows = self.export_table(&table, to).await?;
            moved.rows += rows;
            moved.tables += u64::from(rows > 0);
        }
        to.flush().map_err(unwritten)?;
        Ok(moved)
    }

    async fn export_table(&self, table: &str, to: &mut (impl Write + Send)) -> Result<u64> {
        let name = table.get(self.0.prefix.len()..).unwrap_or(table);
        let mut query = Query::new(table, KeyRange::table());
        let mut count = 0;
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(0),
                other => other?,
            };
            for row in &page.rows {
                writeln!(to, "{}", row_json::to_line(name, row)).map_err(unwritten)?;
            }
            count += page.rows.len() as u64;
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(count),
            }
        }
    }

    /// Inserts the rows of an export. Tables are created where they are missing; a row that exists is an error.
    ///
    /// Rows come as they were stored, derived rows included, so that the store is as it was (but for ETags and
    /// timestamps). Call it on a fresh database, and [`Database::ensure_tables`] after it.
    /// Cost: one request per 100 rows of a partition; each batch is all or nothing, the whole is not.
    ///
    /// # Errors
    ///
    /// `Corrupt` with the line's number for a line that is not a row, `AlreadyExists` for a row that is there.
    pub async fn import(&self, from: impl BufRead) -> Result<Transferred> {
        let mut moved = Transferred::default();
        let mut open: Option<Batch> = None;
        let mut table = String::new();
        for (number, line) in from.lines().enumerate() {
            let line =
                line.map_err(|error| Error::new(ErrorKind::Denied, "the export cannot be read").caused_by(error))?;
            if line.trim().is_empty() {
                continue;
            }
            let (name, row) = row_json::from_line(&line)
                .map_err(|detail| Error::corrupt(format!("line {} of the export: {detail}", number + 1)))?;
            if name != table {
                self.create_missing(&format!("{}{name}", self.0.prefix)).await?;
                (table, moved.tables) = (name.clone(), moved.tables + 1);
            }
            open = Some(self.import_row(open, &format!("{}{name}", self.0.prefix), row).await?);
            moved.rows += 1;
        }
        if let Some(batch) = open {
            self.commit_raw(batch).await?;
        }
        self.load_registry().await?;
        Ok(moved)
    }

    /// Adds the row to the open batch; commits that first where the row does not fit.
    async fn import_row(&self, open: Option<Batch>, table: &str, row: Row) -> Result<Batch> {
        let (key, action) = (row.key, Action::Insert(row.properties));
        let full = |batch: &Batch| {
            batch.table != table
                || batch.partition != key.partition
                || batch.operations.len() >= limits::MAX_BATCH_OPERATIONS
        };
        let fresh = || Batch::new(table, key.partition.clone());
        let Some(batch) = open else { return Ok(fresh().with(key.row.clone(), action)) };
        if full(&batch) {
            self.commit_raw(batch).await?;
            return Ok(fresh().with(key.row.clone(), action));
        }
        let mut longer = batch.with(key.row.clone(), action);
        if size::batch_bytes(&longer) <= limits::MAX_BATCH_BYTES {
            return Ok(longer);
        }
        let last = longer.operations.pop();
        self.commit_raw(longer).await?;
        Ok(Batch { operations: last.into_iter().collect(), ..fresh() })
    }

    async fn commit_raw(&self, batch: Batch) -> Result<()> {
        match self.commit_store(&[batch], 0).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies the file, as it is at one moment, to a new file, while writes go on.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a database that is not on a file; `Denied` if `to` exists or cannot be written.
    #[cfg(feature = "embedded")]
    pub async fn backup(&self, to: impl AsRef<std::path::Path>) -> Result<()> {
        let Some(embedded) = &self.0.embedded else {
            return Err(Error::unsupported("only a database on a file can be backed up; use `export`"));
        };
        Ok(embedded.backup_to(to.as_ref()).await?)
    }

    /// Makes a new file of a backup, after checking that it can be read as a whole. Open it afterwards.
    ///
    /// # Errors
    ///
    /// `Corrupt` if `backup` is not a store or is damaged; `Denied` if `to` exists or cannot be written.
    #[cfg(feature = "embedded")]
    pub async fn restore(backup: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) -> Result<()> {
        let store = tablemodel_store::EmbeddedStore::builder().read_only(true).open(backup.as_ref())?;
        store.backup_to(to.as_ref()).await?;
        Ok(store.close().await?)
    }
}

fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Denied, "the export cannot be written").caused_by(error)
}
