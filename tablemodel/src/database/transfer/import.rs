//! Import: the rows of an export, in batches of which many are under way.
//!
//! What stands in one partition, and whole tables, come in the order of their lines: the states of indexes after all else.

use std::{
    collections::{BTreeSet, HashSet},
    io::BufRead,
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tablemodel_store::{Action, Batch, Condition, Operation, Row, RowKey, StoreError, StoreErrorKind, limits, size};

use super::Transferred;
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, Haste, is_transient},
        flights::BYTES_IN_FLIGHT,
        outbox::DIRTY_TABLE,
        registry::{PARTITION, SCHEMA_TABLE, record, recording::IMPORT},
    },
    error::{Error, ErrorKind, Result},
    row_json,
};

impl Database {
    /// Inserts the rows of an export. Tables are created where they are missing; a row that exists is an error.
    ///
    /// Rows come as they were stored, derived rows included, so that the store is as it was (but for ETags and
    /// timestamps). Call it on a fresh database, and [`Database::ensure_tables`] after it. If that is called after an import that was cut short,
    /// or of lines that were, no index is read (`IndexNotReady`) before it is built (`apply`); what is not there has to be imported all the same.
    /// Cost: four requests, one for each table, and one per 100 rows of a partition, 32 partitions at a time, or 1,024 in a store of this process, and about 64 MiB of
    /// them; each batch is all or nothing, the whole is not. In the atomic mode what an outbox among the rows holds is delivered at the end.
    ///
    /// # Errors
    ///
    /// `Corrupt` for a line that is not a row, `Invalid` or `TooLarge` for a row that no store takes, `AlreadyExists` for one that is there; each
    /// names the line. `Corrupt` with the key for a row of the schema table that says nothing, once all are there. Nothing is sent after an
    /// error, and what is under way is still finished; where several batches are refused, the first is told.
    pub async fn import(&self, from: impl BufRead) -> Result<Transferred> {
        self.check_writable()?;
        self.note_import(true).await?;
        let mut importing = Importing::of(self);
        let taken = importing.take_all(from).await;
        importing.land_all().await;
        let Importing { rows, tables, failed, .. } = importing;
        if let Some((_, error)) = failed {
            return Err(error); // it was sent before the line that could not be taken
        }
        taken?;
        if tables.iter().any(|name| name.eq_ignore_ascii_case(SCHEMA_TABLE)) {
            self.note_import(false).await?;
        }
        self.load_registry().await?;
        if self.is_atomic() && tables.iter().any(|name| name.eq_ignore_ascii_case(DIRTY_TABLE)) {
            self.deliver_imported().await?;
        }
        Ok(Transferred { rows, tables: tables.len() as u64 })
    }

    /// Notes that rows come whose indexes may never be complete, or that the states came which tell of that: the last lines.
    async fn note_import(&self, begins: bool) -> Result<()> {
        let table = self.registry_table();
        if begins {
            self.create_missing(&table).await?;
        }
        let action = match begins {
            true => Action::InsertOrReplace(record("~import@1", self.environment().clock.now().ticks())),
            false => Action::Delete(Condition::Exists),
        };
        let batches = [Batch::new(table, PARTITION).with(IMPORT, action)];
        let mut attempt = 0;
        loop {
            match self.commit_unleased(&batches, attempt).await {
                Err(error) if is_transient(&error) && attempt + 1 < ATTEMPTS => self.pause(attempt).await,
                // Another import that ended took it, or the reply was lost.
                Err(error) if error.kind() == StoreErrorKind::RowNotFound => return Ok(()),
                noted => return Ok(noted.map(drop)?),
            }
            attempt += 1;
        }
    }

    /// Delivers what a store that commits one partition at a time had under way. What it names may be in tables that had no
    /// rows.
    async fn deliver_imported(&self) -> Result<()> {
        for table in self.table_names() {
            self.create_missing(&table).await?;
        }
        Box::pin(self.relay().drain()).await.map(drop)
    }

    /// Commits the lines; retried while the store is busy, and recognised where a reply was lost.
    async fn import_lines(&self, batch: Batch, numbers: &[u64]) -> Result<()> {
        let batches = [batch];
        let [batch] = &batches;
        let mut ambiguous = false;
        let mut attempt = 0;
        loop {
            let Err(error) = self.commit_leased(&batches, attempt, Haste::OfMany).await else { return Ok(()) };
            if error.kind() == StoreErrorKind::RowExists && ambiguous && self.holds(batch).await? {
                return Ok(());
            }
            if !is_transient(&error) || attempt + 1 == ATTEMPTS {
                let at = error.failed_at().map_or(0, |at| at.operation);
                let key = batch.operations.get(at).map(|row| RowKey::new(batch.partition.clone(), row.row.clone()));
                let error = refused(error, &batch.table).caused_at(numbers.get(at).copied().unwrap_or_default());
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
}

/// An import on its way.
struct Importing<'a> {
    db: &'a Database,
    rows: u64,
    tables: BTreeSet<String>,
    /// Lines that wait for more of their partition.
    open: Option<Lines>,
    flights: FuturesUnordered<BoxFuture<'a, Landed>>,
    /// The table that is written, and the partitions of it in which a batch is under way.
    table: String,
    busy: HashSet<String>,
    /// Bytes in flight, as Azure measures them.
    bytes: usize,
    /// What was refused, and the line that its batch began with: the first.
    failed: Option<(u64, Error)>,
}

/// What became of a batch.
struct Landed {
    first: u64,
    partition: String,
    bytes: usize,
    result: Result<()>,
}

impl<'a> Importing<'a> {
    fn of(db: &'a Database) -> Self {
        Self {
            db,
            rows: 0,
            tables: BTreeSet::new(),
            open: None,
            flights: FuturesUnordered::new(),
            table: String::new(),
            busy: HashSet::new(),
            bytes: 0,
            failed: None,
        }
    }

    /// Takes lines until the end, or until one is refused.
    async fn take_all(&mut self, from: impl BufRead) -> Result<()> {
        for (number, line) in (1..).zip(from.lines()) {
            if self.failed.is_some() {
                return Ok(());
            }
            let line = line.map_err(|error| unreadable(number, error))?;
            if line.trim().is_empty() {
                continue;
            }
            let (name, row) = row_json::from_line(&line).map_err(|detail| corrupt(number, &detail))?;
            let table = format!("{}{name}", self.db.0.prefix);
            if self.tables.insert(name) {
                self.db.create_missing(&table).await.map_err(|error| error.caused_at(number))?;
            }
            self.take(&table, number, row).await;
            self.rows += 1;
        }
        if let Some(lines) = self.open.take() {
            self.send(lines).await;
        }
        Ok(())
    }

    /// Adds the row to the open batch; sends that first where the row does not fit.
    async fn take(&mut self, table: &str, number: u64, row: Row) {
        let RowKey { partition, row: key } = row.key;
        let operation = Operation { row: key, action: Action::Insert(row.properties) };
        let bytes = size::operation_bytes(table, &partition, &operation);
        if let Some(full) = self.open.take_if(|lines| !lines.takes(table, &partition, &operation.row, bytes)) {
            self.send(full).await;
        }
        let new =
            || Lines { batch: Batch::new(table, partition), numbers: Vec::new(), bytes: size::BATCH_OVERHEAD_BYTES };
        let lines = self.open.get_or_insert_with(new);
        lines.batch.operations.push(operation);
        lines.numbers.push(number);
        lines.bytes += bytes;
    }

    /// Sends the lines once there is room, and what is to be there before them is.
    async fn send(&mut self, lines: Lines) {
        let Lines { batch, numbers, bytes } = lines;
        if self.table != batch.table {
            self.land_all().await;
            self.table.clone_from(&batch.table);
        }
        while self.is_full() || self.busy.contains(&batch.partition) {
            self.land().await;
        }
        if self.failed.is_some() {
            return;
        }
        let (db, partition) = (self.db, batch.partition.clone());
        self.busy.insert(partition.clone());
        self.bytes += bytes;
        self.flights.push(Box::pin(async move {
            let first = numbers.first().copied().unwrap_or_default();
            let result = db.import_lines(batch, &numbers).await;
            Landed { first, partition, bytes, result }
        }));
    }

    fn is_full(&self) -> bool {
        self.flights.len() >= self.db.concurrent_batches() || self.bytes >= BYTES_IN_FLIGHT
    }

    async fn land_all(&mut self) {
        while !self.flights.is_empty() {
            self.land().await;
        }
    }

    async fn land(&mut self) {
        let Some(Landed { first, partition, bytes, result }) = self.flights.next().await else { return };
        self.busy.remove(&partition);
        self.bytes -= bytes;
        if let Err(error) = result
            && self.failed.as_ref().is_none_or(|(line, _)| first < *line)
        {
            self.failed = Some((first, error));
        }
    }
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
