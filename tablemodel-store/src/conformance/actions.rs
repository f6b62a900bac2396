//! Clauses of single writes: each action against each state of its row.
//!
//! Batches of more than one operation are not looked at here.

use super::{
    Broken,
    bench::{Bench, Table, n, one},
    broken::{ensure, ensure_eq, refused},
};
use crate::{Action, Condition, DateTime, ETag, Properties, StoreErrorKind::*, Uuid, Value, limits};

type Checked = Result<(), Broken>;

/// A row written twice, with the ETags of both writes: the first is stale.
async fn rewritten(table: &Table<'_>) -> Result<(Condition, Condition), Broken> {
    let written = table.insert("p", "r", n(1)).await?;
    let stale = matching(written.etag)?;
    let written = table.act("p", "r", Action::Replace(n(2), Condition::Exists)).await?;
    Ok((stale, matching(written.etag)?))
}

fn matching(etag: Option<ETag>) -> Result<Condition, Broken> {
    etag.map(Condition::Match).ok_or_else(|| Broken::new("the receipt of a write must hold an ETag"))
}

/// Some condition that any ETag could be in.
fn conditions() -> [Condition; 2] {
    [Condition::Exists, Condition::Match(ETag::from_stamp(630_822_816_000_000_000))]
}

pub(super) async fn an_insert_needs_a_missing_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let before = table.row("p", "r").await?;
    refused(table.insert("p", "r", n(2)).await, RowExists, "inserting an existing row")?;
    ensure_eq!(table.row("p", "r").await?, before, "the row after a refused insert");
    Ok(())
}

pub(super) async fn a_replace_needs_an_existing_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for condition in conditions() {
        let replaced = table.act("p", "r", Action::Replace(n(1), condition)).await;
        refused(replaced, RowNotFound, "replacing a missing row")?;
    }
    ensure_eq!(table.get("p", "r").await?, None, "the row after a refused replace");
    Ok(())
}

pub(super) async fn a_replace_obeys_its_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let (stale, current) = rewritten(&table).await?;
    refused(table.act("p", "r", Action::Replace(n(3), stale)).await, ConditionNotMet, "replacing under a stale ETag")?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(2)), "the row after a refused replace");
    table.act("p", "r", Action::Replace(n(4), current)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(4)), "the row replaced under its ETag");
    table.act("p", "r", Action::Replace(n(5), Condition::Exists)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(5)), "the row replaced in whatever state");
    Ok(())
}

pub(super) async fn a_replace_leaves_no_old_property(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", one("Old", 1)).await?;
    table.act("p", "r", Action::Replace(one("New", 2), Condition::Exists)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(one("New", 2)), "the replaced row");
    table.act("p", "r", Action::Replace(Properties::new(), Condition::Exists)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(Properties::new()), "the row replaced by nothing");
    Ok(())
}

pub(super) async fn a_merge_needs_an_existing_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for condition in conditions() {
        refused(table.act("p", "r", Action::Merge(n(1), condition)).await, RowNotFound, "merging into a missing row")?;
    }
    ensure_eq!(table.get("p", "r").await?, None, "the row after a refused merge");
    Ok(())
}

pub(super) async fn a_merge_obeys_its_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let (stale, current) = rewritten(&table).await?;
    refused(table.act("p", "r", Action::Merge(n(3), stale)).await, ConditionNotMet, "merging under a stale ETag")?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(2)), "the row after a refused merge");
    table.act("p", "r", Action::Merge(n(4), current)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(4)), "the row merged under its ETag");
    table.act("p", "r", Action::Merge(n(5), Condition::Exists)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(5)), "the row merged in whatever state");
    Ok(())
}

pub(super) async fn a_merge_keeps_what_it_does_not_name(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", Properties::from_iter([("A", 1), ("C", 3), ("E", 5)])).await?;
    let merged = Properties::from_iter([("B", 20), ("C", 30), ("F", 60)]);
    table.act("p", "r", Action::Merge(merged, Condition::Exists)).await?;
    let expected = Properties::from_iter([("A", 1), ("B", 20), ("C", 30), ("E", 5), ("F", 60)]);
    ensure_eq!(table.properties("p", "r").await?, Some(expected), "the merged row");
    Ok(())
}

pub(super) async fn a_merge_of_nothing_is_a_write(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for (row, own) in [("r", n(1)), ("empty", Properties::new())] {
        let inserted = table.insert("p", row, own.clone()).await?;
        for nothing in [Action::Merge(Properties::new(), Condition::Exists), Action::InsertOrMerge(Properties::new())] {
            let verb = nothing.verb();
            let merged = table.act("p", row, nothing).await?;
            ensure!(merged.etag != inserted.etag, "a {verb} of nothing must give the row a new ETag");
            let read = table.row("p", row).await?;
            ensure_eq!((read.properties, Some(read.etag)), (own.clone(), merged.etag), "row `{row}` after a {verb}");
        }
    }
    Ok(())
}

pub(super) async fn a_merge_may_change_a_propertys_type(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", one("A", 1)).await?;
    table.act("p", "r", Action::Merge(one("A", "one"), Condition::Exists)).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(one("A", "one")), "the merged row");
    Ok(())
}

pub(super) async fn a_merge_sets_what_is_empty_or_zero(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let pairs: [[Value; 2]; 8] = [
        ["text".into(), "".into()],
        [vec![1].into(), vec![].into()],
        [true.into(), false.into()],
        [1i32.into(), 0i32.into()],
        [1i64.into(), 0i64.into()],
        [1.0.into(), 0.0.into()],
        [Uuid::max().into(), Uuid::nil().into()],
        [DateTime::MAX.into(), DateTime::MIN.into()],
    ];
    let (mut full, mut bare) = (Properties::new(), Properties::new());
    for (at, [one, none]) in pairs.into_iter().enumerate() {
        full.insert(format!("P{at}"), one);
        bare.insert(format!("P{at}"), none);
    }
    for action in [Action::Merge(bare.clone(), Condition::Exists), Action::InsertOrMerge(bare.clone())] {
        table.act("p", "r", Action::InsertOrReplace(full.clone())).await?;
        let verb = action.verb();
        table.act("p", "r", action).await?;
        ensure_eq!(table.properties("p", "r").await?, Some(bare.clone()), "the row after the {verb}");
    }
    Ok(())
}

pub(super) async fn a_merged_row_obeys_the_limit_of_properties(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let named = |from: usize, to: usize| (from..to).map(|i| (format!("P{i}"), 1)).collect::<Properties>();
    let most = limits::MAX_PROPERTIES;
    table.insert("p", "r", named(0, most)).await?;
    let before = table.row("p", "r").await?;
    for over in [Action::Merge(named(most, most + 1), Condition::Exists), Action::InsertOrMerge(named(most, most + 1))]
    {
        refused(table.act("p", "r", over).await, TooLarge, "merging a 253rd property")?;
    }
    ensure_eq!(table.row("p", "r").await?, before, "the row after a refused merge");
    table.act("p", "r", Action::Merge(named(0, most), Condition::Exists)).await?;
    Ok(())
}

pub(super) async fn a_merged_row_obeys_the_limit_of_bytes(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let binaries = |from: usize, to: usize| {
        let full = |i| (format!("P{i:02}"), Value::Binary(vec![7; limits::MAX_BINARY_BYTES]));
        (from..to).map(full).collect::<Properties>()
    };
    table.insert("p", "r", binaries(0, 15)).await?;
    let before = table.row("p", "r").await?;
    let over = table.act("p", "r", Action::Merge(binaries(15, 16), Condition::Exists)).await;
    refused(over, TooLarge, "merging a row to over 1 MiB")?;
    ensure!(table.row("p", "r").await? == before, "a refused merge must leave the row as it was");
    Ok(())
}

pub(super) async fn an_insert_or_replace_takes_any_state(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.act("p", "r", Action::InsertOrReplace(one("A", 1))).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(one("A", 1)), "the inserted row");
    table.act("p", "r", Action::InsertOrReplace(one("B", 2))).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(one("B", 2)), "the replaced row");
    Ok(())
}

pub(super) async fn an_insert_or_merge_takes_any_state(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.act("p", "r", Action::InsertOrMerge(one("A", 1))).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(one("A", 1)), "the inserted row");
    table.act("p", "r", Action::InsertOrMerge(one("B", 2))).await?;
    let both = Properties::from_iter([("A", 1), ("B", 2)]);
    ensure_eq!(table.properties("p", "r").await?, Some(both), "the merged row");
    Ok(())
}

pub(super) async fn a_delete_needs_an_existing_row(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for condition in conditions() {
        refused(table.act("p", "r", Action::Delete(condition)).await, RowNotFound, "deleting a missing row")?;
    }
    Ok(())
}

pub(super) async fn a_delete_obeys_its_etag(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let (stale, current) = rewritten(&table).await?;
    refused(table.act("p", "r", Action::Delete(stale)).await, ConditionNotMet, "deleting under a stale ETag")?;
    ensure_eq!(table.properties("p", "r").await?, Some(n(2)), "the row after a refused delete");
    let deleted = table.act("p", "r", Action::Delete(current)).await?;
    ensure_eq!(deleted.etag, None, "the ETag in a delete's receipt");
    ensure_eq!(table.get("p", "r").await?, None, "the row deleted under its ETag");
    table.insert("p", "r", n(3)).await?;
    table.act("p", "r", Action::Delete(Condition::Exists)).await?;
    ensure_eq!(table.get("p", "r").await?, None, "the row deleted in whatever state");
    Ok(())
}

pub(super) async fn an_etag_of_another_row_meets_no_condition(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let other = matching(table.insert("p", "other", n(1)).await?.etag)?;
    refused(table.act("p", "r", Action::Delete(other)).await, ConditionNotMet, "deleting under another row's ETag")?;
    Ok(())
}

pub(super) async fn an_etag_of_no_store_meets_no_condition(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    for text in ["W/\"0x5B168C7B6E589D2\"", "W/\"datetime'2000-01-01T00%3A00%3A00Z'\"", "*"] {
        let foreign = Condition::Match(ETag::parse(text));
        for action in [
            Action::Replace(n(2), foreign.clone()),
            Action::Merge(n(2), foreign.clone()),
            Action::Delete(foreign.clone()),
        ] {
            let what = format!("the {} under {text}", action.verb());
            refused(table.act("p", "r", action).await, ConditionNotMet, &what)?;
        }
    }
    ensure_eq!(table.properties("p", "r").await?, Some(n(1)), "the row");
    Ok(())
}

/// Writes a row anew until the store's clock has moved on from `time`; whether it does.
async fn moves_on(table: &Table<'_>, time: DateTime) -> Result<bool, Broken> {
    const TRIES: usize = 1_000;
    for _ in 0..TRIES {
        let written = table.insert("p", "clock", n(0)).await?;
        table.act("p", "clock", Action::Delete(Condition::Exists)).await?;
        if written.timestamp != time {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) async fn the_timestamp_is_of_the_last_write(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(0)).await?;
    for action in [
        Action::Replace(n(1), Condition::Exists),
        Action::Merge(n(2), Condition::Exists),
        Action::InsertOrReplace(n(3)),
        Action::InsertOrMerge(n(4)),
    ] {
        let (verb, before) = (action.verb(), table.row("p", "r").await?.timestamp);
        if !moves_on(&table, before).await? {
            return Ok(());
        }
        let told = table.act("p", "r", action).await?.timestamp;
        ensure!(told != before, "the receipt of the {verb} has the timestamp of an earlier write, {before}");
        ensure_eq!(table.row("p", "r").await?.timestamp, told, "the timestamp after the {verb}, against its receipt's");
    }
    Ok(())
}
