//! Clauses of pages: limits, continuations, and what changes between pages.
//!
//! A page may be short or empty although more follow; only a missing continuation ends a query.

use std::ops::Bound;

use super::{
    Broken,
    bench::{Bench, MAX_PAGES, Table, endless, keys_in, n},
    broken::{ensure, ensure_eq, refused},
};
use crate::{
    Action, Comparison, Condition, Continuation, Filter, KeyRange, Query, RowRange, StoreErrorKind::InvalidInput,
    Value, key::RowKey, limits,
};

type Checked = Result<(), Broken>;

/// Rows `00` to `19` of partition `p`.
fn twenty() -> Vec<RowKey> {
    (0..20).map(|i| RowKey::new("p", format!("{i:02}"))).collect()
}

async fn filled(bench: &Bench) -> Result<Table<'_>, Broken> {
    let table = bench.table().await?;
    table.fill(&twenty()).await?;
    Ok(table)
}

/// The rows of pages up to the first `count` rows, and the query that goes on from there.
async fn first_rows(table: &Table<'_>, mut query: Query, count: usize) -> Result<(Vec<RowKey>, Query), Broken> {
    let mut keys = Vec::new();
    for _ in 0..MAX_PAGES {
        let page = table.page(&query).await?;
        keys.extend(page.rows.into_iter().map(|row| row.key));
        let Some(continuation) = page.continuation else {
            return Err(Broken::new(format!("the query ended after {} of 20 rows", keys.len())));
        };
        query.continuation = Some(continuation);
        if keys.len() >= count {
            return Ok((keys, query));
        }
    }
    Err(endless())
}

pub(super) async fn a_limit_outside_1_to_1000_is_refused(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    for limit in [0, 1001, usize::MAX] {
        let page = table.page(&table.query(KeyRange::table()).limited(limit)).await;
        refused(page, InvalidInput, &format!("a limit of {limit}"))?;
    }
    for limit in [1, 1000] {
        table.page(&table.query(KeyRange::table()).limited(limit)).await?;
    }
    Ok(())
}

pub(super) async fn a_page_never_exceeds_its_limit(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    for limit in [1, 2, 19, 20, 21] {
        for page in table.pages(&table.query(KeyRange::table()).limited(limit)).await? {
            ensure!(page.rows.len() <= limit, "a page has {} rows, its limit is {limit}", page.rows.len());
        }
    }
    Ok(())
}

pub(super) async fn pages_give_each_row_once_for_any_limit(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    table.fill(&keys_in("q", &["", "a"])).await?;
    let mut keys = twenty();
    for limit in [1, 2, 3, 7, 20, 1000] {
        let found = table.keys(&table.query(KeyRange::partition("p")).limited(limit)).await?;
        ensure_eq!(found, keys, "the partition in pages of {limit}");
    }
    keys.extend(keys_in("q", &["", "a"]));
    for limit in [1, 2, 3, 7, 20, 21, 22, 1000] {
        let found = table.keys(&table.query(KeyRange::table()).limited(limit)).await?;
        ensure_eq!(found, keys, "the table in pages of {limit}");
    }
    Ok(())
}

pub(super) async fn the_last_page_has_no_continuation(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    for limit in [19, 20, 21] {
        let pages = table.pages(&table.query(KeyRange::table()).limited(limit)).await?;
        let (last, earlier) = pages.split_last().ok_or_else(|| Broken::new("a query must give a page"))?;
        ensure_eq!(last.continuation, None, "the continuation of the last page at limit {limit}");
        ensure!(earlier.iter().all(|page| page.continuation.is_some()), "an earlier page must have a continuation");
    }
    Ok(())
}

pub(super) async fn a_range_and_a_selection_hold_over_pages(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    table.fill(&keys_in("q", &["", "a"])).await?;
    let rows = RowRange { lower: Bound::Included("03".into()), upper: Bound::Excluded("11".into()) };
    let slice = KeyRange::Table { after: Some(RowKey::new("p", "02")), before_partition: Some("q".into()) };
    for range in [KeyRange::rows("p", rows), slice] {
        let expected: Vec<_> = twenty().into_iter().filter(|key| range.contains(key)).collect();
        for limit in [1, 2, 3, 7, 8, 17] {
            let query = Query { select: Some(Vec::new()), ..table.query(range.clone()).limited(limit) };
            ensure_eq!(table.keys(&query).await?, expected, "the rows of {range:?} in pages of {limit}");
            let bare = table.rows(&query).await?.iter().all(|row| row.properties.is_empty());
            ensure!(bare, "what is not selected must not come in any page of {limit}");
        }
    }
    Ok(())
}

pub(super) async fn no_page_loses_large_rows(bench: &Bench) -> Checked {
    const ROWS: usize = 10;
    let table = bench.table().await?;
    let full = |i| (format!("P{i}"), Value::Binary(vec![7; limits::MAX_BINARY_BYTES]));
    let keys: Vec<_> = (0..ROWS).map(|row| RowKey::new("p", row.to_string())).collect();
    for key in &keys {
        table.insert("p", &key.row, (0..15).map(full).collect()).await?;
    }
    ensure_eq!(table.keys(&table.query(KeyRange::table())).await?, keys, "the rows, each of nearly 1 MiB");
    Ok(())
}

pub(super) async fn more_than_1000_rows_come_in_several_pages(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let names: Vec<_> = (0..1100).map(|i| format!("{i:04}")).collect();
    for chunk in names.chunks(100) {
        let batch = chunk.iter().fold(table.batch("p"), |batch, row| batch.with(row, Action::Insert(n(1))));
        table.commit(batch).await?;
    }
    let expected: Vec<_> = names.iter().map(|row| RowKey::new("p", row)).collect();
    ensure!(table.keys(&table.query(KeyRange::table())).await? == expected, "all 1,100 rows must come, each once");
    ensure!(table.pages(&table.query(KeyRange::table())).await?.len() > 1, "1,100 rows must not come in one page");
    Ok(())
}

pub(super) async fn the_limit_may_change_between_pages(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let (mut keys, query) = first_rows(&table, table.query(KeyRange::table()).limited(3), 3).await?;
    keys.extend(table.keys(&query.limited(5)).await?);
    keys.sort();
    ensure_eq!(keys, twenty(), "the rows of pages of 3 and then 5");
    Ok(())
}

pub(super) async fn deletes_between_pages_lose_no_other_row(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let (read, query) = first_rows(&table, table.query(KeyRange::table()).limited(4), 4).await?;
    let rest: Vec<_> = twenty().into_iter().filter(|key| !read.contains(key)).collect();
    let next = rest.first().cloned();
    for key in read.iter().chain(&next) {
        table.act(&key.partition, &key.row, Action::Delete(Condition::Exists)).await?;
    }
    let expected: Vec<_> = rest.into_iter().skip(1).collect();
    ensure_eq!(table.keys(&query).await?, expected, "the rows after the rows at the page's end were deleted");
    Ok(())
}

pub(super) async fn inserts_between_pages_repeat_no_row(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let (read, query) = first_rows(&table, table.query(KeyRange::table()).limited(4), 4).await?;
    table.fill(&keys_in("a", &["before"])).await?;
    table.fill(&keys_in("p", &["00!", "20"])).await?;
    let found = table.keys(&query).await?;
    ensure!(read.iter().all(|key| !found.contains(key)), "no row of the first page may come again");
    let rest = twenty().into_iter().filter(|key| !read.contains(key));
    for key in rest {
        let times = found.iter().filter(|found| **found == key).count();
        ensure_eq!(times, 1, "how often {key} comes after inserts between pages");
    }
    Ok(())
}

pub(super) async fn a_continuation_of_another_query_is_refused(bench: &Bench) -> Checked {
    let (table, other) = (filled(bench).await?, filled(bench).await?);
    let (read, query) = first_rows(&table, table.query(KeyRange::partition("p")).limited(4), 4).await?;
    let upper = RowRange { upper: std::ops::Bound::Excluded("15".to_owned()), ..RowRange::all() };
    let others = [
        ("another table", Query { table: other.name.clone(), ..query.clone() }),
        ("another partition", Query { range: KeyRange::partition("q"), ..query.clone() }),
        ("another range of rows", Query { range: KeyRange::rows("p", upper), ..query.clone() }),
        ("the whole table", Query { range: KeyRange::table(), ..query.clone() }),
        ("another filter", query.clone().filtered(Filter::compare("N", Comparison::Less, 10))),
    ];
    for (what, other) in others {
        refused(table.page(&other).await, InvalidInput, &format!("a continuation used for {what}"))?;
    }
    let rest: Vec<_> = twenty().into_iter().filter(|key| !read.contains(key)).collect();
    ensure_eq!(table.keys(&query).await?, rest, "the rest of the query it was made for");
    Ok(())
}

pub(super) async fn a_continuation_of_nobody_is_refused(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let (_, query) = first_rows(&table, table.query(KeyRange::table()).limited(4), 4).await?;
    let real = query.continuation.as_ref().map_or("", Continuation::as_str);
    let cut: String = real.chars().take(real.chars().count() / 2).collect();
    for text in ["", "x", "%%%", "AAAAAAAAAAAAAAAAAAAAAAAA", &cut] {
        let forged = Query { continuation: Some(Continuation::new(text)), ..query.clone() };
        refused(table.page(&forged).await, InvalidInput, &format!("the continuation {text:?}"))?;
    }
    Ok(())
}

pub(super) async fn pages_shown_hold_the_rows(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let middle = KeyRange::rows("p", RowRange { lower: Bound::Excluded("03".into()), upper: Bound::Unbounded });
    let first = Filter::compare("RowKey", Comparison::Less, "11");
    let exact = table.query(KeyRange::rows("p", RowRange::exactly("11")));
    for query in [
        table.query(KeyRange::table()),
        table.query(middle),
        table.query(KeyRange::table()).filtered(first.clone()),
        exact.clone(),
        exact.filtered(first),
    ] {
        for limit in [1, 7, 20, 1000] {
            let query = query.clone().limited(limit);
            if let Some(shown) = table.shown_rows(&query)? {
                ensure_eq!(shown, table.rows(&query).await?, "the rows shown in pages of {limit}, against the rows");
            }
        }
    }
    Ok(())
}

pub(super) async fn a_page_shown_ends_at_the_row_where_it_is_told_to(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let first = Filter::compare("RowKey", Comparison::Less, "11");
    for query in [table.query(KeyRange::table()), table.query(KeyRange::partition("p")).filtered(first)] {
        for stop in [1, 3, 10] {
            if let Some(shown) = table.shown_until(&query, stop)? {
                ensure_eq!(shown, stop, "how many rows are shown up to the one at which it is told to stop");
            }
        }
    }
    Ok(())
}

pub(super) async fn a_page_is_not_shown_where_a_query_is_refused(bench: &Bench) -> Checked {
    let table = filled(bench).await?;
    let all = table.query(KeyRange::table());
    let (_, middle) = first_rows(&table, all.clone().limited(4), 4).await?;
    let forged = Query { continuation: Some(Continuation::new("x")), ..all.clone() };
    let queries = [
        ("a limit of 0", all.clone().limited(0)),
        ("a limit of 1001", all.clone().limited(1001)),
        ("a continuation of nobody", forged),
        ("a continuation of another query", Query { range: KeyRange::partition("p"), ..middle }),
    ];
    for (what, query) in queries {
        if let Some(told) = table.show_page(&query) {
            refused(told, InvalidInput, &format!("a page shown with {what}"))?;
        }
    }
    let shown = table.show_page(&Query { select: Some(vec!["N".into()]), ..all });
    ensure!(shown.is_none(), "rows are shown whole, and not for a query with a projection: {shown:?}");
    Ok(())
}
