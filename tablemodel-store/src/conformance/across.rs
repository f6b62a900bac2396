//! Clauses of commits of several batches, for stores that declare `atomic_across`.
//!
//! What holds inside one batch is not repeated here.

use super::{
    Broken,
    bench::{Bench, Table, n, together},
    broken::{ensure, ensure_eq, refused_at},
};
use crate::{Action, Condition, Properties, Receipts, StoreError, StoreErrorKind::*};

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

pub(super) async fn a_failing_batch_undoes_the_others_and_is_named(bench: &Bench) -> Checked {
    let (one, other) = (bench.table().await?, bench.table().await?);
    other.insert("p", "there", n(0)).await?;
    let batches = [
        one.batch("p").with("r", Action::Insert(n(1))),
        other.batch("p").with("new", Action::Insert(n(1))).with("there", Action::Insert(n(1))),
        one.batch("q").with("r", Action::Insert(n(1))),
    ];
    let committed = bench.store().commit(&batches).await;
    refused_at(committed, RowExists, (1, 1), "a commit whose second batch fails")?;
    for (table, partition, row) in [(&one, "p", "r"), (&other, "p", "new"), (&one, "q", "r")] {
        ensure_eq!(table.get(partition, row).await?, None, "({partition}, {row}) after the refused commit");
    }
    ensure_eq!(other.properties("p", "there").await?, Some(n(0)), "the row that was there");
    Ok(())
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
