//! Indexes that lapse: which a program wrote without, whose model does not have them. Until a migration has built them anew, what they
//! hold is not complete. So do totals of entities that it writes, without a property for them. Of the form that an entity moves to they are taken out of what is built, and are complete with the switch.
//!
//! Whether one did is a property of the row of the index's state. A program says so after it has its lease: whoever clears it waits
//! for those who lack the index and have one, and then builds; one that comes later says so anew.

use std::collections::{BTreeSet, HashMap};

use tablemodel_store::{Action, Batch, Condition, Operation, Properties, Row, ValueRef};

use super::{
    MOST_CHANGES, PARTITION, changed, entity_row, index_row, lacked, move_of, moved, next_epoch, state, unheld,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::is_race,
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
    schema::is_move,
};

/// One where a program without the index has begun to write beside it since it was built.
const LAPSED: &str = "Lapsed";

/// Whether a program that lacks the index has written since it was built.
pub(in crate::database) fn is_lapsed(row: &Row) -> bool {
    matches!(row.properties.get(LAPSED), Some(ValueRef::Int64(lapses)) if lapses > 0)
}

/// How far the index is, for those who have it: one that lapsed is written, and not read.
pub(in crate::database) fn complete(row: &Row) -> Result<IndexState> {
    let state = state(row)?;
    Ok(if is_lapsed(row) { state.min(IndexState::WriteOnly) } else { state })
}

/// Says of the row of a state that the index is not complete, if it is one of an index in a table that is not among these: its rows
/// do not go along.
pub(in crate::database) fn without_rows(row: &mut Row, has: impl Fn(&str) -> bool) {
    let is_lost = |table| matches!(table, Some(ValueRef::String(table)) if !has(table));
    if row.key.row.starts_with(super::INDEX) && is_lost(row.properties.get("Table")) && !is_lapsed(row) {
        row.properties.insert(LAPSED, 1_i64);
    }
}

/// Says of the row of a state that it is as far as it was, if it was not complete `before`: what was read in between may be of then.
pub(in crate::database) fn as_begun(row: &mut Row, before: Option<&Row>) -> Result<()> {
    if !row.key.row.starts_with(super::INDEX) || complete(row)? != IndexState::Readable {
        return Ok(());
    }
    let before = before.map_or(Ok(IndexState::Absent), complete)?;
    if before != IndexState::Readable {
        row.properties.insert("State", before.word());
    }
    Ok(())
}

/// The row's properties, as of an index that begins to be built anew, from this state at most.
pub(in crate::database) fn restored(row: &Row, most: IndexState) -> Result<Properties> {
    let mut properties = row.properties.clone();
    properties.insert("State", complete(row)?.min(most).word());
    properties.remove(LAPSED);
    Ok(properties)
}

impl Database {
    /// Before the first write, and whenever that is due anew: says of the indexes that rows of this program are not in, and the totals that they do not hold, that they are
    /// not complete, and of those that its version has otherwise than one before, since when. Cost: nothing where there are none, or else one request, and a write if somebody still reads one.
    pub(in crate::database) async fn give_notice(&self) -> Result<()> {
        let notice = &self.0.registry.notice;
        let Some(due) = notice.due() else { return Ok(()) };
        Box::pin(self.lapse_others()).await?;
        notice.given(due);
        Ok(())
    }

    /// The epoch is raised with it: programs that read such an index look at the states anew.
    async fn lapse_others(&self) -> Result<()> {
        if !self.0.registry.is_any_to_be_told() {
            return Ok(());
        }
        for attempt in 0..ATTEMPTS {
            let rows = self.registry_rows().await?;
            let mut operations = self.lapses(&rows)?;
            if operations.is_empty() {
                return Ok(());
            }
            let is_last = operations.len() <= MOST_CHANGES;
            operations.truncate(MOST_CHANGES);
            operations.push(next_epoch(&rows, self.environment().clock.now().ticks()));
            let batch = Batch { operations, ..Batch::new(self.registry_table(), PARTITION) };
            match self.commit_unleased(&[batch], attempt).await {
                Ok(_) if is_last => return self.load_registry().await,
                Ok(_) => {}
                Err(error) if is_race(error.kind()) || is_transient(&error) => self.pause(attempt).await,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the states of indexes keep changing; try again"))
    }

    fn lapses(&self, rows: &HashMap<String, Row>) -> Result<Vec<Operation>> {
        let mut operations = Vec::new();
        let mut replace = |row: &Row, properties| {
            let action = Action::Replace(properties, Condition::Match(row.etag.clone()));
            operations.push(Operation { row: row.key.row.clone(), action });
        };
        for there in self.to_lapse(rows)? {
            let mut properties = there.properties.clone();
            properties.insert(LAPSED, 1_i64);
            replace(there, properties);
        }
        for schema in self.model().iter().copied().filter(|schema| rows.contains_key(&entity_row(schema))) {
            for name in changed::unsaid(schema, rows) {
                let Some(there) = rows.get(&index_row(schema.entity_type, &name)) else { continue };
                let mut properties = there.properties.clone();
                changed::raise(schema, &name, &mut properties);
                // Whom it copies older programs have changed, maybe, and not said so.
                let is_copy = schema.derived_position(&name).is_some_and(|at| schema.copy(at).is_some());
                if is_copy && !is_lapsed(there) && changed::is_beside_older(schema, &self.instance(), rows) {
                    properties.insert(LAPSED, 1_i64);
                }
                replace(there, properties);
            }
            if let Some((moved, there)) = move_of(schema, rows)
                && let Some(properties) = moved::narrowed(moved, there)?
            {
                replace(there, properties);
            }
        }
        Ok(operations)
    }

    /// The states of indexes that rows of this program are not in, and of totals that they do not hold, unless it was said of them already.
    fn to_lapse<'r>(&self, rows: &'r HashMap<String, Row>) -> Result<Vec<&'r Row>> {
        let (model, mut keys) = (self.model(), BTreeSet::new());
        for schema in model.iter().copied().filter(|schema| rows.contains_key(&entity_row(schema))) {
            let lacked = lacked(&model, schema, rows)?.into_iter().filter(|name| !is_move(name));
            keys.extend(lacked.map(|name| index_row(schema.entity_type, &name)));
            keys.extend(unheld(&model, schema, rows)?);
        }
        Ok(keys.iter().filter_map(|key| rows.get(key)).filter(|row| !is_lapsed(row)).collect())
    }
}
