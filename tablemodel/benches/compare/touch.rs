//! The backfill of an index that is added to entities which are there: each is written once more, as it is, with its new row.
//!
//! There is no peer: nobody who writes by hand has such a sweep. What counts is entities a second, and how much longer others
//! wait for their writes meanwhile.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tablemodel::{Database, TableEntity, TableModel, store::EmbeddedStore};

use crate::{
    Result,
    paired::median,
    report::{Rate, Wait},
    side::CACHE_BYTES,
};

/// The name of the workload.
pub(crate) const NAME: &str = "touch";
/// At least so many entities a second.
const GOAL: f64 = 50_000.0;
const OFFICES: u32 = 50;
/// What others may have to wait for their writes, as a multiple of what they do without a migration.
const WAIT_GOAL: f64 = 1.2;
/// As good as no limit, in entities a second.
const UNLIMITED: f64 = 1e9;

mod before {
    use tablemodel::{TableEntity, TableModel};

    /// An employee without an index by name.
    #[derive(Debug, TableEntity)]
    #[table(name = "Touched", entity_type = "Employee", partition = "{office}", row = "empid_{id:06}")]
    pub(super) struct Employee {
        pub(super) office: String,
        pub(super) id: u32,
        pub(super) first_name: String,
        pub(super) last_name: String,
    }

    #[derive(TableModel)]
    pub(super) enum Staff {
        Employee(Employee),
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Touched", entity_type = "Employee", partition = "{office}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{last_name}_{id:06}", keep(first_name)))]
struct Employee {
    office: String,
    id: u32,
    first_name: String,
    last_name: String,
}

#[derive(TableModel)]
enum Staff {
    Employee(Employee),
}

/// A store of the first release, opened by the second.
async fn filled(path: &Path, employees: u32) -> Result<Database> {
    let store = EmbeddedStore::builder().cache_bytes(CACHE_BYTES).open(path)?;
    let db = Database::builder().with_embedded::<before::Staff>(store.clone()).await?;
    db.ensure_tables().await?;
    let employee = |id| before::Employee {
        office: office(id),
        id,
        first_name: format!("First {id}"),
        last_name: format!("Last {}", id % 1_000),
    };
    db.bulk().insert_all(futures_util::stream::iter((0..employees).map(employee))).await?.into_result()?;
    drop(db);
    let db = Database::builder().with_embedded::<Staff>(store).await?;
    db.ensure_tables().await?;
    Ok(db)
}

fn office(id: u32) -> String {
    format!("Office {}", id % OFFICES)
}

/// Rounds of one migration each, which is taken back after it.
pub(crate) async fn measure(directory: &Path, quick: bool) -> Result<Rate> {
    let (employees, rounds) = if quick { (2_000, 2) } else { (50_000, 5) };
    eprintln!("measuring: {NAME}");
    let db = filled(&directory.join("touch.tablemodel"), employees).await?;
    let mut figures = Vec::new();
    for _ in 0..rounds {
        let mut rate = 0.0;
        let applied = db.migrations().apply().progress(|progress| rate = progress.rate).await?;
        if !applied.is_complete() || applied.touched != u64::from(employees) {
            return Err("the index was not built".into());
        }
        figures.push(rate);
        db.migrations().rollback().await?;
    }
    Ok(Rate { workload: NAME, rows: u64::from(employees), per_second: median(figures.into_iter()), goal: GOAL })
}

/// What others wait for their writes: without a migration, beside one at the default rate, and beside one that makes no way. Each
/// round compares what it met itself, so that a busy moment of the machine is one round's.
pub(crate) async fn waits(directory: &Path, quick: bool) -> Result<Vec<Wait>> {
    let (employees, writes, rounds) = if quick { (2_000, 100, 2) } else { (200_000, 1_000, 9) };
    let db = filled(&directory.join("touch-beside.tablemodel"), employees).await?;
    let (mut alone, mut default, mut unlimited) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut made = 0;
        let is_over = || {
            made += 1;
            made > writes
        };
        alone.push(p99(foreground(&db, employees, is_over).await?));
        default.push(p99(beside(&db, employees, None, writes).await?));
        unlimited.push(p99(beside(&db, employees, Some(UNLIMITED), writes).await?));
    }
    let middle = |of: &[Duration]| Duration::from_secs_f64(median(of.iter().map(Duration::as_secs_f64)));
    let wait = |workload, with: &[Duration], goal| {
        let ratios = with.iter().zip(&alone).map(|(with, without)| with.as_secs_f64() / without.as_secs_f64());
        Wait { workload, without: middle(&alone), with: middle(with), ratio: median(ratios), goal }
    };
    Ok(vec![
        wait("touch: writes beside it at the default rate", &default, Some(WAIT_GOAL)),
        wait("touch: writes beside it that makes no way", &unlimited, None),
    ])
}

/// Times of so many writes, or of those that were made until the migration ended.
async fn beside(db: &Database, employees: u32, rate: Option<f64>, writes: usize) -> Result<Vec<Duration>> {
    let migrations = db.migrations();
    let apply = tokio::spawn(async move {
        let apply = migrations.apply();
        match rate {
            Some(rate) => apply.rate(rate).await,
            None => apply.await,
        }
    });
    let is_filling = async || {
        let status = db.migrations().status().await?;
        Ok::<_, crate::Error>(status.is_some_and(|status| status.finished.is_none() && status.ranges.0 > 0))
    };
    while !apply.is_finished() && !is_filling().await? {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut made = 0;
    let is_over = || {
        made += 1;
        made > writes || apply.is_finished()
    };
    let times = foreground(db, employees, is_over).await?;
    if !apply.is_finished() {
        db.migrations().pause().await?;
    }
    drop(apply.await??);
    db.migrations().rollback().await?;
    Ok(times)
}

/// Changes one employee after the other, here and there, and tells how long each took.
async fn foreground(db: &Database, employees: u32, mut is_over: impl FnMut() -> bool) -> Result<Vec<Duration>> {
    let (mut times, mut id) = (Vec::new(), 1);
    while !is_over() {
        id = (id + 7_919) % employees;
        let begun = Instant::now();
        let path = Employee::find().office(office(id)).id(id);
        let change = |employee: &mut Employee| {
            employee.first_name = format!("First {begun:?}");
            Ok(())
        };
        db.update(path, change).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(times)
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get((times.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
}
