//! Rows of types that the model does not know, written one by one: what `#[table(other)]` gives goes back where it came from, or goes away.
//!
//! Whose a row is, is told in `plan::foreign`. Such rows carry no operation ids: a write whose reply was lost is not known again.

use tablemodel_store::{
    Action, Batch, Condition, Properties, Row, RowKey, StoreError, StoreErrorKind, Written, validate,
};

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::DIRTY_TABLE,
        registry::SCHEMA_TABLE,
        write::no_row,
    },
    error::{Error, ErrorKind, Result},
    plan::foreign::{self, Call, Plain},
};

impl Database {
    /// Inserts a row of a type that the model does not know into one of its tables. Nothing may stand at the key.
    ///
    /// `table` is as the model has it, without the run-time prefix. The row's `EntityType` is what others know it by: none, or a text of
    /// yours. One of an entity is refused, of whichever version, as is a key that rows of an index have: these are written over whatever
    /// stands there. A key that an entity could have is free, and its `insert` is `AlreadyExists` then; but not where others copy the entity,
    /// or it has unique values in other partitions: there rows only change ([`Database::replace_row`]).
    /// Cost: one request of one row.
    ///
    /// ```
    /// # use tablemodel::{Properties, RowKey, prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let badge = Properties::from_iter([("EntityType", "Badge"), ("Colour", "red")]);
    /// let badge = db.insert_row("Company", RowKey::new("Sales", "badge_7"), badge).await?;
    /// assert_eq!(badge.key.to_string(), "(Sales, badge_7)");
    ///
    /// let typed = Properties::from_iter([("EntityType", "Employee@1")]);
    /// let error = db.insert_row("Company", RowKey::new("Sales", "empid_000009"), typed).await.unwrap_err();
    /// assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Employee")));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `AlreadyExists` where a row has the key; `Unsupported` for a row, a key or a table that is the framework's, or for a table that the
    /// model does not have: the words say what to call instead; `KeyTooLong`, `TooLarge`, `Invalid` for what cannot be stored; `Denied` where
    /// the database is read-only; `Unavailable`, `LeaseExpired`: nothing was written. `OutcomeUnknown` if a reply was lost, and the same
    /// write, sent again, met a row: read it before you write again. (What another deleted before that is inserted once more.)
    pub async fn insert_row(&self, table: &str, key: RowKey, properties: Properties) -> Result<Row> {
        let table = self.table_for_rows(table)?;
        let row = Plain { table, key: &key, properties: &properties };
        self.check_foreign(row, Call::Insert)?;
        check_storable(row)?;
        let written = self.write_row(table, &key, Action::Insert(properties.clone())).await?;
        Ok(Row { etag: written.etag.ok_or_else(no_row)?, timestamp: written.timestamp, key, properties })
    }

    /// Writes a row of a type that the model does not know back with all its properties, if it is still as it was read; afterwards `row`
    /// is current again.
    ///
    /// What stands there is looked at too: a row that is an entity's is refused, whatever `row` says.
    /// Cost: a point read, and one request of one row.
    ///
    /// ```
    /// # use tablemodel::{Properties, RowKey, prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// # let badge = Properties::from_iter([("EntityType", "Badge"), ("Colour", "red")]);
    /// # db.insert_row("Company", RowKey::new("Sales", "badge_7"), badge).await?;
    /// for row in Company::rows(Employee::in_partition("Sales")).all(&db).await? {
    ///     if let Company::Other(mut badge) = row {
    ///         badge.properties.insert("Colour", "blue");
    ///         db.replace_row("Company", &mut badge).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Conflict` if another wrote it meanwhile, `NotFound` if it is gone; the others of [`Database::insert_row`], but for `AlreadyExists`.
    /// `OutcomeUnknown` if a reply was lost, and the same write, sent again, met another state of the row, or none: it may be this write's or
    /// another's. `row` is then as the caller left it.
    pub async fn replace_row(&self, table: &str, row: &mut Row) -> Result<()> {
        let table = self.table_for_rows(table)?;
        let given = Plain { table, key: &row.key, properties: &row.properties };
        self.check_foreign(given, Call::Replace)?;
        check_storable(given)?;
        self.check_there(table, row, Call::Replace).await?;
        let action = Action::Replace(row.properties.clone(), Condition::Match(row.etag.clone()));
        let written = self.write_row(table, &row.key, action).await?;
        (row.etag, row.timestamp) = (written.etag.ok_or_else(no_row)?, written.timestamp);
        Ok(())
    }

    /// Deletes a row of a type that the model does not know, if it is still as it was read.
    ///
    /// What stands there is looked at: a row that is an entity's is refused, whatever `row` says. So is one at a key that an entity could have
    /// which others copy, or which has unique values in other partitions: what these programs write may rest on that row.
    /// Cost: a point read, and one request of one row.
    ///
    /// ```
    /// # use tablemodel::{Properties, RowKey, prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let badge = db.insert_row("Company", RowKey::new("Sales", "badge_7"), Properties::new()).await?;
    /// db.delete_row("Company", &badge).await?;
    /// assert_eq!(*db.delete_row("Company", &badge).await.unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Database::replace_row`].
    pub async fn delete_row(&self, table: &str, row: &Row) -> Result<()> {
        let table = self.table_for_rows(table)?;
        self.check_there(table, row, Call::Delete).await?;
        self.write_row(table, &row.key, Action::Delete(Condition::Match(row.etag.clone()))).await.map(drop)
    }

    /// The table of the model that is called so, of a database that may be written.
    fn table_for_rows(&self, name: &str) -> Result<&'static str> {
        self.check_writable()?;
        let tables = self.entity_tables();
        if let Some(own) = tables.iter().copied().find(|own| own.eq_ignore_ascii_case(name)) {
            return Ok(own);
        }
        if [SCHEMA_TABLE, DIRTY_TABLE].iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(Error::unsupported(format!("table `{name}` is the framework's own: it alone writes its rows")));
        }
        let known = tables.into_iter().collect::<Vec<_>>().join("`, `");
        let detail = format!("the model has no table `{name}` (it has `{known}`): open a database whose model has it");
        Err(Error::unsupported(detail))
    }

    /// That the row is none that the framework writes.
    fn check_foreign(&self, row: Plain<'_>, call: Call) -> Result<()> {
        let checked = foreign::check(&self.model(), row, call, |entity| self.0.registry.has(entity));
        checked.map_err(|error| error.at_key(row.key.clone()))
    }

    /// That the row which stands there is the one that was read, and none that the framework writes.
    async fn check_there(&self, table: &'static str, row: &Row, call: Call) -> Result<()> {
        let there = self.get_row(&self.table_name(table), &row.key).await;
        match there.map_err(|error| error.at_key(row.key.clone()))? {
            Some(there) if there.etag == row.etag => {
                self.check_foreign(Plain { table, key: &there.key, properties: &there.properties }, call)
            }
            there => Err(outdated(there).at_key(row.key.clone())),
        }
    }

    /// Commits one write; sent again while the store is busy, or where a reply was lost.
    async fn write_row(&self, table: &str, key: &RowKey, action: Action) -> Result<Written> {
        self.hold_lease().await?;
        self.note_traffic();
        let batches = [Batch::new(self.table_name(table), key.partition.clone()).with(key.row.clone(), action)];
        let (mut attempt, mut is_ambiguous) = (0, false);
        loop {
            let error = match self.commit_store(&batches, attempt).await {
                Ok(receipts) => return receipts.into_iter().flatten().next().ok_or_else(no_row),
                Err(error) => error,
            };
            is_ambiguous |= error.kind() == StoreErrorKind::OutcomeUnknown;
            attempt += 1;
            if !is_transient(&error) || attempt == ATTEMPTS {
                let error = if is_ambiguous { unknown(error) } else { self.refused(table, key, error).await };
                return Err(error.at_key(key.clone()));
            }
            self.pause(attempt - 1).await;
        }
    }

    /// What the store's refusal means. A row that is otherwise than it was read is told as it is now, where it can be read.
    async fn refused(&self, table: &str, key: &RowKey, error: StoreError) -> Error {
        let refused = match error.kind() {
            StoreErrorKind::RowExists => {
                Error::new(ErrorKind::AlreadyExists, "a row has this key, and is not written over")
            }
            StoreErrorKind::RowNotFound => outdated(None),
            StoreErrorKind::ConditionNotMet => match self.get_row(&self.table_name(table), key).await {
                Ok(there) => outdated(there),
                Err(_) => return error.into(),
            },
            _ => return error.into(),
        };
        refused.caused_by(error)
    }
}

/// That the row can be stored.
fn check_storable(Plain { key, properties, .. }: Plain<'_>) -> Result<()> {
    let keys = validate::partition_key(&key.partition).and_then(|()| validate::row_key(&key.row));
    let keys = keys.map_err(|error| match error.kind() {
        StoreErrorKind::TooLarge => Error::new(ErrorKind::KeyTooLong, error.detail()).caused_by(error),
        _ => error.into(),
    });
    let whole = keys.and_then(|()| Ok(validate::row(&key.partition, &key.row, properties)?));
    whole.map_err(|error| error.at_key(key.clone()))
}

/// That the row is not as it was read.
fn outdated(there: Option<Row>) -> Error {
    match there {
        None => Error::new(ErrorKind::NotFound, "the row is gone"),
        Some(row) => {
            let detail = "the row changed since it was read; read it again and decide anew";
            Error::new(ErrorKind::Conflict { current: Some(Box::new(row)) }, detail)
        }
    }
}

/// That nobody knows what became of a write.
fn unknown(error: StoreError) -> Error {
    let detail = "a reply was lost, and no operation id in the row tells whether the write was carried out: read the row before you write again";
    Error::new(ErrorKind::OutcomeUnknown, detail).caused_by(error)
}
