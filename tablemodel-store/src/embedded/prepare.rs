//! A commit made ready on the caller's thread: keys and rows as bytes, so that the writer thread has little to do.
//!
//! Looks at no stored row.

use std::ops::Range;

use super::{
    codec::EncodedRow,
    dictionary::{Dictionary, Numbers},
    keys::put_key,
    property::BodyWriter,
};
use crate::{Action, Batch, Operation, Properties, ValueRef, key::order_bytes};

/// A batch, ready for the writer thread.
pub(super) struct PreparedBatch {
    pub(super) table: String,
    pub(super) partition: String,
    pub(super) operations: Vec<PreparedOperation>,
    /// The keys and rows of all operations, in one piece: it is freed by another thread, which costs for each piece.
    pub(super) bytes: Vec<u8>,
}

/// An operation, ready for the writer thread.
pub(super) struct PreparedOperation {
    /// Where the key lies in the bytes of the batch.
    pub(super) key: Range<usize>,
    /// What to do; the properties are left out where `encoded` has them.
    pub(super) action: Action,
    /// The row's value, where the operation alone decides it.
    pub(super) encoded: Option<EncodedRow>,
}

/// Makes batches ready. They must have passed `validate::batches`.
pub(super) fn prepare(batches: &[Batch], names: &Dictionary) -> Vec<PreparedBatch> {
    let (mut numbers, mut writer) = (names.numbers(), BodyWriter::default());
    batches.iter().map(|batch| PreparedBatch::new(batch, &mut numbers, &mut writer)).collect()
}

/// About how many bytes of memory prepared batches take.
pub(super) fn bytes_of(batches: &[PreparedBatch]) -> usize {
    let operations = batches.iter().flat_map(|batch| &batch.operations);
    let unencoded = operations.map(|it| 64 + it.action.properties().map_or(0, memory_of));
    unencoded.sum::<usize>() + batches.iter().map(|batch| batch.bytes.len()).sum::<usize>()
}

/// About how many bytes of memory properties take.
fn memory_of(properties: &Properties) -> usize {
    let texts = properties.iter().map(|(_, value)| match value {
        ValueRef::String(text) => text.len(),
        ValueRef::Binary(bytes) => bytes.len(),
        _ => 0,
    });
    64 * properties.len() + texts.sum::<usize>()
}

impl PreparedBatch {
    fn new<'b>(batch: &'b Batch, numbers: &mut Numbers<'_, 'b>, writer: &mut BodyWriter) -> Self {
        const BYTES_EACH: usize = 256;
        let mut bytes = Vec::with_capacity(BYTES_EACH * batch.operations.len());
        let partition = order_bytes(&batch.partition);
        let ready = |it| ready(&mut bytes, &partition, it, numbers, writer);
        let operations = batch.operations.iter().map(ready).collect();
        Self { table: batch.table.clone(), partition: batch.partition.clone(), operations, bytes }
    }

    /// The bytes of an operation's key.
    pub(super) fn key(&self, operation: &PreparedOperation) -> &[u8] {
        self.bytes.get(operation.key.clone()).unwrap_or_default()
    }
}

fn ready<'b>(
    bytes: &mut Vec<u8>,
    partition: &[u8],
    operation: &'b Operation,
    numbers: &mut Numbers<'_, 'b>,
    writer: &mut BodyWriter,
) -> PreparedOperation {
    let start = bytes.len();
    put_key(bytes, partition, &operation.row);
    let key = start..bytes.len();
    let mut encoded = |properties| Some(EncodedRow::append(bytes, &key, properties, writer, |name| numbers.of(name)));
    let (action, encoded) = match &operation.action {
        Action::Insert(properties) => (Action::Insert(Properties::new()), encoded(properties)),
        Action::InsertOrReplace(properties) => (Action::InsertOrReplace(Properties::new()), encoded(properties)),
        Action::Replace(properties, condition) => {
            (Action::Replace(Properties::new(), condition.clone()), encoded(properties))
        }
        action @ (Action::Merge(..) | Action::InsertOrMerge(_) | Action::Delete(_)) => (action.clone(), None),
    };
    PreparedOperation { key, action, encoded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn a_merge_takes_the_memory_of_its_texts_and_binaries() {
        const BYTES: usize = 60_000;
        let large = [Value::String("x".repeat(BYTES)), Value::Binary(vec![7; BYTES])];
        let own = Properties::from_iter(["Text", "Picture"].into_iter().zip(large));
        let actions = [Action::InsertOrMerge(own.clone()), Action::Insert(own)];
        for action in actions {
            let prepared = prepare(&[Batch::new("People", "p").with("r", action)], &Dictionary::new([]));
            assert!((2 * BYTES..3 * BYTES).contains(&bytes_of(&prepared)), "{}", bytes_of(&prepared));
        }
    }
}
