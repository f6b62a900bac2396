//! Batches of more rows than a store takes in one, in pieces that it does: where it commits several as one. Who planned them gets receipts
//! and errors as if they had been whole.
//!
//! Whether a batch may have so many rows is decided where it is planned.

use tablemodel_store::{Batch, Receipts, StoreError, limits, size};

use crate::plan::batch::split;

/// Batches in pieces.
pub(super) struct Pieces {
    pub(super) batches: Vec<Batch>,
    /// How many of those each batch became.
    counts: Vec<usize>,
}

impl Pieces {
    /// Those of the batches; none where each is one.
    pub(super) fn of(batches: &[Batch]) -> Option<Self> {
        // One alone was measured where it was planned; beside others it may have been given more.
        let is_large = |batch: &Batch| size::batch_bytes_over(batch, limits::MAX_BATCH_BYTES).is_some();
        let is_over = |batch: &Batch| {
            batch.operations.len() > limits::MAX_BATCH_OPERATIONS || (batches.len() > 1 && is_large(batch))
        };
        if !batches.iter().any(is_over) {
            return None;
        }
        let mut pieces = Self { batches: Vec::new(), counts: Vec::with_capacity(batches.len()) };
        for batch in batches {
            let before = pieces.batches.len();
            match is_over(batch) {
                true => split(batch.clone(), &mut pieces.batches),
                false => pieces.batches.push(batch.clone()),
            }
            pieces.counts.push(pieces.batches.len() - before);
        }
        Some(pieces)
    }

    /// What became of the pieces, told of the batches.
    pub(super) fn told(&self, committed: Result<Vec<Receipts>, StoreError>) -> Result<Vec<Receipts>, StoreError> {
        match committed {
            Ok(receipts) => {
                let mut receipts = receipts.into_iter();
                Ok(self.counts.iter().map(|count| receipts.by_ref().take(*count).flatten().collect()).collect())
            }
            Err(error) => Err(self.located(error)),
        }
    }

    /// The error, at the place that its operation has in its batch.
    fn located(&self, error: StoreError) -> StoreError {
        let Some(at) = error.failed_at() else { return error };
        let mut first = 0;
        for (batch, count) in self.counts.iter().enumerate() {
            if at.batch < first + count {
                let before = self.batches.get(first..at.batch).unwrap_or_default();
                let operations: usize = before.iter().map(|piece| piece.operations.len()).sum();
                return error.at(batch, operations + at.operation);
            }
            first += count;
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use tablemodel_store::{Action, DateTime, Properties, StoreErrorKind, Written};

    use super::*;

    fn batch(partition: &str, rows: usize) -> Batch {
        (0..rows).fold(Batch::new("Table", partition), |batch, row| {
            batch.with(format!("{row:04}"), Action::Insert(Properties::new()))
        })
    }

    #[test]
    fn a_batch_of_more_bytes_than_a_store_takes_is_sent_in_pieces_beside_others() {
        let large = Properties::from_iter((0..15).map(|n| (format!("P{n}"), "x".repeat(32_000))));
        let guests = (0..10).fold(Batch::new("Table", "a"), |batch, row| {
            batch.with(format!("{row:04}"), Action::Insert(large.clone()))
        });
        assert!(Pieces::of(std::slice::from_ref(&guests)).is_none(), "alone it is refused");
        let pieces = Pieces::of(&[batch("b", 1), guests]).unwrap();
        assert_eq!(pieces.counts, [1, 2]);
        assert!(pieces.batches.iter().all(|piece| size::batch_bytes(piece) <= limits::MAX_BATCH_BYTES));
    }

    #[test]
    fn batches_that_a_store_takes_are_sent_as_they_are() {
        assert!(Pieces::of(&[batch("a", 100), batch("b", 1)]).is_none());
    }

    #[test]
    fn receipts_and_errors_of_pieces_are_told_of_their_batches() {
        let whole = [batch("a", 3), batch("b", 250), batch("c", 101), batch("d", 2)];
        let pieces = Pieces::of(&whole).unwrap();
        assert!(pieces.batches.iter().all(|piece| (1..=100).contains(&piece.operations.len())));
        // Each receipt says by its time which operation it is of.
        let mut number = 0;
        let mut receipt = || {
            number += 1;
            Written { etag: None, timestamp: DateTime::from_ticks(number) }
        };
        let receipts = pieces.batches.iter().map(|piece| piece.operations.iter().map(|_| receipt()).collect());
        let told = pieces.told(Ok(receipts.collect())).unwrap();
        assert_eq!(told.iter().map(Vec::len).collect::<Vec<_>>(), [3, 250, 101, 2]);
        let times = told.iter().flatten().map(|written| written.timestamp.ticks());
        assert!(times.eq(1..=356));

        for (at, piece) in pieces.batches.iter().enumerate() {
            for (operation, expected) in piece.operations.iter().enumerate() {
                let error = StoreError::new(StoreErrorKind::RowExists, "there").at(at, operation);
                let at = pieces.told(Err(error)).unwrap_err().failed_at().unwrap();
                let found = &whole[at.batch];
                assert_eq!((&found.partition, &found.operations[at.operation]), (&piece.partition, expected));
            }
        }
        let nowhere = StoreError::new(StoreErrorKind::Unavailable, "busy");
        assert_eq!(pieces.told(Err(nowhere)).unwrap_err().failed_at(), None);
    }
}
