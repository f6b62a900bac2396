//! The rows of a read plan, pulled page by page; several ranges are merged in row key order.
//!
//! Only rows that belong to the path come out: the plan's condition, or for adopted tables a look at each row.

use std::{collections::VecDeque, ops::Bound, sync::Arc};

use tablemodel_store::{Continuation, KeyRange, Query, Row, RowKey, key, limits};

use crate::{
    database::{Database, Registered},
    error::Result,
    path::{found::selection, query::ReadPlan},
    plan::{change::is_primary, image::key_values},
};

/// Rows of a plan.
pub(crate) struct Rows {
    db: Database,
    registered: Arc<Registered>,
    plan: ReadPlan,
    ranges: Vec<Range>,
}

/// One range on its way.
struct Range {
    /// `None` once it is exhausted.
    query: Option<Query>,
    page: VecDeque<Row>,
}

impl Rows {
    pub(crate) fn new(db: Database, registered: Arc<Registered>, plan: ReadPlan) -> Self {
        let select = plan.select.map(|properties| selection(properties, plan.index.is_some()));
        let range = |range: &KeyRange| Range {
            query: Some(Query {
                filter: plan.condition.clone(),
                select: select.clone(),
                ..Query::new(registered.table.clone(), range.clone())
            }),
            page: VecDeque::new(),
        };
        let ranges = plan.ranges.iter().map(range).collect();
        Self { db, registered, plan, ranges }
    }

    pub(crate) fn plan(&self) -> &ReadPlan {
        &self.plan
    }

    /// Only these properties travel.
    pub(crate) fn select(&mut self, properties: &[&'static str]) {
        let select = selection(properties, self.plan.index.is_some());
        self.queries().for_each(|query| query.select = Some(select.clone()));
    }

    /// Only rows after this row key of the range at `place`. Of two ranges that hold one row key, the earlier one gave
    /// its row first: a later one still has it to give.
    pub(crate) fn resume_after(&mut self, place: usize, row: &str) {
        self.queries().enumerate().for_each(|(at, query)| {
            if let KeyRange::Partition { rows, .. } = &mut query.range {
                let row = row.to_owned();
                rows.lower = if at <= place { Bound::Excluded(row) } else { Bound::Included(row) };
            }
        });
    }

    fn queries(&mut self) -> impl Iterator<Item = &mut Query> {
        self.ranges.iter_mut().filter_map(|range| range.query.as_mut())
    }

    /// The next row; `wanted` rows are asked for at once where a page has to be read.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<Row>> {
        if let Some(key) = self.point() {
            return self.get(key).await;
        }
        self.fill(wanted).await?;
        Ok(self.least().and_then(|range| range.page.pop_front()))
    }

    /// Some rows, at most `wanted`; none at the end.
    pub(crate) async fn some(&mut self, wanted: usize) -> Result<Vec<Row>> {
        if let Some(key) = self.point() {
            return Ok(self.get(key).await?.into_iter().collect());
        }
        self.fill(wanted).await?;
        if let [range] = self.ranges.as_mut_slice() {
            let count = range.page.len().min(wanted);
            return Ok(range.page.drain(..count).collect());
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

    /// Whether another row follows.
    pub(crate) async fn has_more(&mut self) -> Result<bool> {
        self.fill(1).await?;
        Ok(self.ranges.iter().any(|range| !range.page.is_empty()))
    }

    /// The key of a point query that has not run yet.
    fn point(&self) -> Option<RowKey> {
        let fresh = matches!(self.ranges.as_slice(), [Range { query: Some(Query { continuation: None, .. }), page }] if page.is_empty());
        if fresh && self.resumed().is_none() { self.plan.point() } else { None }
    }

    /// A point query that was resumed by a cursor is a range like any other.
    fn resumed(&self) -> Option<()> {
        let [Range { query: Some(query), .. }] = self.ranges.as_slice() else { return None };
        (Some(&query.range) != self.plan.ranges.first()).then_some(())
    }

    async fn get(&mut self, key: RowKey) -> Result<Option<Row>> {
        self.ranges.clear();
        let row = self.db.get_row(&self.registered.table, &key).await;
        let row = row.map_err(|error| error.of(self.plan.schema.entity_type).at_key(key))?;
        Ok(row.filter(|row| self.belongs(row)))
    }

    /// Reads pages until every range has a row, or is exhausted.
    async fn fill(&mut self, wanted: usize) -> Result<()> {
        for at in 0..self.ranges.len() {
            while let Some(query) = self.ranges.get_mut(at).and_then(Range::due) {
                query.limit = wanted.clamp(1, limits::MAX_PAGE_ROWS);
                let query = query.clone();
                let page = self.db.query_page(&query).await;
                let page = page.map_err(|error| error.of(self.plan.schema.entity_type))?;
                let rows: VecDeque<Row> = if self.plan.condition.is_some() {
                    page.rows.into()
                } else {
                    page.rows.into_iter().filter(|row| self.belongs(row)).collect()
                };
                if let Some(range) = self.ranges.get_mut(at) {
                    range.take(rows, page.continuation);
                }
            }
        }
        Ok(())
    }

    fn is_filled(&self) -> bool {
        self.ranges.iter().all(|range| !range.page.is_empty() || range.query.is_none())
    }

    /// The range whose next row is the least.
    fn least(&mut self) -> Option<&mut Range> {
        let next = |range: &Range| range.page.front().map(|row| row.key.row.clone());
        let with_rows = self.ranges.iter_mut().filter(|range| !range.page.is_empty());
        with_rows.min_by(|a, b| match (next(a), next(b)) {
            (Some(a), Some(b)) => key::compare(&a, &b),
            _ => std::cmp::Ordering::Equal,
        })
    }

    /// Whether the row is one of the path's: by the condition, or by a look at a row of an adopted table.
    fn belongs(&self, row: &Row) -> bool {
        match &self.plan.condition {
            Some(condition) => condition.matches(row),
            None => is_primary(self.plan.schema, row) && key_values(self.plan.schema, &row.key).is_ok(),
        }
    }
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
