//! A commit made ready on the caller's thread: keys and rows as bytes, so that the writer thread has little to do.
//!
//! Looks at no stored row.

use super::{codec::EncodedRow, dictionary::Dictionary, keys::key_bytes};
use crate::{Action, Batch, Operation, Properties};

/// A batch, ready for the writer thread.
pub(super) struct PreparedBatch {
    pub(super) table: String,
    pub(super) partition: String,
    pub(super) operations: Vec<PreparedOperation>,
}

/// An operation, ready for the writer thread.
pub(super) struct PreparedOperation {
    pub(super) row: String,
    pub(super) key: Vec<u8>,
    /// What to do; the properties are left out where `encoded` has them.
    pub(super) action: Action,
    /// The row's value, where the operation alone decides it.
    pub(super) encoded: Option<EncodedRow>,
}

/// Makes batches ready. They must have passed `validate::batches`.
pub(super) fn prepare(batches: &[Batch], names: &Dictionary) -> Vec<PreparedBatch> {
    let prepared = batches.iter().map(|batch| PreparedBatch {
        table: batch.table.clone(),
        partition: batch.partition.clone(),
        operations: batch.operations.iter().map(|operation| ready(&batch.partition, operation, names)).collect(),
    });
    prepared.collect()
}

/// About how many bytes of memory prepared batches take.
pub(super) fn bytes_of(batches: &[PreparedBatch]) -> usize {
    let operations = batches.iter().flat_map(|batch| &batch.operations);
    operations.map(|operation| 128 + operation.key.len() + operation.payload_bytes()).sum()
}

impl PreparedOperation {
    fn payload_bytes(&self) -> usize {
        match &self.encoded {
            Some(encoded) => encoded.len(),
            None => self.action.properties().map_or(0, |properties| 64 * properties.len()),
        }
    }
}

fn ready(partition: &str, operation: &Operation, names: &Dictionary) -> PreparedOperation {
    let Operation { row, action } = operation;
    let key = key_bytes(partition, row);
    let encoded = |properties| Some(EncodedRow::new(&key, properties, names));
    let (action, encoded) = match action {
        Action::Insert(properties) => (Action::Insert(Properties::new()), encoded(properties)),
        Action::InsertOrReplace(properties) => (Action::InsertOrReplace(Properties::new()), encoded(properties)),
        Action::Replace(properties, condition) => {
            (Action::Replace(Properties::new(), condition.clone()), encoded(properties))
        }
        Action::Merge(..) | Action::InsertOrMerge(_) | Action::Delete(_) => (action.clone(), None),
    };
    PreparedOperation { row: row.clone(), key, action, encoded }
}
