//! What bugs of timestamps need: when each row was inserted.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tablemodel_store::{Batch, DateTime, Receipts, Row, RowKey};

/// When the rows of each table were inserted.
#[derive(Default)]
pub(super) struct Inserted(Mutex<BTreeMap<(String, RowKey), DateTime>>);

impl Inserted {
    /// Learns from the receipts of a commit, which tell of inserts from then on, if they are to.
    pub(super) fn learn(&self, batches: &[Batch], receipts: &mut [Receipts], is_told: bool) {
        let mut inserted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (batch, receipts) in batches.iter().zip(receipts) {
            for (operation, written) in batch.operations.iter().zip(receipts) {
                let key = (batch.table.clone(), RowKey::new(&batch.partition, &operation.row));
                if written.etag.is_none() {
                    inserted.remove(&key);
                    continue;
                }
                let first = *inserted.entry(key).or_insert(written.timestamp);
                if is_told {
                    written.timestamp = first;
                }
            }
        }
    }

    /// Gives a row the timestamp of its insert.
    pub(super) fn age(&self, table: &str, row: &mut Row) {
        let inserted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = inserted.get(&(table.to_owned(), row.key.clone())) {
            row.timestamp = *first;
        }
    }
}
