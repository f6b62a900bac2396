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

/// A commit, ready for the writer thread. In few pieces of memory: another thread frees them, which costs for each.
#[cfg_attr(test, derive(Default))]
pub(super) struct PreparedCommit {
    pub(super) batches: Vec<PreparedBatch>,
    /// Those of all batches.
    pub(super) operations: Vec<PreparedOperation>,
    /// The keys and rows of all operations.
    pub(super) bytes: Vec<u8>,
    /// The names of their tables: once for batches of one table that follow each other.
    tables: Vec<String>,
}

/// A batch of a commit.
pub(super) struct PreparedBatch {
    /// Where the name of its table is.
    table: usize,
    /// Where its operations are.
    pub(super) operations: Range<usize>,
}

/// An operation, ready for the writer thread.
pub(super) struct PreparedOperation {
    /// Where the key lies in the bytes of the commit.
    pub(super) key: Range<usize>,
    /// What to do; the properties are left out where `encoded` has them.
    pub(super) action: Action,
    /// The row's value, where the operation alone decides it.
    pub(super) encoded: Option<EncodedRow>,
}

/// Makes batches ready. They must have passed `validate::batches`.
pub(super) fn prepare(batches: &[Batch], names: &Dictionary) -> PreparedCommit {
    const BYTES_EACH: usize = 256;
    let (mut numbers, mut writer) = (names.numbers(), BodyWriter::new());
    let count = batches.iter().map(|batch| batch.operations.len()).sum();
    let mut commit = PreparedCommit {
        batches: Vec::with_capacity(batches.len()),
        operations: Vec::with_capacity(count),
        bytes: Vec::with_capacity(BYTES_EACH * count),
        tables: Vec::with_capacity(1),
    };
    batches.iter().for_each(|batch| commit.add(batch, &mut numbers, &mut writer));
    commit
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

impl PreparedCommit {
    fn add<'b>(&mut self, batch: &'b Batch, numbers: &mut Numbers<'_, 'b>, writer: &mut BodyWriter) {
        let (partition, start) = (order_bytes(&batch.partition), self.operations.len());
        for operation in &batch.operations {
            self.operations.push(ready(&mut self.bytes, &partition, operation, numbers, writer));
        }
        if self.tables.last() != Some(&batch.table) {
            self.tables.push(batch.table.clone());
        }
        self.batches.push(PreparedBatch { table: self.tables.len() - 1, operations: start..self.operations.len() });
    }

    /// The name of the table of a batch.
    pub(super) fn table(&self, batch: &PreparedBatch) -> &str {
        self.tables.get(batch.table).map_or("", String::as_str)
    }

    /// The operations of a batch.
    pub(super) fn operations(&self, batch: &PreparedBatch) -> &[PreparedOperation] {
        self.operations.get(batch.operations.clone()).unwrap_or_default()
    }

    /// The bytes of an operation's key.
    pub(super) fn key(&self, operation: &PreparedOperation) -> &[u8] {
        self.bytes.get(operation.key.clone()).unwrap_or_default()
    }

    /// About how many bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        let unencoded = self.operations.iter().map(|it| 64 + it.action.properties().map_or(0, memory_of));
        unencoded.sum::<usize>() + self.bytes.len()
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
    let mut encoded = |properties| Some(EncodedRow::append(bytes, &key, properties, writer, numbers));
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
            assert!((2 * BYTES..3 * BYTES).contains(&prepared.memory()), "{}", prepared.memory());
        }
    }
}
