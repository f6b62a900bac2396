//! What bugs of queries and pages do.
//!
//! Each is one function, wrong in one way.

#![allow(clippy::ptr_arg, reason = "the twists of one place have one signature")]

use std::ops::Bound;

use tablemodel_store::{
    Comparison, Continuation, Filter, KeyRange, MemoryStore, Page, Query, Row, RowRange, StoreError, StoreErrorKind,
    TableStore, TableStoreExt, limits, size, validate,
};

use super::{Answer, filters::is_exact, writes::refuse};

pub(super) fn reverse_rows(_: &Query, page: &mut Page) {
    page.rows.reverse();
}

pub(super) fn utf8_order(_: &Query, page: &mut Page) {
    page.rows.sort_by(|a, b| (&a.key.partition, &a.key.row).cmp(&(&b.key.partition, &b.key.row)));
}

fn plain<T: Clone>(bound: &Bound<T>) -> Option<T> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    }
}

pub(super) fn utf8_bounds<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut page = store.query(query).await?;
        if let KeyRange::Partition { rows, .. } = &query.range {
            let above = |row: &Row| plain(&rows.lower).is_none_or(|lower| row.key.row >= lower);
            let below = |row: &Row| plain(&rows.upper).is_none_or(|upper| row.key.row <= upper);
            page.rows.retain(|row| above(row) && below(row));
        }
        Ok(page)
    })
}

pub(super) fn utf8_slices<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut page = store.query(query).await?;
        if let KeyRange::Table { before_partition: Some(end), .. } = &query.range {
            page.rows.retain(|row| row.key.partition < *end);
        }
        Ok(page)
    })
}

pub(super) fn upper_inclusive(query: &mut Query) {
    if let KeyRange::Partition { rows, .. } = &mut query.range {
        rows.upper = plain(&rows.upper).map_or(Bound::Unbounded, Bound::Included);
    }
}

pub(super) fn lower_exclusive(query: &mut Query) {
    if let KeyRange::Partition { rows, .. } = &mut query.range {
        rows.lower = plain(&rows.lower).map_or(Bound::Unbounded, Bound::Excluded);
    }
}

pub(super) fn by_prefix(query: &mut Query) {
    if let KeyRange::Partition { partition, rows } = &query.range
        && *rows == RowRange::all()
    {
        let from = Filter::compare("PartitionKey", Comparison::GreaterOrEqual, partition.as_str());
        let to = Filter::compare("PartitionKey", Comparison::Less, format!("{partition}\u{ffff}"));
        query.range = KeyRange::table();
        query.filter = Some(from.and(to));
    }
}

pub(super) fn legal_bounds<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    if let KeyRange::Partition { rows, .. } = &query.range
        && [&rows.lower, &rows.upper].into_iter().filter_map(plain).any(|key| validate::row_key(&key).is_err())
    {
        return refuse("the bound is not a key");
    }
    store.query(query)
}

pub(super) fn whole_table(query: &mut Query) {
    if let KeyRange::Table { .. } = query.range {
        query.range = KeyRange::table();
    }
}

pub(super) fn lose_empty_partition(query: &Query, page: &mut Page) {
    if let KeyRange::Table { .. } = query.range {
        page.rows.retain(|row| !row.key.partition.is_empty());
    }
}

pub(super) fn select_all(query: &mut Query) {
    query.select = None;
}

pub(super) fn select_something(query: &mut Query) {
    query.select = query.select.take().filter(|select| !select.is_empty());
}

pub(super) fn no_selection_of_exact(query: &mut Query) {
    if is_exact(query) {
        query.select = None;
    }
}

pub(super) fn filter_after_select(query: &Query, page: &mut Page) {
    if let Some(filter) = &query.filter {
        page.rows.retain(|row| filter.matches(row));
    }
}

pub(super) fn no_limit(query: &mut Query) {
    query.limit = limits::MAX_PAGE_ROWS;
}

pub(super) fn one_page<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move { Ok(Page { rows: store.query_all(query).await?, continuation: None }) })
}

/// The page, with the continuation of a page of another size.
async fn continued(store: &MemoryStore, query: &Query, limit: usize) -> Result<Page, StoreError> {
    let mut page = store.query(query).await?;
    if page.continuation.is_some() {
        page.continuation = store.query(&query.clone().limited(limit)).await?.continuation;
    }
    Ok(page)
}

pub(super) fn inclusive<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(continued(store, query, query.limit.saturating_sub(1).max(1)))
}

pub(super) fn skipping<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(continued(store, query, (query.limit + 1).min(limits::MAX_PAGE_ROWS)))
}

pub(super) fn by_offset<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let token = query.continuation.as_ref().map_or("0", Continuation::as_str);
        let Ok(offset) = token.parse::<usize>() else { return refuse("no number").await };
        let mut rows = store.query_all(&Query { continuation: None, ..query.clone() }).await?;
        let end = rows.len().min(offset + query.limit);
        let continuation = (end < rows.len()).then(|| Continuation::new(end.to_string()));
        Ok(Page { rows: rows.drain(offset.min(end)..end).collect(), continuation })
    })
}

pub(super) fn sticky_limit<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut inner = query.clone();
        if let Some(continuation) = &query.continuation {
            let (limit, token) = continuation.as_str().split_once('.').unwrap_or_default();
            if limit != query.limit.to_string() {
                return refuse("another limit").await;
            }
            inner.continuation = Some(Continuation::new(token));
        }
        let mut page = store.query(&inner).await?;
        let sticky = |token: Continuation| Continuation::new(format!("{}.{}", query.limit, token.as_str()));
        page.continuation = page.continuation.map(sticky);
        Ok(page)
    })
}

pub(super) fn forgiving<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        match store.query(query).await {
            Err(error) if error.kind() == StoreErrorKind::InvalidInput => {
                store.query(&Query { continuation: None, ..query.clone() }).await
            }
            result => result,
        }
    })
}

pub(super) fn bounded_at_first<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut open = query.clone();
        match &mut open.range {
            KeyRange::Partition { rows, .. } => rows.upper = Bound::Unbounded,
            KeyRange::Table { before_partition, .. } => *before_partition = None,
        }
        let mut page = store.query(&open).await?;
        page.rows.retain(|row| query.continuation.is_some() || query.range.contains(&row.key));
        Ok(page)
    })
}

pub(super) fn selected_at_first<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut page = store.query(&Query { select: None, ..query.clone() }).await?;
        if let (Some(select), None) = (&query.select, &query.continuation) {
            let is_selected = |name: &str| select.iter().any(|selected| selected.as_str() == name);
            page.rows.iter_mut().for_each(|row| row.properties.retain(is_selected));
        }
        Ok(page)
    })
}

pub(super) fn end_by_bytes(_: &Query, page: &mut Page) {
    let (mut bytes, count) = (0, page.rows.len());
    page.rows.retain(|row| {
        bytes += size::row_bytes(&row.key.partition, &row.key.row, &row.properties);
        bytes <= 5 << 20
    });
    if page.rows.len() < count {
        page.continuation = None;
    }
}

pub(super) fn end(_: &Query, page: &mut Page) {
    page.continuation = None;
}

pub(super) fn go_on(_: &Query, page: &mut Page) {
    page.rows.clear();
    page.continuation = Some(Continuation::new("on"));
}

pub(super) fn never_end<'a>(store: &'a MemoryStore, query: &'a Query) -> Answer<'a, Page> {
    Box::pin(async move {
        let mut page = store.query(query).await?;
        page.continuation = page.continuation.or_else(|| query.continuation.clone());
        Ok(page)
    })
}
