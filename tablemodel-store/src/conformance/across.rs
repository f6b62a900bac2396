//! Clauses of commits of several batches, for stores that declare `atomic_across`.
//!
//! What holds inside one batch is not repeated here.

use super::{
    Broken,
    bench::{Bench, Table, keys_in, n, together},
    broken::{ensure, ensure_eq, refused_at},
};
use crate::{Action, Batch, Condition, KeyRange, Properties, Receipts, Row, StoreError, StoreErrorKind::*, limits};

type Checked = Result<(), Broken>;

pub(super) async fn batches_of_several_tables_and_partitions_commit_as_one(bench: &Bench) -> Checked {
    let (one, other) = (bench.table().await?, bench.table().await?);
    one.insert("q", "old", n(0)).await?;
    let batches = [
        one.batch("p").with("r", Action::Insert(n(1))).with("s", Action::Insert(n(2))),
        one.batch("q").with("old", Action::Delete(Condition::Exists)),
        other.batch("p").with("r", Action::Insert(n(3))),
    ];
    let receipts = bench.store().commit(&batches).await?;
    let counts: Vec<_> = receipts.iter().map(Vec::len).collect();
    ensure_eq!(counts, [2, 1, 1], "the receipts for each batch");
    ensure_eq!(one.properties("p", "s").await?, Some(n(2)), "a row of the first batch");
    ensure_eq!(one.get("q", "old").await?, None, "the row that the second batch deleted");
    let row = other.row("p", "r").await?;
    let etag = receipts.get(2).and_then(|batch| batch.first()).and_then(|written| written.etag.clone());
    ensure_eq!((row.properties, Some(row.etag)), (n(3), etag), "the row of the third batch, with its receipt");
    Ok(())
}

async fn all_rows([one, other]: [&Table<'_>; 2]) -> Result<[Vec<Row>; 2], Broken> {
    Ok([one.rows(&one.query(KeyRange::table())).await?, other.rows(&other.query(KeyRange::table())).await?])
}

pub(super) async fn a_failing_batch_undoes_the_others_and_is_named(bench: &Bench) -> Checked {
    let (one, other) = (bench.table().await?, bench.table().await?);
    one.fill(&keys_in("p", &["gone", "merged"])).await?;
    other.insert("p", "full", (0..limits::MAX_PROPERTIES).map(|i| (format!("P{i}"), 1)).collect()).await?;
    let before = all_rows([&one, &other]).await?;
    for (bad, kind) in [(Action::Insert(n(1)), RowExists), (Action::Merge(n(1), Condition::Exists), TooLarge)] {
        let what = format!("a commit whose second batch has a bad {}", bad.verb());
        let first = one.batch("p").with("r", Action::Insert(n(1))).with("gone", Action::Delete(Condition::Exists));
        let batches = [
            first.with("merged", Action::Merge(n(9), Condition::Exists)),
            other.batch("p").with("new", Action::Insert(n(1))).with("full", bad),
            one.batch("q").with("r", Action::Insert(n(1))),
        ];
        refused_at(bench.store().commit(&batches).await, kind, (1, 1), &what)?;
        ensure!(all_rows([&one, &other]).await? == before, "{what} must leave all rows as they were");
    }
    Ok(())
}

/// By a call like `commit`, two batches of which the second fails write nothing, and two good ones all that they hold.
async fn stand_or_fall_together<F>(bench: &Bench, call: &str, commit: impl Fn(Vec<Batch>) -> F) -> Checked
where
    F: Future<Output = Result<Vec<Receipts>, StoreError>> + Send,
{
    let (one, other) = (bench.table().await?, bench.table().await?);
    other.insert("q", "there", n(0)).await?;
    let batches = |last: &str| {
        let first = one.batch("p").with("r", Action::Insert(n(1))).with("s", Action::Insert(n(2)));
        vec![first, other.batch("q").with(last, Action::Insert(n(3)))]
    };
    refused_at(commit(batches("there")).await, RowExists, (1, 0), &format!("{call} whose second batch fails"))?;
    for row in ["r", "s"] {
        ensure_eq!(one.get("p", row).await?, None, "row {row} of the first batch after {call} that was refused");
    }
    let receipts = commit(batches("new")).await?;
    let told: Vec<Vec<_>> =
        receipts.into_iter().map(|batch| batch.into_iter().map(|written| written.etag).collect()).collect();
    let (r, s, new) = (one.row("p", "r").await?, one.row("p", "s").await?, other.row("q", "new").await?);
    let there = [vec![Some(r.etag), Some(s.etag)], vec![Some(new.etag)]];
    ensure_eq!(told, there, "the ETags of the receipts of {call}");
    Ok(())
}

pub(super) async fn a_patient_commit_of_several_batches_is_one(bench: &Bench) -> Checked {
    let commit = |batches: Vec<Batch>| async move { bench.store().commit_patiently(&batches).await };
    stand_or_fall_together(bench, "a patient commit", commit).await
}

pub(super) async fn an_owned_commit_of_several_batches_is_one(bench: &Bench) -> Checked {
    stand_or_fall_together(bench, "an owned commit", |batches| bench.store().commit_owned(batches)).await
}

pub(super) async fn an_invalid_batch_undoes_the_others_and_is_named(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let batches = [
        table.batch("p").with("r", Action::Insert(n(1))),
        table.batch("q").with("r", Action::Insert(n(1))).with("a/b", Action::Insert(n(1))),
    ];
    let committed = bench.store().commit(&batches).await;
    refused_at(committed, InvalidInput, (1, 1), "a commit whose second batch has a forbidden key")?;
    ensure_eq!(table.get("p", "r").await?, None, "the row of the first batch");
    Ok(())
}

pub(super) async fn a_missing_table_undoes_the_others_and_is_named(bench: &Bench) -> Checked {
    let (table, mut missing) = (bench.table().await?, bench.table().await?);
    missing.name = bench.name();
    let batches =
        [table.batch("p").with("r", Action::Insert(n(1))), missing.batch("p").with("r", Action::Insert(n(1)))];
    let committed = bench.store().commit(&batches).await;
    refused_at(committed, TableNotFound, (1, 0), "a commit whose second batch names a missing table")?;
    ensure_eq!(table.get("p", "r").await?, None, "the row of the first batch");
    Ok(())
}

pub(super) async fn a_row_may_come_once_over_all_batches(bench: &Bench) -> Checked {
    let mut table = bench.table().await?;
    let first = table.batch("p").with("b", Action::Insert(n(1))).with("a", Action::Insert(n(1)));
    table.name = table.name.to_uppercase();
    let second = table.batch("p").with("c", Action::Insert(n(2))).with("a", Action::InsertOrReplace(n(2)));
    let committed = bench.store().commit(&[first, second]).await;
    refused_at(committed, InvalidBatch, (1, 1), "a row in two batches, whose tables differ in case")?;
    ensure_eq!(table.get("p", "a").await?, None, "the row");
    Ok(())
}

pub(super) async fn a_partition_may_come_in_several_batches(bench: &Bench) -> Checked {
    let (table, other) = (bench.table().await?, bench.table().await?);
    let mut batches: Vec<_> = ["a", "b", "c"].map(|row| table.batch("p").with(row, Action::Insert(n(1)))).into();
    batches.push(other.batch("p").with("a", Action::Insert(n(1))));
    batches.push(table.batch("q").with("a", Action::Insert(n(1))));
    bench.store().commit(&batches).await?;
    for row in ["a", "b", "c"] {
        ensure!(table.get("p", row).await?.is_some(), "row {row} must be written");
    }
    ensure!(other.get("p", "a").await?.is_some(), "the same key in another table is another row");
    ensure!(table.get("q", "a").await?.is_some(), "the same row key in another partition is another row");
    Ok(())
}

/// Lets writers put the same rows of two partitions, each with its number, at once; every second in the other order.
async fn written_at_once(
    bench: &Bench,
    table: &Table<'_>,
    action: fn(Properties) -> Action,
) -> Vec<Result<Vec<Receipts>, StoreError>> {
    const WRITERS: i32 = 16;
    let write = |writer: i32| {
        let mut batches = ["p", "q"].map(|partition| table.batch(partition).with("r", action(n(writer))));
        if writer % 2 == 1 {
            batches.reverse();
        }
        async move { bench.store().commit(&batches).await }
    };
    together((0..WRITERS).map(write).collect()).await
}

pub(super) async fn one_of_many_inserts_over_partitions_wins(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let outcomes = written_at_once(bench, &table, Action::Insert).await;
    let winners: Vec<_> = (0..).zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()).map(|(i, _)| i).collect();
    let &[winner] = &*winners else {
        return Err(Broken::new(format!("exactly one writer must win, but these did: {winners:?}")));
    };
    for error in outcomes.into_iter().filter_map(Result::err) {
        ensure_eq!(error.kind(), RowExists, "how the other writers fail");
    }
    for partition in ["p", "q"] {
        ensure_eq!(table.properties(partition, "r").await?, Some(n(winner)), "the row in `{partition}`, the winner's");
    }
    Ok(())
}

pub(super) async fn commits_over_partitions_do_not_mix(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for outcome in written_at_once(bench, &table, Action::InsertOrReplace).await {
        outcome?;
    }
    let [one, other] = [table.row("p", "r").await?, table.row("q", "r").await?];
    ensure_eq!(one.properties, other.properties, "the row in `p`, against that in `q`: one commit wrote both last");
    Ok(())
}
