//! The rows of a read plan, pulled page by page; several ranges are merged in row key order.
//!
//! Only rows that belong to the path come out: by the plan's condition, or by a look at each row.

use std::{cmp::Ordering, collections::VecDeque, ops::Bound};

use tablemodel_store::{Continuation, KeyRange, Query, Row, RowKey, key, limits};

use crate::{
    database::{Database, Registered},
    error::Result,
    path::{found::selection, plan::ReadPlan, query::check_ready},
    plan::part,
    read::{results::Results, shown},
};

/// Rows of a plan.
pub(crate) struct Rows {
    db: Database,
    table: String,
    plan: ReadPlan,
    /// The key of a point query that has not run yet; it has no range.
    point: Option<RowKey>,
    ranges: Vec<Range>,
    heads_only: bool,
    /// Rows asked for beside those that are wanted: whether one follows is asked then.
    ahead: usize,
}

/// One range on its way.
struct Range {
    /// `None` once it is exhausted.
    query: Option<Query>,
    page: VecDeque<Row>,
    /// How many rows its last page had for each that is of the path: as many are asked for where one is wanted.
    rows_each: usize,
}

impl Rows {
    pub(crate) fn new(db: Database, registered: &Registered, plan: ReadPlan) -> Self {
        let point = plan.point();
        let table = match plan.elsewhere() {
            None => registered.table.clone(),
            Some(elsewhere) => db.table_name(elsewhere.table),
        };
        let ranges = if point.is_some() { Vec::new() } else { ranges(&plan, &table) };
        Self { db, table, plan, point, ranges, heads_only: false, ahead: 0 }
    }

    pub(crate) fn plan(&self) -> &ReadPlan {
        &self.plan
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// Without the parts of entities that are several rows.
    pub(crate) fn heads_only(&mut self) {
        let filter = self.plan.heads_condition();
        self.queries().for_each(|query| query.filter.clone_from(&filter));
        self.heads_only = true;
    }

    /// Whether another row follows will be asked: with the rows before it, where one request takes as many.
    pub(crate) fn look_ahead(&mut self) {
        self.ahead = 1;
    }

    /// Only these properties travel.
    pub(crate) fn select(&mut self, properties: &[&'static str]) {
        let select = selection(properties, &self.plan);
        self.queries().for_each(|query| query.select = Some(select.clone()));
    }

    /// Only rows after this one of the range at `place`. Of two ranges that hold one row key, the earlier one gave its row
    /// first: a later one still has it to give.
    pub(crate) fn resume_after(&mut self, place: usize, key: &RowKey) {
        self.point = None; // the row was the one
        let may_have_parts = self.plan.is_cut() && self.plan.schema.has_parts();
        let end = if may_have_parts { part::end_of(&key.row) } else { key.row.clone() };
        self.queries().enumerate().for_each(|(at, query)| match &mut query.range {
            KeyRange::Partition { rows, .. } if at <= place => rows.lower = Bound::Excluded(end.clone()),
            KeyRange::Partition { rows, .. } => rows.lower = Bound::Included(key.row.clone()),
            KeyRange::Table { after, .. } => *after = Some(RowKey::new(&*key.partition, &*end)),
        });
    }

    fn queries(&mut self) -> impl Iterator<Item = &mut Query> {
        self.ranges.iter_mut().filter_map(|range| range.query.as_mut())
    }

    /// The next row; `wanted` rows are asked for at once where a page has to be read.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<Row>> {
        if let Some(key) = self.point.take() {
            return self.get(key).await;
        }
        self.fill(wanted).await?;
        Ok(self.least().and_then(|range| range.page.pop_front()))
    }

    /// Some rows, at most `wanted`; none at the end.
    pub(crate) async fn some(&mut self, wanted: usize) -> Result<Vec<Row>> {
        if let Some(key) = self.point.take() {
            return Ok(self.get(key).await?.into_iter().collect());
        }
        self.fill(wanted).await?;
        if let [range] = self.ranges.as_mut_slice() {
            if range.page.len() <= wanted {
                return Ok(std::mem::take(&mut range.page).into());
            }
            return Ok(range.page.drain(..wanted).collect());
        }
        let mut rows = Vec::new();
        // Merging may go on until one range has to read its next page.
        while rows.len() < wanted && (rows.is_empty() || self.is_filled()) {
            self.fill(wanted).await?;
            match self.least().and_then(|range| range.page.pop_front()) {
                Some(row) => rows.push(row),
                None => break,
            }
        }
        Ok(rows)
    }

    /// The results of the next page of the plan's only range, where the store shows its rows; only of entities whose rows
    /// are results by themselves. `None`: [`Rows::some`] is to be asked, also at the end.
    pub(crate) fn show(&mut self, wanted: usize, to: &mut dyn Results) -> Result<Option<()>> {
        let Self { db, plan, ranges, point: None, heads_only: false, .. } = self else { return Ok(None) };
        let [range] = ranges.as_mut_slice() else { return Ok(None) };
        let Some(query) = range.due().filter(|_| plan.is_of_whole_rows()) else { return Ok(None) };
        if query.filter.is_some() && query.continuation.is_some() {
            return Ok(None); // the page before was not shown
        }
        let goes_on = query.continuation.is_some();
        if goes_on && plan.rests_on_states() && db.may_have_moved() {
            return Ok(None); // it is to be looked first how the entity is kept
        }
        // What type a row is of is seen where it is read; and so it stays for all pages of this range.
        let filter = query.filter.take();
        query.limit = limits::MAX_PAGE_ROWS;
        let Some(next) = shown::page(db, plan, query, wanted, to) else {
            query.filter = filter;
            return Ok(None);
        };
        range.take(VecDeque::new(), next?);
        if goes_on && plan.rests_on_states() {
            db.registered(plan.schema)?; // it may have moved since its first page
        }
        Ok(Some(()))
    }

    /// Whether another row follows.
    pub(crate) async fn has_more(&mut self) -> Result<bool> {
        if let Some(key) = self.point.take() {
            let page = self.get(key).await?.into_iter().collect();
            self.ranges.push(Range { query: None, page, rows_each: 1 });
        }
        self.fill(1).await?;
        Ok(self.ranges.iter().any(|range| !range.page.is_empty()))
    }

    async fn get(&self, key: RowKey) -> Result<Option<Row>> {
        let row = self.db.get_row(&self.table, &key).await;
        let row = row.map_err(|error| error.of(self.plan.schema.entity_type).at_key(key))?;
        still_ready(&self.db, &self.plan).await?;
        Ok(row.filter(|row| self.plan.owns(row)))
    }

    /// Reads pages until every range has a row, or is exhausted. Rows that are nothing of the path count to the limit of a page: where
    /// many of them stand together, larger ones are asked for.
    async fn fill(&mut self, wanted: usize) -> Result<()> {
        let Self { db, plan, ranges, heads_only, ahead, .. } = self;
        let wanted = wanted.saturating_add(*ahead);
        for range in ranges {
            let mut rows_each = range.rows_each;
            while let Some(query) = range.due() {
                query.limit = wanted.saturating_mul(rows_each).clamp(1, limits::MAX_PAGE_ROWS);
                let page = db.query_page(query).await;
                let mut page = page.map_err(|error| error.of(plan.schema.entity_type))?;
                still_ready(db, plan).await?;
                let read = page.rows.len();
                if query.filter.is_none() || plan.elsewhere().is_some() {
                    page.rows.retain(|row| plan.owns(row) || (!*heads_only && plan.owns_part(row)));
                }
                rows_each = each_of(read, page.rows.len(), rows_each);
                range.take(page.rows.into(), page.continuation);
            }
            range.rows_each = rows_each;
        }
        Ok(())
    }

    fn is_filled(&self) -> bool {
        self.ranges.iter().all(|range| !range.page.is_empty() || range.query.is_none())
    }

    /// The range whose next row is the least.
    fn least(&mut self) -> Option<&mut Range> {
        let order = if self.plan.is_cut() { part::compare } else { key::compare };
        let with_rows = self.ranges.iter_mut().filter(|range| !range.page.is_empty());
        with_rows.min_by(|a, b| match (a.page.front(), b.page.front()) {
            (Some(a), Some(b)) => order(&a.key.row, &b.key.row),
            _ => Ordering::Equal,
        })
    }
}

/// How many rows are to be read for each that is kept, by a page of so many for which it was `before`: many more where none was kept, but not
/// all at once, since one such row is nothing unusual.
pub(super) fn each_of(read: usize, kept: usize, before: usize) -> usize {
    const MANY: usize = 32;
    match (read, kept) {
        (0, _) => before,
        (_, 0) => before.saturating_mul(MANY).min(limits::MAX_PAGE_ROWS),
        _ => read.div_ceil(kept),
    }
}

/// That what a plan reads was not taken away since it began, also while the store kept it waiting.
pub(super) async fn still_ready(db: &Database, plan: &ReadPlan) -> Result<()> {
    if !plan.rests_on_states() {
        return Ok(());
    }
    let registered = Box::pin(db.readable(plan.schema, true)).await?;
    check_ready(plan.schema, plan.index, &registered.setting.states)
}

/// The ranges of a plan, from their beginnings.
fn ranges(plan: &ReadPlan, table: &str) -> Vec<Range> {
    // The parts of an entity are told apart from others' only as a whole.
    let select = plan.select.filter(|_| !plan.is_cut());
    let select = select.map(|properties| selection(properties, plan));
    let filter = plan.condition();
    let range = |range: &KeyRange| {
        let query = Query { filter: filter.clone(), select: select.clone(), ..Query::new(table, range.clone()) };
        Range { query: Some(query), page: VecDeque::new(), rows_each: 1 }
    };
    plan.ranges.iter().map(range).collect()
}

impl Range {
    /// The query of the next page, when one has to be read.
    fn due(&mut self) -> Option<&mut Query> {
        if self.page.is_empty() { self.query.as_mut() } else { None }
    }

    fn take(&mut self, rows: VecDeque<Row>, continuation: Option<Continuation>) {
        self.page = rows;
        match (continuation, self.query.as_mut()) {
            (Some(next), Some(query)) => query.continuation = Some(next),
            _ => self.query = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_by_steps_where_nothing_is_kept_and_are_as_large_as_it_takes_where_something_is() {
        assert_eq!([each_of(1, 0, 1), each_of(32, 0, 32), each_of(1_000, 0, 1_000)], [32, 1_000, 1_000]);
        assert_eq!([each_of(100, 25, 1), each_of(100, 99, 1), each_of(100, 100, 32), each_of(0, 0, 7)], [4, 2, 1, 7]);
    }
}
