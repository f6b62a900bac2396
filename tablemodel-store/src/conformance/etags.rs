//! Clauses of ETags: that one never stands for two states.
//!
//! What conditions do with them stands with the actions.

use std::collections::HashSet;

use super::{
    Broken,
    bench::{Bench, Table, keys_in, n},
    broken::{ensure, ensure_eq, refused},
};
use crate::{Action, Condition, ETag, Properties, StoreErrorKind::*};

type Checked = Result<(), Broken>;

async fn etag(table: &Table<'_>, row: &str) -> Result<ETag, Broken> {
    Ok(table.row("p", row).await?.etag)
}

pub(super) async fn every_write_gives_a_new_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let mut seen = HashSet::new();
    table.insert("p", "r", n(0)).await?;
    for number in 0..10 {
        for action in [
            Action::Replace(n(1), Condition::Exists),
            Action::Replace(n(1), Condition::Exists),
            Action::Merge(Properties::new(), Condition::Exists),
            Action::InsertOrReplace(n(1)),
            Action::InsertOrMerge(n(1)),
        ] {
            let verb = action.verb();
            let written = table.act("p", "r", action).await?;
            let current = etag(&table, "r").await?;
            ensure_eq!(written.etag.as_ref(), Some(&current), "the receipt's ETag of a {verb}");
            ensure!(seen.insert(current), "round {number}: the {verb} repeated an ETag");
        }
    }
    Ok(())
}

pub(super) async fn a_failed_write_leaves_the_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let before = etag(&table, "r").await?;
    refused(table.insert("p", "r", n(2)).await, RowExists, "inserting an existing row")?;
    let batch =
        table.batch("p").with("r", Action::InsertOrReplace(n(2))).with("gone", Action::Delete(Condition::Exists));
    refused(table.commit(batch).await, RowNotFound, "a batch that fails")?;
    ensure_eq!(etag(&table, "r").await?, before, "the ETag after failed writes");
    Ok(())
}

/// Writes under the ETag of an earlier life of row `r` must fail.
async fn is_stale(table: &Table<'_>, old: ETag) -> Checked {
    ensure!(etag(table, "r").await? != old, "the new row has the ETag of the old one");
    for action in [
        Action::Replace(n(9), Condition::Match(old.clone())),
        Action::Merge(n(9), Condition::Match(old.clone())),
        Action::Delete(Condition::Match(old)),
    ] {
        let what = format!("a {} under the ETag of an earlier life", action.verb());
        refused(table.act("p", "r", action).await, ConditionNotMet, &what)?;
    }
    Ok(())
}

pub(super) async fn a_row_deleted_and_inserted_again_has_a_new_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for _ in 0..5 {
        table.insert("p", "r", n(1)).await?;
        let old = etag(&table, "r").await?;
        table.act("p", "r", Action::Delete(Condition::Exists)).await?;
        table.insert("p", "r", n(1)).await?;
        is_stale(&table, old).await?;
        table.act("p", "r", Action::Delete(Condition::Exists)).await?;
    }
    Ok(())
}

pub(super) async fn a_table_deleted_and_made_again_repeats_no_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let old = etag(&table, "r").await?;
    bench.store().delete_table(&table.name).await?;
    bench.store().create_table(&table.name).await?;
    table.insert("p", "r", n(1)).await?;
    is_stale(&table, old).await
}

pub(super) async fn the_rows_of_a_batch_have_etags_of_their_own(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let rows = ["a", "b", "c"];
    let batch = rows.into_iter().fold(table.batch("p"), |batch, row| batch.with(row, Action::Insert(n(1))));
    table.commit(batch).await?;
    for key in keys_in("p", &rows) {
        let current = etag(&table, &key.row).await?;
        table.act("p", &key.row, Action::Replace(n(2), Condition::Match(current))).await?;
    }
    let a = etag(&table, "a").await?;
    table.act("p", "b", Action::Replace(n(3), Condition::Exists)).await?;
    ensure_eq!(etag(&table, "a").await?, a, "the ETag of a row after a write to its neighbour");
    Ok(())
}

pub(super) async fn an_etag_survives_its_text(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let current = etag(&table, "r").await?;
    let parsed = ETag::parse(&current.to_string());
    ensure_eq!(parsed, current, "the ETag parsed from its text");
    table.act("p", "r", Action::Replace(n(2), Condition::Match(parsed))).await?;
    Ok(())
}
