//! Clauses of one batch: all or nothing, its rules, its receipts.
//!
//! Several batches in one commit are looked at elsewhere.

use super::{
    Broken,
    bench::{Bench, Table, keys_in, n, one},
    broken::{ensure, ensure_eq, refused, refused_at},
};
use crate::{
    Action, Batch, Condition, KeyRange, Operation, Properties, StoreErrorKind::*, Value, limits, size::batch_bytes,
};

type Checked = Result<(), Broken>;

pub(super) async fn a_batch_of_every_action_commits_as_one(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["delete", "merge", "replace", "upmerge", "upreplace"])).await?;
    let current = Condition::Match(table.row("p", "replace").await?.etag);
    let batch = table
        .batch("p")
        .with("insert", Action::Insert(n(10)))
        .with("replace", Action::Replace(one("M", 11), current))
        .with("merge", Action::Merge(one("M", 12), Condition::Exists))
        .with("upreplace", Action::InsertOrReplace(one("M", 13)))
        .with("upmerge", Action::InsertOrMerge(one("M", 14)))
        .with("delete", Action::Delete(Condition::Exists));
    ensure_eq!(table.commit(batch).await?.len(), 6, "the number of receipts");
    let both = |number, merged| Some(Properties::from_iter([("N", number), ("M", merged)]));
    ensure_eq!(table.properties("p", "insert").await?, Some(n(10)), "the inserted row");
    ensure_eq!(table.properties("p", "replace").await?, Some(one("M", 11)), "the replaced row");
    ensure_eq!(table.properties("p", "merge").await?, both(1, 12), "the merged row");
    ensure_eq!(table.properties("p", "upreplace").await?, Some(one("M", 13)), "the inserted-or-replaced row");
    ensure_eq!(table.properties("p", "upmerge").await?, both(3, 14), "the inserted-or-merged row");
    ensure_eq!(table.get("p", "delete").await?, None, "the deleted row");
    Ok(())
}

/// One good operation of each action, where the rows `b` to `e` exist, and `a` and `f` do not.
fn good() -> [Operation; 6] {
    let actions = [
        ("a", Action::Insert(n(1))),
        ("b", Action::Delete(Condition::Exists)),
        ("c", Action::Replace(n(1), Condition::Exists)),
        ("d", Action::Merge(one("M", 1), Condition::Exists)),
        ("e", Action::InsertOrMerge(one("M", 1))),
        ("f", Action::InsertOrReplace(n(1))),
    ];
    actions.map(|(row, action)| Operation { row: row.to_owned(), action })
}

/// Commits good operations with `bad` at each place among them: nothing may be written, the place is named.
async fn undone_at_every_place(table: &Table<'_>, bad: Operation, kind: crate::StoreErrorKind) -> Checked {
    for row in ["b", "c", "d", "e"] {
        table.act("p", row, Action::InsertOrReplace(n(0))).await?;
    }
    let before = table.rows(&table.query(KeyRange::table())).await?;
    for place in 0..=good().len() {
        let mut operations = Vec::from(good());
        operations.insert(place, bad.clone());
        let batch = Batch { operations, ..table.batch("p") };
        let what = format!("a batch with a bad {} at place {place}", bad.action.verb());
        refused_at(table.commit(batch).await, kind, (0, place), &what)?;
        let after = table.rows(&table.query(KeyRange::table())).await?;
        let lost = before.iter().filter(|row| !after.contains(row));
        let changed: Vec<_> =
            lost.chain(after.iter().filter(|row| !before.contains(row))).map(|row| &row.key).collect();
        ensure!(changed.is_empty(), "{what} must leave all rows as they were, but changed {changed:?}");
    }
    Ok(())
}

pub(super) async fn a_failing_operation_undoes_the_batch_and_is_named(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let stale = table.insert("p", "there", n(0)).await?.etag.map_or(Condition::Exists, Condition::Match);
    table.act("p", "there", Action::Replace(n(1), Condition::Exists)).await?;
    let cases = [
        ("there", Action::Insert(n(2)), RowExists),
        ("missing", Action::Replace(n(2), Condition::Exists), RowNotFound),
        ("missing", Action::Merge(n(2), Condition::Exists), RowNotFound),
        ("missing", Action::Delete(Condition::Exists), RowNotFound),
        ("there", Action::Replace(n(2), stale.clone()), ConditionNotMet),
        ("there", Action::Merge(n(2), stale.clone()), ConditionNotMet),
        ("there", Action::Delete(stale), ConditionNotMet),
    ];
    for (row, action, kind) in cases {
        undone_at_every_place(&table, Operation { row: row.to_owned(), action }, kind).await?;
    }
    Ok(())
}

pub(super) async fn an_invalid_operation_undoes_the_batch_and_is_named(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let cases = [
        ("a/b", n(1), InvalidInput),
        ("r", one("Not-a-name", 1), InvalidInput),
        ("r", one("Big", vec![0; limits::MAX_BINARY_BYTES + 1]), TooLarge),
    ];
    for (row, properties, kind) in cases {
        let bad = Operation { row: row.to_owned(), action: Action::InsertOrReplace(properties) };
        undone_at_every_place(&table, bad, kind).await?;
    }
    Ok(())
}

pub(super) async fn a_merge_over_a_limit_undoes_the_batch_and_is_named(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let many = (0..limits::MAX_PROPERTIES).map(|i| (format!("P{i}"), Value::Int32(1)));
    table.insert("p", "many", many.collect()).await?;
    let full = || Value::Binary(vec![7; limits::MAX_BINARY_BYTES]);
    table.insert("p", "large", (0..15).map(|i| (format!("P{i}"), full())).collect()).await?;
    for (row, over) in [("many", one("Over", 1)), ("large", one("Over", full()))] {
        for action in [Action::Merge(over.clone(), Condition::Exists), Action::InsertOrMerge(over)] {
            undone_at_every_place(&table, Operation { row: row.to_owned(), action }, TooLarge).await?;
        }
    }
    Ok(())
}

pub(super) async fn an_empty_batch_is_refused(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    refused(table.commit(table.batch("p")).await, InvalidBatch, "a batch without operations")?;
    Ok(())
}

pub(super) async fn no_batches_at_all_are_nothing_to_do(bench: &Bench) -> Checked {
    ensure!(bench.store().commit(&[]).await?.is_empty(), "a commit of no batches gives no receipts");
    Ok(())
}

fn inserts(table: &Table<'_>, count: i32) -> Batch {
    (0..count).fold(table.batch("p"), |batch, i| batch.with(format!("{i:03}"), Action::Insert(n(i))))
}

pub(super) async fn a_batch_may_have_100_operations_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    refused_at(table.commit(inserts(&table, 101)).await, InvalidBatch, (0, 100), "a batch of 101 operations")?;
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [], "the rows after a refused batch");
    ensure_eq!(table.commit(inserts(&table, 100)).await?.len(), 100, "the receipts of 100 operations");
    ensure_eq!(table.rows(&table.query(KeyRange::partition("p"))).await?.len(), 100, "the rows of 100 operations");
    Ok(())
}

/// Six rows whose batch has exactly `bytes` bytes.
fn sized(table: &Table<'_>, bytes: usize) -> Batch {
    let full = || Value::String("x".repeat(limits::MAX_STRING_CHARS));
    let row = |count| (0..count).map(|i| (format!("P{i:02}"), full())).collect::<Properties>();
    let rows = |last: String| {
        let batch = (0..8).fold(table.batch("p"), |batch, i| batch.with(format!("{i}"), Action::Insert(row(15))));
        let tail = row(7).into_iter().chain([("Q".into(), Value::String(last))]).collect();
        batch.with("8", Action::Insert(tail))
    };
    let missing = bytes.saturating_sub(batch_bytes(&rows(String::new())));
    rows("x".repeat(missing))
}

pub(super) async fn a_batch_may_have_4_mib_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let over = sized(&table, limits::MAX_BATCH_BYTES + 1);
    ensure_eq!(batch_bytes(&over), limits::MAX_BATCH_BYTES + 1, "the size of the larger batch");
    refused(table.commit(over).await, TooLarge, "a batch of 4 MiB and a byte")?;
    ensure_eq!(table.get("p", "0").await?, None, "a row of the refused batch");
    let most = sized(&table, limits::MAX_BATCH_BYTES);
    ensure_eq!(batch_bytes(&most), limits::MAX_BATCH_BYTES, "the size of the largest batch");
    table.commit(most).await?;
    ensure!(table.get("p", "8").await?.is_some(), "the rows of the largest batch must be written");
    Ok(())
}

pub(super) async fn a_row_may_come_once_and_its_second_operation_is_named(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "there", n(0)).await?;
    let (delete, insert) = (|| Action::Delete(Condition::Exists), || Action::Insert(n(1)));
    let cases = [
        (table.batch("p").with("a", insert()).with("a", insert()), 1),
        (table.batch("p").with("there", delete()).with("there", insert()), 1),
        (table.batch("p").with("b", insert()).with("a", insert()).with("c", insert()).with("b", insert()), 3),
        (table.batch("p").with("z", insert()).with("a", insert()).with("a", insert()).with("z", insert()), 2),
    ];
    for (batch, second) in cases {
        let rows: Vec<_> = batch.operations.iter().map(|operation| operation.row.clone()).collect();
        let what = format!("a batch of the rows {rows:?}");
        refused_at(table.commit(batch).await, InvalidBatch, (0, second), &what)?;
    }
    let keys = table.keys(&table.query(KeyRange::table())).await?;
    ensure_eq!(keys, keys_in("p", &["there"]), "the rows after refused batches");
    Ok(())
}

pub(super) async fn rows_that_differ_in_case_are_two(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.commit(table.batch("p").with("a", Action::Insert(n(1))).with("A", Action::Insert(n(2)))).await?;
    ensure_eq!(table.properties("p", "a").await?, Some(n(1)), "row a");
    ensure_eq!(table.properties("p", "A").await?, Some(n(2)), "row A");
    Ok(())
}

pub(super) async fn operations_need_no_order(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let rows = ["m", "z", "a", "", "\u{10437}", "k"];
    let batch = rows.into_iter().fold(table.batch("p"), |batch, row| batch.with(row, Action::Insert(n(1))));
    table.commit(batch).await?;
    ensure_eq!(table.rows(&table.query(KeyRange::partition("p"))).await?.len(), rows.len(), "the number of rows");
    Ok(())
}

pub(super) async fn receipts_come_in_the_order_of_operations(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "gone", n(0)).await?;
    let batch = table
        .batch("p")
        .with("z", Action::Insert(n(1)))
        .with("gone", Action::Delete(Condition::Exists))
        .with("a", Action::Insert(n(2)));
    let receipts = table.commit(batch).await?;
    let etags: Vec<_> = receipts.into_iter().map(|written| written.etag).collect();
    let (z, a) = (table.row("p", "z").await?.etag, table.row("p", "a").await?.etag);
    ensure_eq!(etags, [Some(z), None, Some(a)], "the ETags of the receipts, against those read");
    Ok(())
}

pub(super) async fn a_patient_commit_is_a_commit(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let batch = || [table.batch("p").with("a", Action::Insert(n(1))).with("b", Action::Insert(n(2)))];
    let receipts = bench.store().commit_patiently(&batch()).await?;
    let told: Vec<_> = receipts.iter().flatten().map(|written| written.etag.clone()).collect();
    let mut there = Vec::new();
    for row in ["a", "b"] {
        there.push(Some(table.row("p", row).await?.etag));
    }
    ensure_eq!(told, there, "the ETags of the receipts");
    let again = bench.store().commit_patiently(&batch()).await;
    refused_at(again, RowExists, (0, 0), "a patient commit of rows that are there")?;
    table.act("p", "a", Action::Delete(Condition::Exists)).await?;
    let half = bench.store().commit_patiently(&batch()).await;
    refused_at(half, RowExists, (0, 1), "a patient commit of a row that is there behind one that is not")?;
    ensure_eq!(table.get("p", "a").await?, None, "the row of a patient commit that was refused");
    Ok(())
}

pub(super) async fn an_owned_commit_is_a_commit(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let batch = || vec![table.batch("p").with("a", Action::Insert(n(1))).with("b", Action::Insert(n(2)))];
    let receipts = bench.store().commit_owned(batch()).await?;
    let told: Vec<_> = receipts.iter().flatten().map(|written| written.etag.clone()).collect();
    let there = [Some(table.row("p", "a").await?.etag), Some(table.row("p", "b").await?.etag)];
    ensure_eq!(told, there, "the ETags of the receipts");
    let again = bench.store().commit_owned(batch()).await;
    refused_at(again, RowExists, (0, 0), "an owned commit of rows that are there")?;
    table.act("p", "a", Action::Delete(Condition::Exists)).await?;
    let half = bench.store().commit_owned(batch()).await;
    refused_at(half, RowExists, (0, 1), "an owned commit of a row that is there behind one that is not")?;
    ensure_eq!(table.get("p", "a").await?, None, "the row of an owned commit that was refused");
    let nothing = bench.store().commit_owned(Vec::new()).await?;
    ensure_eq!(nothing.len(), 0, "the receipts of an owned commit of nothing");
    Ok(())
}
