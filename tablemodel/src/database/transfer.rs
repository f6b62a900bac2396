//! Data in and out: JSON-lines export and import of every row, backup and restore of a file.
//!
//! Rows travel as they are stored, system properties included; nothing is planned or upgraded on the way.

mod export;

use std::{collections::BTreeSet, io::BufRead};

use tablemodel_store::{Action, Batch, Operation, Row, RowKey, StoreError, StoreErrorKind, limits, size};

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::DIRTY_TABLE,
    },
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
    /// Inserts the rows of an export. Tables are created where they are missing; a row that exists is an error.
    ///
    /// Rows come as they were stored, derived rows included, so that the store is as it was (but for ETags and
    /// timestamps). Call it on a fresh database, and [`Database::ensure_tables`] after it.
    /// Cost: one request per 100 rows of a partition; each batch is all or nothing, the whole is not. In the atomic mode
    /// what an outbox among the rows holds is delivered at the end.
    ///
    /// # Errors
    ///
    /// `Corrupt` for a line that is not a row, `AlreadyExists` for a row that is there; each names the line.
    pub async fn import(&self, from: impl BufRead) -> Result<Transferred> {
        self.check_writable()?;
        let mut rows = 0;
        let mut tables = BTreeSet::new();
        let mut open: Option<Lines> = None;
        for (number, line) in (1..).zip(from.lines()) {
            let line = line.map_err(|error| unreadable(number, error))?;
            if line.trim().is_empty() {
                continue;
            }
            let (name, row) = row_json::from_line(&line).map_err(|detail| corrupt(number, &detail))?;
            let table = format!("{}{name}", self.0.prefix);
            if tables.insert(name) {
                self.create_missing(&table).await.map_err(|error| error.caused_at(number))?;
            }
            open = Some(self.import_row(open, &table, number, row).await?);
            rows += 1;
        }
        if let Some(lines) = open {
            self.import_lines(lines).await?;
        }
        self.load_registry().await?;
        if self.is_atomic() && tables.iter().any(|name| name.eq_ignore_ascii_case(DIRTY_TABLE)) {
            self.deliver_imported().await?;
        }
        Ok(Transferred { rows, tables: tables.len() as u64 })
    }

    /// Delivers what a store that commits one partition at a time had under way. What it names may be in tables that had no
    /// rows.
    async fn deliver_imported(&self) -> Result<()> {
        for table in self.table_names() {
            self.create_missing(&table).await?;
        }
        Box::pin(self.relay().drain()).await.map(drop)
    }

    /// Adds the row to the open batch; commits that first where the row does not fit.
    async fn import_row(&self, open: Option<Lines>, table: &str, number: u64, row: Row) -> Result<Lines> {
        let operation = Operation { row: row.key.row, action: Action::Insert(row.properties) };
        let bytes = size::operation_bytes(table, &row.key.partition, &operation);
        let mut lines = match open {
            Some(lines) if lines.takes(table, &row.key.partition, &operation.row, bytes) => lines,
            other => {
                if let Some(full) = other {
                    self.import_lines(full).await?;
                }
                let batch = Batch::new(table, row.key.partition);
                Lines { batch, numbers: Vec::new(), bytes: size::BATCH_OVERHEAD_BYTES }
            }
        };
        lines.batch.operations.push(operation);
        lines.numbers.push(number);
        lines.bytes += bytes;
        Ok(lines)
    }

    /// Commits the lines; retried while the store is busy, and recognised where a reply was lost.
    async fn import_lines(&self, lines: Lines) -> Result<()> {
        let batches = [lines.batch];
        let [batch] = &batches;
        let mut ambiguous = false;
        let mut attempt = 0;
        loop {
            let Err(error) = self.commit_store(&batches, attempt).await else { return Ok(()) };
            if error.kind() == StoreErrorKind::RowExists && ambiguous && self.holds(batch).await? {
                return Ok(());
            }
            if !is_transient(&error) || attempt + 1 == ATTEMPTS {
                let at = error.failed_at().map_or(0, |at| at.operation);
                let key = batch.operations.get(at).map(|row| RowKey::new(batch.partition.clone(), row.row.clone()));
                let error = refused(error, &batch.table).caused_at(lines.numbers.get(at).copied().unwrap_or_default());
                return Err(key.into_iter().fold(error, Error::at_key));
            }
            ambiguous |= error.kind() == StoreErrorKind::OutcomeUnknown;
            self.pause(attempt).await;
            attempt += 1;
        }
    }

    /// Whether every row of the batch is there as the batch has it.
    async fn holds(&self, batch: &Batch) -> Result<bool> {
        for operation in &batch.operations {
            let key = RowKey::new(batch.partition.clone(), operation.row.clone());
            let row = self.get_row(&batch.table, &key).await?;
            if row.as_ref().map(|row| &row.properties) != operation.action.properties() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies the file, as it is at one moment, to a new file, while writes go on; and before that file appears, the blobs
    /// beside it. Cost: the whole file is read, and written once more.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a database that is not on a file; `Denied` if `to` exists or cannot be written; `Unavailable` if
    /// copying took longer than [`blob_grace`](crate::DatabaseBuilder::blob_grace), so that blobs may have been collected
    /// meanwhile.
    #[cfg(feature = "embedded")]
    pub async fn backup(&self, to: impl AsRef<std::path::Path>) -> Result<()> {
        let Some(embedded) = &self.0.embedded else {
            return Err(Error::unsupported("only a database on a file can be backed up; use `export`"));
        };
        #[cfg(feature = "blob")]
        let blobs = self.blobs_to(to.as_ref())?;
        let rows = embedded.prepare_backup(to.as_ref()).await?;
        #[cfg(feature = "blob")]
        let blobs = blobs.copied().await?;
        #[cfg(feature = "blob")]
        rows.place_then(|| blobs.keep()).await?;
        #[cfg(not(feature = "blob"))]
        rows.place().await?;
        Ok(())
    }

    /// Makes a new file of a backup, after checking that it can be read as a whole. Open it afterwards. Cost: the file is read twice and
    /// written once.
    ///
    /// # Errors
    ///
    /// `Corrupt` if `backup` is not a store or is damaged; `Denied` if `to` exists or cannot be written, or if `backup` is
    /// in use, or not a whole file (such as one cut short).
    #[cfg(feature = "embedded")]
    pub async fn restore(backup: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) -> Result<()> {
        let opened = tablemodel_store::EmbeddedStore::builder().read_only(true).open_async(backup.as_ref()).await;
        let store = opened.map_err(|error| unrestored(backup.as_ref(), error))?;
        #[cfg(feature = "blob")]
        let blobs = Self::blobs_of(backup.as_ref(), to.as_ref())?;
        let rows = store.prepare_backup(to.as_ref()).await.map_err(|error| unrestored(backup.as_ref(), error))?;
        #[cfg(feature = "blob")]
        let blobs = blobs.copied().await?;
        #[cfg(feature = "blob")]
        rows.place_then(|| blobs.keep()).await?;
        #[cfg(not(feature = "blob"))]
        rows.place().await?;
        Ok(store.close().await?)
    }
}

/// What it means to who restores that the backup cannot be read; other errors as they are.
#[cfg(feature = "embedded")]
fn unrestored(backup: &std::path::Path, error: StoreError) -> Error {
    let (kind, what) = match error.kind() {
        _ if error.is_not_closed_cleanly() => (
            ErrorKind::Denied,
            "no whole backup: it was cut short, or copied while a program had it open; take another by `backup`",
        ),
        StoreErrorKind::Denied if !backup.exists() => {
            (ErrorKind::Denied, "there is no such file; give a backup's path")
        }
        StoreErrorKind::Corrupt => (ErrorKind::Corrupt, "the backup is damaged, or none; restore another"),
        _ => return error.into(),
    };
    Error::new(kind, format!("{}: {what}", backup.display())).caused_by(error)
}

/// Lines of an export that are committed together.
struct Lines {
    batch: Batch,
    /// The number of each line.
    numbers: Vec<u64>,
    /// The size of the batch as Azure measures it.
    bytes: usize,
}

impl Lines {
    /// Whether one more row fits; a row that is there already does not, so that the store refuses it by itself.
    fn takes(&self, table: &str, partition: &str, row: &str, bytes: usize) -> bool {
        self.batch.table == table
            && self.batch.partition == partition
            && self.batch.operations.len() < limits::MAX_BATCH_OPERATIONS
            && self.bytes + bytes <= limits::MAX_BATCH_BYTES
            && self.batch.operations.iter().all(|operation| operation.row != row)
    }
}

impl Error {
    /// The same error, met at a line of an export.
    fn caused_at(self, number: u64) -> Self {
        let detail = format!("line {number} of the export: {}", self.detail());
        Self::new(self.kind().clone(), detail).caused_by(self)
    }
}

fn corrupt(number: u64, detail: &str) -> Error {
    Error::corrupt(format!("line {number} of the export: {detail}"))
}

fn unreadable(number: u64, error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::InvalidData => corrupt(number, "not UTF-8"),
        _ => Error::new(ErrorKind::Denied, format!("line {number} of the export cannot be read")),
    }
    .caused_by(error)
}

/// What a refused row means to who imports.
fn refused(error: StoreError, table: &str) -> Error {
    if error.kind() != StoreErrorKind::RowExists {
        return error.into();
    }
    let detail = format!("table `{table}` has this row; import into a fresh database, before `ensure_tables()`");
    Error::new(ErrorKind::AlreadyExists, detail).caused_by(error)
}
