//! What a run reads of contributions: those that come first, in the order of values.

use std::ops::Bound;

use tablemodel_store::{KeyRange, Query, RowRange};

use super::Run;
use crate::{
    error::Result,
    plan::system,
    rooms::aggregate::{FIRST_BEGINS, FIRST_ENDS},
};

impl Run<'_> {
    /// Learns the first contributions behind `prefix`: one more than the changes of a batch may take away. Those that are
    /// gone, and only wait to be swept, do not count.
    pub(super) async fn learn_first(&mut self, prefix: String, changes: usize) -> Result<()> {
        let lower = Bound::Included(format!("{prefix}{FIRST_BEGINS}"));
        let upper = Bound::Excluded(format!("{prefix}{FIRST_ENDS}"));
        let range = KeyRange::rows(self.partition, RowRange { lower, upper });
        let (mut query, mut live) = (Query::new(&self.registered.table, range).limited(changes + 1), 0);
        loop {
            let page = self.db.query_page(&query).await?;
            live += page.rows.iter().filter(|row| !system::is_dead(&row.properties)).count();
            self.known.extend(page.rows.into_iter().map(|row| (row.key.row.clone(), Some(row))));
            match page.continuation.filter(|_| live <= changes) {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        self.known.insert(prefix, None);
        Ok(())
    }
}
