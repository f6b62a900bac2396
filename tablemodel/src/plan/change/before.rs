//! What stood before a change: the rows that it is planned over, as they were read, or as earlier changes of its batch leave them.
//!
//! Nothing is planned here.

use std::borrow::Cow;

use tablemodel_store::Row;

use crate::plan::known::Known;

/// The rows that a change is planned over.
pub(crate) trait Before {
    /// What is known of the row: absent, or as it is before the change.
    fn row(&self, row: &str) -> Option<Option<Cow<'_, Row>>>;

    /// The sequence number of an entity that an earlier change of the batch took away from this row; 0 if none.
    fn gone(&self, row: &str) -> i64;

    /// What was read before the batch.
    fn known(&self) -> &Known;

    /// The rows that earlier changes of the batch put under keys that begin so.
    fn put_under(&self, _prefix: &str) -> Vec<Cow<'_, Row>> {
        Vec::new()
    }

    /// Whether nothing is known of any row.
    fn is_blank(&self) -> bool;
}

impl Before for Known {
    fn row(&self, row: &str) -> Option<Option<Cow<'_, Row>>> {
        Some(self.get(row)?.as_ref().map(Cow::Borrowed))
    }

    fn gone(&self, _: &str) -> i64 {
        0
    }

    fn known(&self) -> &Known {
        self
    }

    fn is_blank(&self) -> bool {
        Self::is_blank(self)
    }
}
