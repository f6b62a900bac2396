//! The parts of shadows: written in one commit with their head, or before it; and taken away with the head that named them, or after it.
//!
//! Under which keys they stand is told in `plan::shadow`.

use tablemodel_store::{
    Action, Batch, Condition, DateTime, KeyRange, Operation, Properties, Query, Row, RowKey, StoreError,
};

use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, Haste, is_transient},
        outbox::is_race,
        registry::Generation,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::split,
        outbox::{AwayRow, Target},
        part::{self, Marks, Torn},
        shadow,
        system::{self, RowKind},
    },
    schema::EntitySchema,
};

/// Whether the form that the entity moves to may be several rows.
pub(super) fn may_be_several(schema: &EntitySchema) -> bool {
    schema.moves_to.as_ref().is_some_and(|moved| moved.form().shape.is_some())
}

/// What is written beside a head in its commit, of `wants` that one of which it is: its parts, in place of all those that are there.
pub(super) fn beside(head: &Action, wants: &[&AwayRow], there: &[Row]) -> Vec<Operation> {
    let marks = head.properties().and_then(Marks::read);
    let is_it = |want: &&&AwayRow| want.want.as_ref().and_then(Marks::read) == marks;
    let new = marks.and_then(|_| wants.iter().find(is_it)).map_or(&[][..], |want| &want.parts);
    let write = |(row, properties): &(String, Properties)| {
        let action = match there.iter().find(|part| part.key.row == *row) {
            Some(before) => Action::Replace(properties.clone(), Condition::Match(before.etag.clone())),
            None => Action::Insert(properties.clone()),
        };
        Operation { row: row.clone(), action }
    };
    let leaves = there.iter().filter(|part| !new.iter().any(|(row, _)| *row == part.key.row));
    new.iter().map(write).chain(leaves.map(removal)).collect()
}

/// The write of a part before its head; none where it is there. One that is older is written anew: it may be taken for nobody's before
/// its head names it.
fn staging((row, part): &(String, Properties), there: &[Row], now: DateTime) -> Option<Operation> {
    let action = match there.iter().find(|before| before.key.row == *row) {
        None => Action::Insert(part.clone()),
        Some(before) if before.properties == *part && part::is_fresh(before, now) => return None,
        Some(before) => Action::Replace(part.clone(), Condition::Match(before.etag.clone())),
    };
    Some(Operation { row: row.clone(), action })
}

fn removal(row: &Row) -> Operation {
    Operation { row: row.key.row.clone(), action: Action::Delete(Condition::Match(row.etag.clone())) }
}

/// Puts the operations behind the batches, in as many as they take.
pub(super) fn put(operations: Vec<Operation>, table: &str, partition: &str, batches: &mut Vec<Batch>) {
    if !operations.is_empty() {
        split(Batch { operations, ..Batch::new(table, partition) }, batches);
    }
}

impl Database {
    /// The head that stands at this key, and every part behind it, whosever it is.
    pub(super) async fn all_rows_at(&self, table: &str, key: &RowKey) -> Result<(Option<Row>, Vec<Row>)> {
        let query = Query::new(table, KeyRange::rows(key.partition.clone(), part::rows_of(&key.row)));
        let (mut head, mut parts) = (None, Vec::new());
        for row in self.query_all(query).await? {
            match system::kind(&row.properties) {
                _ if row.key.row == key.row => head = Some(row),
                RowKind::Part { .. } => parts.push(row),
                _ => {}
            }
        }
        Ok((head, parts))
    }

    /// Puts the parts of a shadow, before the head that names them. That some are there is a race: whoever puts them puts the same.
    ///
    /// Cost: a write for each batch that they take; where some were there, a range read and the writes of the others.
    pub(in crate::database) async fn put_parts(
        &self,
        states: &Generation,
        target: &Target,
        attempt: u32,
    ) -> Result<std::result::Result<(), StoreError>> {
        if target.parts.is_empty() {
            return Ok(Ok(()));
        }
        let (table, key) = (self.table_name(&target.entry.table), &target.entry.key);
        let there = if attempt == 0 { Vec::new() } else { self.all_rows_at(&table, key).await?.1 };
        let now = self.environment().clock.now();
        let mut batches = Vec::new();
        let operations = target.parts.iter().filter_map(|part| staging(part, &there, now)).collect();
        put(operations, &table, &key.partition, &mut batches);
        for batch in batches {
            if let Err(error) = self.commit_planned(states, &[batch], attempt, Haste::Now).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Takes away the parts at a shadow's key that no head will come to name; `replaced` is the head that this delivery wrote over.
    ///
    /// Cost: where the form may be several rows, a range read, and a write where there are such.
    pub(in crate::database) async fn drop_parts(
        &self,
        schema: &'static EntitySchema,
        states: &Generation,
        target: &Target,
        replaced: Option<&Row>,
    ) -> Result<()> {
        let (table, key) = (self.table_name(&target.entry.table), &target.entry.key);
        let is_head =
            schema.derived_position(&target.entry.index).is_some_and(|number| shadow::is_primary(schema, number));
        if !is_head || !may_be_several(schema) {
            return Ok(());
        }
        for attempt in 0..ATTEMPTS {
            let (Some(head), parts) = self.all_rows_at(&table, key).await? else { return Ok(()) };
            let left = parts.iter().filter(|part| shadow::is_left_behind(part, &head, replaced)).map(removal);
            let mut batches = Vec::new();
            put(left.collect(), &table, &key.partition, &mut batches);
            let mut failed = None;
            for batch in batches {
                failed = failed.or(self.commit_planned(states, &[batch], attempt, Haste::Now).await.err());
            }
            match failed {
                None => return Ok(()),
                Some(error) if is_transient(&error) => self.pause(attempt).await,
                Some(error) if is_race(error.kind()) => {}
                Some(error) => return Err(Error::from(error).at_key(key.clone())),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the parts of a row of another partition keep changing")
            .at_key(key.clone()))
    }

    /// Takes a shadow away if its head is still as it was read, and the parts that this names.
    pub(in crate::database) async fn remove_shadow(&self, table: &str, head: &Row) -> Result<()> {
        if !part::has_parts(&head.properties) {
            return self.remove_row(table, head).await;
        }
        let mut batches = Vec::new();
        let (_, parts) = self.all_rows_at(table, &head.key).await?;
        let marks = Marks::read(&head.properties);
        let is_named = |part: &&Row| {
            let name = part::PartName::read(&part.key.row).map(|(_, name)| name);
            marks.zip(name).is_some_and(|(marks, name)| marks.hold(name))
        };
        let rows = std::iter::once(head).chain(parts.iter().filter(is_named));
        put(rows.map(removal).collect(), table, &head.key.partition, &mut batches);
        let result = self.commit_each(&batches).await; // one: so many rows are a batch
        match result {
            Err(error) if !is_race(error.kind()) => Err(Error::from(error).at_key(head.key.clone())),
            _ => Ok(()),
        }
    }

    async fn commit_each(&self, batches: &[Batch]) -> std::result::Result<(), StoreError> {
        for batch in batches {
            self.commit_store(std::slice::from_ref(batch), 0).await?;
        }
        Ok(())
    }

    /// The shadow at this key as one row that holds all of it; or what is wrong with its rows.
    pub(in crate::database) async fn whole_shadow(
        &self,
        form: &'static EntitySchema,
        table: &str,
        key: &RowKey,
    ) -> Result<Option<std::result::Result<Row, Torn>>> {
        if form.shape.is_none() {
            return Ok(self.get_row(table, key).await?.map(Ok));
        }
        Ok(self.read_rows(table, key).await?.map(|rows| shadow::stored(form, rows)))
    }
}
