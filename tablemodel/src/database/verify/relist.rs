//! Lists that are written anew: in one commit over their first row as it was read, which every change of a list writes.
//!
//! What rows a list is made of is `rooms::list`'s.

use std::collections::HashSet;

use tablemodel_store::{Action, Batch, Condition, ETag, Operation, RowKey};

use super::Violation;
use crate::{
    database::Database,
    error::{Error, ErrorKind, Result},
    plan::batch::split,
    rooms::list::List,
    schema::IndexSchema,
};

/// A list that is not as its entities want it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Relist {
    /// Its entities, and the list among their indexes.
    pub(super) entity: &'static str,
    pub(super) index: usize,
    /// Its rows, as they were read.
    pub(super) rows: Vec<(RowKey, ETag)>,
    /// The row keys that it should hold, ascending.
    pub(super) members: Vec<String>,
}

impl Database {
    /// Writes the list as it should be. One commit; of a list of more rows than a batch takes, on a store that commits one
    /// batch at a time, its rows are taken away and its entities written once more, one by one.
    pub(super) async fn relist(&self, violation: &Violation, relist: &Relist) -> Result<()> {
        let of = self.entity_of(relist.entity);
        let of = of.and_then(|schema| schema.index_at(relist.index)).filter(|_| !relist.members.is_empty());
        let Some(index) = of else { return self.unlist(violation, relist).await };
        let mut batches = Vec::new();
        split(self.rebuilt(violation, relist, index).await?, &mut batches);
        if batches.len() > 1 && !self.is_atomic() {
            self.unlist(violation, relist).await?;
            for member in &relist.members {
                let key = RowKey::new(violation.key.partition.clone(), member.clone());
                self.touch(self.known(relist.entity)?, &key, Vec::new()).await?;
            }
            return Ok(());
        }
        self.commit_store(&batches, 0).await?;
        Ok(())
    }

    async fn unlist(&self, violation: &Violation, relist: &Relist) -> Result<()> {
        for (key, etag) in &relist.rows {
            self.take_away(&violation.table, key, etag).await?;
        }
        Ok(())
    }

    /// The rows of the list as it should be, over those that were read.
    async fn rebuilt(&self, violation: &Violation, relist: &Relist, index: &'static IndexSchema) -> Result<Batch> {
        let (table, key) = (self.table_name(&violation.table), &violation.key);
        let head = self.get_row(&table, key).await?;
        let read = relist.rows.iter().find(|(row, _)| row == key).map(|(_, etag)| etag);
        if head.as_ref().map(|head| &head.etag) != read {
            let detail = "the list was changed meanwhile; verify it again";
            return Err(Error::new(ErrorKind::Unavailable, detail).of(relist.entity).at_key(key.clone()));
        }
        let now = self.environment().clock.now().ticks();
        let list = List { index, partition: &key.partition, row: &key.row, now };
        let mut batch = Batch::new(table, key.partition.clone());
        for (row, action) in list.rebuilt(relist.members.clone(), head.as_ref())? {
            let at = RowKey::new(key.partition.clone(), row.clone());
            batch = batch.with(row, self.put_outgrown(self.known(relist.entity)?, index, &at, action).await?);
        }
        let stays: HashSet<_> = batch.operations.iter().map(|operation| operation.row.as_str()).collect();
        let goes = relist.rows.iter().filter(|(row, _)| row != key && !stays.contains(row.row.as_str()));
        let removal = |(row, etag): &(RowKey, ETag)| Operation {
            row: row.row.clone(),
            action: Action::Delete(Condition::Match(etag.clone())),
        };
        let removals: Vec<_> = goes.map(removal).collect();
        batch.operations.extend(removals);
        Ok(batch)
    }
}
