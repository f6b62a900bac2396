//! Clauses of concurrent calls: each is as if alone.
//!
//! Calls are in flight together inside one task; threads are the runtime's affair.

use super::{
    Broken,
    bench::{Bench, Table, n, one, together},
    broken::{ensure, ensure_eq},
};
use crate::{Action, Condition, KeyRange, StoreError, StoreErrorKind::*, ValueRef, Written};

type Checked = Result<(), Broken>;

const WRITERS: i32 = 16;

/// Lets all writers do their action on row `r` at once; exactly one may win, the others are refused with `lost`.
async fn one_wins(table: &Table<'_>, action: impl Fn(i32) -> Action, lost: crate::StoreErrorKind) -> Checked {
    let writers = (0..WRITERS).map(|writer| table.act("p", "r", action(writer))).collect();
    let outcomes: Vec<Result<Written, StoreError>> = together(writers).await;
    let winners: Vec<_> = (0..).zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()).map(|(i, _)| i).collect();
    let &[winner] = &*winners else {
        return Err(Broken::new(format!("exactly one writer must win, but these did: {winners:?}")));
    };
    for error in outcomes.into_iter().filter_map(Result::err) {
        ensure_eq!(error.kind(), lost, "how the other writers fail");
    }
    ensure_eq!(table.properties("p", "r").await?, Some(n(winner)), "the row, which the winner wrote");
    Ok(())
}

pub(super) async fn one_of_many_inserts_wins(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    one_wins(&table, |writer| Action::Insert(n(writer)), RowExists).await
}

pub(super) async fn one_of_many_conditional_writers_wins(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(-1)).await?;
    for _ in 0..4 {
        let etag = table.row("p", "r").await?.etag;
        one_wins(&table, |writer| Action::Replace(n(writer), Condition::Match(etag.clone())), ConditionNotMet).await?;
    }
    Ok(())
}

/// Reads the counter and writes one more under its ETag, until that succeeds.
///
/// It fails only because another succeeded meanwhile, so it succeeds within as many attempts as there are writers.
async fn increment(table: &Table<'_>) -> Checked {
    for _ in 0..WRITERS {
        let row = table.row("p", "r").await?;
        let Some(ValueRef::Int32(count)) = row.properties.get("N") else {
            return Err(Broken::new("the counter has lost its property"));
        };
        match table.act("p", "r", Action::Replace(n(count + 1), Condition::Match(row.etag))).await {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ConditionNotMet => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Broken::new(format!("a write under the ETag just read failed {WRITERS} times")))
}

pub(super) async fn counters_lose_no_update(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(0)).await?;
    let increments = (0..WRITERS).map(|_| increment(&table)).collect();
    for outcome in together(increments).await {
        outcome?;
    }
    ensure_eq!(table.properties("p", "r").await?, Some(n(WRITERS)), "the counter after {WRITERS} increments");
    Ok(())
}

pub(super) async fn batches_do_not_mix(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let rows = ["a", "b", "c", "d"];
    // Each begins with another row, so that writes that go side by side must end in a mix.
    let mark = |writer: i32| {
        let put = |batch: crate::Batch, row| batch.with(row, Action::InsertOrReplace(one("Writer", writer)));
        let rows = rows.into_iter().cycle().skip(writer as usize).take(rows.len());
        table.commit(rows.fold(table.batch("p"), put))
    };
    for outcome in together((0..WRITERS).map(mark).collect()).await {
        outcome?;
    }
    let found = table.rows(&table.query(KeyRange::partition("p"))).await?;
    ensure_eq!(found.len(), rows.len(), "the number of rows");
    let marks: Vec<_> = found.iter().map(|row| &row.properties).collect();
    ensure!(marks.iter().all(|mark| Some(mark) == marks.first()), "one batch must have written all rows: {marks:?}");
    Ok(())
}

/// Reads the rows of the partition some times: each time all must be of one batch.
async fn read_whole(table: &Table<'_>) -> Checked {
    for _ in 0..WRITERS {
        let found = table.rows(&table.query(KeyRange::partition("p"))).await?;
        let marks: Vec<_> = found.iter().map(|row| &row.properties).collect();
        ensure!(marks.iter().all(|mark| Some(mark) == marks.first()), "a reader saw half of a batch: {marks:?}");
    }
    Ok(())
}

pub(super) async fn a_reader_sees_all_of_a_batch_or_nothing(bench: &Bench) -> Checked {
    let table = &bench.table().await?;
    let write = async |writer: i32| -> Checked {
        let put = |batch: crate::Batch, row| batch.with(row, Action::InsertOrReplace(one("Writer", writer)));
        table.commit(["a", "b", "c", "d"].into_iter().fold(table.batch("p"), put)).await?;
        Ok(())
    };
    write(-1).await?;
    let act = async |number: i32| if number % 2 == 0 { write(number).await } else { read_whole(table).await };
    together((0..WRITERS).map(act).collect()).await.into_iter().collect()
}
