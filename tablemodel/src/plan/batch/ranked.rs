//! What comes first in the order of values: among the contributions that a batch writes, and those that were read.
//!
//! Who contributes, and how a cell says it, is planned elsewhere.

use std::{borrow::Borrow, collections::BTreeMap, ops::Bound};

use tablemodel_store::Row;

use super::{BatchPlan, BatchRow, is_live};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{known::Known, system},
    rooms::aggregate::{self, Rank},
};

/// Contributions by their row keys: those of one aggregate are a range of them.
#[derive(Debug, Default)]
pub(super) struct Ranked<'k> {
    /// Those that the batch writes, each with whether it is one afterwards.
    written: BTreeMap<String, bool>,
    /// Those that were read, and the ranges that were.
    read: BTreeMap<&'k str, Option<&'k Row>>,
}

impl<'k> Ranked<'k> {
    pub(super) fn of(rows: &[BatchRow], known: &'k Known) -> Self {
        let written = rows.iter().map(|row| &row.planned).filter(|planned| aggregate::is_of_aggregate(&planned.row));
        let read = known.iter().filter(|(row, _)| aggregate::is_of_aggregate(row));
        Self {
            written: written.map(|planned| (planned.row.clone(), is_live(planned))).collect(),
            read: read.map(|(row, found)| (row.as_str(), found.as_ref())).collect(),
        }
    }
}

/// Those whose keys begin so.
fn behind<'m, K: Borrow<str> + Ord, V>(
    rows: &'m BTreeMap<K, V>,
    prefix: &'m str,
) -> impl Iterator<Item = (&'m str, &'m V)> {
    let range = rows.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    range.map(|(row, found)| (Borrow::<str>::borrow(row), found)).take_while(move |(row, _)| row.starts_with(prefix))
}

impl BatchPlan {
    /// The first contribution in the order of values that the batch leaves: of those that it writes, and of those that were
    /// read; where none were, the one that the cell says, which then stays. Not every one that is gone afterwards was `lost`: a source that
    /// was at the rank of another for a while may leave a tombstone where it never stood.
    pub(super) fn first(
        &mut self,
        into: &aggregate::Into,
        cell: Option<Rank>,
        ranked: &Ranked<'_>,
        lost: &[&Rank],
    ) -> Result<Option<String>> {
        let prefix = into.prefix();
        let code = |row: &str| aggregate::rank_behind(&prefix, row).map(str::to_owned);
        let written = behind(&ranked.written, &prefix).filter_map(|(row, is_live)| Some((code(row)?, is_live)));
        let (live, gone): (Vec<_>, Vec<_>) = written.partition(|(_, is_live)| **is_live);
        let live = live.into_iter().map(|(code, _)| code).min();
        if !ranked.read.contains_key(prefix.as_str()) {
            let is_behind = |cell: &Rank| live.as_ref().is_none_or(|live| *live > cell.code);
            let is_gone = |cell: &Rank| lost.contains(&cell) && gone.iter().any(|(code, _)| *code == cell.code);
            if cell.as_ref().is_some_and(|cell| is_behind(cell) && is_gone(cell)) {
                let detail = format!("what comes next in aggregate `{}` is not known", into.property.field);
                return Err(Error::new(ErrorKind::Unavailable, detail));
            }
            return Ok(live.into_iter().chain(cell.map(|cell| cell.code)).min());
        }
        let is_read = |row: &&Row| !system::is_dead(&row.properties) && self.position(&row.key.row).is_none();
        let read = behind(&ranked.read, &prefix).filter_map(|(_, row)| *row).filter(is_read);
        let read = read.filter_map(|row| code(&row.key.row)).min();
        self.shared.extend(behind(&ranked.read, &prefix).map(|(row, _)| row.to_owned()));
        Ok(read.into_iter().chain(live).min())
    }
}
