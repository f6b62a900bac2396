//! The workloads: what one round of each does, and how fast it was.
//!
//! The same for both sides, and for the same round the same rows.

use std::{path::Path, time::Instant};

use crate::{
    Result,
    employee::{Employee, last_name, mixed},
    side::{CACHE_BYTES, Side},
};

/// Tasks that write at the same time.
const TASKS: u32 = 64;
/// Rows of one range.
const RANGE_ROWS: u32 = 100;
/// From one employee to the next of those that are looked up once each: a prime, so that it comes to all of them.
const STRIDE: u32 = 7_919;

/// One kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    BulkLoad,
    InsertAlone,
    InsertTogether,
    UpdateAlone,
    UpdateTogether,
    PointGet,
    UniqueLookup,
    FirstLookup,
    Range,
}

impl Workload {
    /// All, in the order in which they run.
    pub(crate) const ALL: [Self; 9] = [
        Self::BulkLoad,
        Self::InsertAlone,
        Self::InsertTogether,
        Self::UpdateAlone,
        Self::UpdateTogether,
        Self::PointGet,
        Self::UniqueLookup,
        Self::FirstLookup,
        Self::Range,
    ];

    /// The name, for people and for the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BulkLoad => "bulk load",
            Self::InsertAlone => "insert, 1 task",
            Self::InsertTogether => "insert, 64 tasks",
            Self::UpdateAlone => "update that moves an index row, 1 task",
            Self::UpdateTogether => "update that moves an index row, 64 tasks",
            Self::PointGet => "point get",
            Self::UniqueLookup => "unique lookup",
            Self::FirstLookup => "unique lookup, each for the first time",
            Self::Range => "range of 100",
        }
    }

    /// At least how fast it must be, as a share of the speed by hand.
    pub(crate) const fn goal(self) -> Option<f64> {
        match self {
            Self::BulkLoad | Self::Range => Some(0.7),
            Self::InsertTogether | Self::UpdateTogether => Some(0.8),
            Self::PointGet => Some(0.6),
            Self::InsertAlone | Self::UpdateAlone | Self::UniqueLookup | Self::FirstLookup => None,
        }
    }

    /// How much longer one operation may take in the largest database than in the smallest. A first reading has no such
    /// goal: of a larger file it reads more pages.
    pub(crate) const fn growth_goal(self) -> Option<f64> {
        if matches!(self, Self::FirstLookup) { None } else { Some(1.5) }
    }

    /// Rounds that are run.
    pub(crate) const fn rounds(self, quick: bool) -> u32 {
        match self {
            _ if quick => 2,
            Self::BulkLoad => 7,
            _ => 21,
        }
    }

    /// Employees written or read in a round.
    const fn operations(self, quick: bool) -> u32 {
        let operations = match self {
            Self::BulkLoad => 0,
            Self::InsertAlone | Self::UpdateAlone => 128,
            // Long enough that the first commits, before the tasks are spread over several, are a small part.
            Self::InsertTogether | Self::UpdateTogether => 64 * TASKS,
            Self::PointGet => 40_000,
            Self::UniqueLookup => 20_000,
            Self::FirstLookup => 5_000,
            Self::Range => 1_000 * RANGE_ROWS,
        };
        if quick { operations / 16 } else { operations }
    }
}

/// A database of `count` employees of one side, and where it may make new files.
pub(crate) struct Arena<S> {
    pub(crate) side: S,
    pub(crate) count: u32,
    /// A file of as many employees which nobody has open.
    pub(crate) unread: std::path::PathBuf,
    pub(crate) directory: std::path::PathBuf,
    pub(crate) quick: bool,
}

impl<S: Side> Arena<S> {
    /// Reads each employee once, by number and by email: else the rounds would meet the few of a small database again and
    /// again, and those of a large one mostly for the first time.
    pub(crate) async fn meet(&self) -> Result<()> {
        for id in 0..self.count {
            self.side.get(id).await?.ok_or(WRONG)?;
            self.side.by_email(&Employee::number(id).email).await?.ok_or(WRONG)?;
        }
        Ok(())
    }

    /// Employees a second, in one round of the workload.
    pub(crate) async fn round(&self, workload: Workload, round: u32) -> Result<f64> {
        let operations = workload.operations(self.quick);
        match workload {
            Workload::BulkLoad => self.bulk_load().await,
            Workload::InsertAlone => self.insert(1, operations, round).await,
            Workload::InsertTogether => self.insert(TASKS, operations, round).await,
            Workload::UpdateAlone => self.rename(1, operations, round).await,
            Workload::UpdateTogether => self.rename(TASKS, operations, round).await,
            Workload::PointGet => self.get(operations, round).await,
            Workload::UniqueLookup => self.look_up(operations, round).await,
            Workload::FirstLookup => self.look_up_first(operations, round).await,
            Workload::Range => self.range(operations, round).await,
        }
    }

    async fn bulk_load(&self) -> Result<f64> {
        let directory = tempfile::tempdir_in(&self.directory)?;
        let (_, rate) = loaded::<S>(&directory.path().join("loaded"), self.count).await?;
        Ok(rate)
    }

    /// Inserts new employees and, outside the time taken, deletes them again.
    async fn insert(&self, tasks: u32, operations: u32, round: u32) -> Result<f64> {
        let first = self.count + round * operations;
        let each = operations / tasks;
        let begun = Instant::now();
        let writers = (0..tasks).map(|task| {
            let side = self.side.clone();
            tokio::spawn(async move {
                let mut written = Vec::with_capacity(each as usize);
                for at in 0..each {
                    written.push(side.insert(Employee::number(first + at * tasks + task)).await?);
                }
                Ok::<_, crate::Error>(written)
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut written = Vec::new();
        for writer in writers {
            written.push(writer.await??);
        }
        let rate = rate(each * tasks, begun);
        self.delete(written).await?;
        Ok(rate)
    }

    async fn delete(&self, written: Vec<Vec<S::Kept>>) -> Result<()> {
        let deleters = written.into_iter().map(|written| {
            let side = self.side.clone();
            tokio::spawn(async move {
                for kept in written {
                    side.delete(kept).await?;
                }
                Ok::<_, crate::Error>(())
            })
        });
        let deleters: Vec<_> = deleters.collect();
        for deleter in deleters {
            deleter.await??;
        }
        Ok(())
    }

    /// No two tasks change one employee.
    async fn rename(&self, tasks: u32, operations: u32, round: u32) -> Result<f64> {
        let (each, share) = (operations / tasks, self.count / tasks);
        let begun = Instant::now();
        let writers = (0..tasks).map(|task| {
            let side = self.side.clone();
            tokio::spawn(async move {
                for at in 0..each {
                    let seed = seed(round, task * each + at);
                    let id = (seed % u64::from(share)) as u32 * tasks + task;
                    let name = last_name(seed >> 32);
                    let kept = side.rename(id, &name).await?;
                    expect(S::employee(&kept).last_name == name)?;
                }
                Ok::<_, crate::Error>(())
            })
        });
        let writers: Vec<_> = writers.collect();
        for writer in writers {
            writer.await??;
        }
        Ok(rate(each * tasks, begun))
    }

    async fn get(&self, operations: u32, round: u32) -> Result<f64> {
        let begun = Instant::now();
        for at in 0..operations {
            let id = (seed(round, at) % u64::from(self.count)) as u32;
            let found = self.side.get(id).await?.ok_or(WRONG)?;
            expect(S::employee(&found).id == id)?;
        }
        Ok(rate(operations, begun))
    }

    async fn look_up(&self, operations: u32, round: u32) -> Result<f64> {
        let ids = (0..operations).map(|at| (seed(round, at) % u64::from(self.count)) as u32);
        timed_look_ups(&self.side, ids.map(|id| (id, Employee::number(id).email)).collect()).await
    }

    /// Each of other employees, in a file that was just opened.
    async fn look_up_first(&self, operations: u32, round: u32) -> Result<f64> {
        let first = (seed(round, 0) % u64::from(self.count)) as u32;
        let ids = (0..operations).map(|at| (first + at * STRIDE) % self.count);
        let wanted: Vec<_> = ids.map(|id| (id, Employee::number(id).email)).collect();
        let side = S::open(&self.unread, CACHE_BYTES).await?;
        let rate = timed_look_ups(&side, wanted).await?;
        side.close().await?;
        Ok(rate)
    }

    async fn range(&self, operations: u32, round: u32) -> Result<f64> {
        let begun = Instant::now();
        for at in 0..operations / RANGE_ROWS {
            let first = (seed(round, at) % u64::from(self.count - RANGE_ROWS)) as u32;
            let found = self.side.range(first, first + RANGE_ROWS - 1).await?;
            expect(found.len() == RANGE_ROWS as usize && found.first().is_some_and(|it| S::employee(it).id == first))?;
        }
        Ok(rate(operations, begun))
    }
}

/// A new database of `count` employees, and how many a second were written.
pub(crate) async fn loaded<S: Side>(path: &Path, count: u32) -> Result<(S, f64)> {
    let employees: Vec<_> = (0..count).map(Employee::number).collect();
    let side = S::open(path, CACHE_BYTES).await?;
    let begun = Instant::now();
    side.bulk(employees).await?;
    Ok((side, rate(count, begun)))
}

/// Looks each of these employees up by its email.
async fn timed_look_ups<S: Side>(side: &S, wanted: Vec<(u32, String)>) -> Result<f64> {
    let count = u32::try_from(wanted.len())?;
    let begun = Instant::now();
    for (id, email) in wanted {
        let found = side.by_email(&email).await?.ok_or(WRONG)?;
        expect(S::employee(&found).id == id)?;
    }
    Ok(rate(count, begun))
}

const WRONG: &str = "a side gave a wrong answer";

fn expect(right: bool) -> Result<()> {
    if right { Ok(()) } else { Err(WRONG.into()) }
}

fn rate(operations: u32, begun: Instant) -> f64 {
    f64::from(operations) / begun.elapsed().as_secs_f64()
}

fn seed(round: u32, at: u32) -> u64 {
    mixed(u64::from(round) << 32 | u64::from(at))
}
