//! Migrations: what users call and are told; how it is done is in the files beside.
//!
//! Nothing is written here. The page for users is [`crate::migrations`].

mod applied;
mod apply;
mod backfill;
mod counts;
mod dry;
mod exported;
mod fits;
mod forms;
mod living;
mod owners;
mod patience;
mod plans;
mod programs;
mod recopied;
mod record;
mod recorded;
mod rows;
mod settle;
mod small;
mod states;
mod stop;
mod survey;
mod switch;
mod targets;
mod throttle;
mod touch;
mod undo;
mod unfinished;
mod waiting;

use std::time::Duration;

use tablemodel_store::{DateTime, RowKey};

pub use self::{
    applied::Applied, apply::Apply, dry::DryRun, plans::AppliedPlan, programs::Program, unfinished::Unfinished,
};
pub(super) use self::{exported::Exported, living::Living};
use self::{
    record::{Control, Record},
    rows::Rows,
    stop::Stop,
};
use crate::{
    database::{Database, rewrites},
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
};

/// What the store needs to be as the model says, and the ways to bring it there. Made by [`Database::migrations`].
#[derive(Debug, Clone)]
pub struct Migrations {
    db: Database,
    stop: Stop,
}

/// An index that is not readable yet, or rows that are not all written as the model's version has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The entity type.
    pub entity: String,
    /// The index or list, as declared; of a copy `~FIELD`, of an aggregate `~TARGET.PROPERTY`, of a rewrite `~@VERSION`.
    pub index: String,
    /// How far it is built.
    pub state: IndexState,
}

impl Step {
    /// The version that all rows of the entity are written as; none of a step that builds something.
    pub fn rewrite(&self) -> Option<u32> {
        rewrites::version(&self.index)
    }

    /// The version whose keys the entity moves to; none of any other step.
    pub fn moved(&self) -> Option<u32> {
        crate::schema::moved_to(&self.index)
    }
}

/// An entity of which the model reads rows that older versions wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The entity type.
    pub entity: String,
    /// The model's version.
    pub version: u32,
    /// The older versions that rows may still be of, the newest first; none once [`Migrations::apply`] has written all of them
    /// anew. Their structs are needed as long.
    pub older: Vec<u32>,
    /// The version that all rows are known to be of, or of a later one; none before the first rewrite.
    pub known: Option<u32>,
}

/// An entity of which the store may have rows that the model does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The entity type.
    pub entity: String,
    /// The oldest version that rows may be of: the one that the store first knew, or that all were rewritten to since.
    pub version: u32,
    /// The oldest version that the model reads: its own, or the last that `previous` names.
    pub reads: u32,
}

/// An index that the store keeps and the model no longer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedIndex {
    /// The entity type.
    pub entity: String,
    /// The index, as it was declared.
    pub index: String,
    /// How far it is built.
    pub state: IndexState,
}

/// What a store needs to be as the model says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MigrationPlan {
    /// What [`Migrations::apply`] builds.
    pub steps: Vec<Step>,
    /// What [`Migrations::contract`] takes away.
    pub dropped: Vec<DroppedIndex>,
    /// Indexes that the store keeps, and rewrites that were begun, for a newer version of the program than this one. While there are any, this program's
    /// migrations are refused with `UnknownVersion`.
    pub newer: Vec<DroppedIndex>,
    /// What cannot be built yet: aggregates in a property that another entity's sources are counted in, until [`Migrations::contract`] has
    /// taken those away.
    pub unsupported: Vec<Step>,
    /// Entities of which the model reads older versions, and what the store knows of their rows.
    pub rewrites: Vec<Rewrite>,
    /// Entities of which rows may be of versions that the model does not read: a `previous` is missing. Each such row is `UnknownVersion`.
    pub unread: Vec<Unread>,
    /// The migration that was begun and is not finished.
    pub unfinished: Option<Unfinished>,
}

impl MigrationPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.dropped.is_empty()
    }
}

/// How far a migration is.
#[derive(Debug, Clone, PartialEq)]
pub struct MigrationStatus {
    /// The migration.
    pub migration: String,
    /// The indexes that it builds, or takes away, as they are now.
    pub steps: Vec<Step>,
    /// When it was begun.
    pub started: DateTime,
    /// When it was finished, or rolled back.
    pub finished: Option<DateTime>,
    /// Whether it is, or was, rolled back or a contraction.
    pub undone: bool,
    /// Whether that is the switch of its moves, in which old forms go.
    pub switch: bool,
    /// Entities to be written once more, as counted before.
    pub entities: u64,
    /// Entities that were. Fewer also once it is finished, where the program wrote or deleted some itself meanwhile, or an earlier call died
    /// before it had put down its last batch; those that [`retry_failures`](Migrations::retry_failures) wrote are not among them.
    pub touched: u64,
    /// Entities that were set aside.
    pub failed: u64,
    /// Ranges of the tables, and how many of them are done.
    pub ranges: (u64, u64),
    /// Whether it is paused.
    pub paused: bool,
    /// The limit that [`Migrations::set_rate`] set, in entities a second.
    pub rate: Option<f64>,
}

/// An entity that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The entity type.
    pub entity: String,
    /// The entity.
    pub key: RowKey,
    /// Why it could not be written.
    pub error: String,
}

/// How far an application is, as told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Entities to be written once more.
    pub entities: u64,
    /// Entities written or passed over, by earlier calls too.
    pub done: u64,
    /// Entities set aside.
    pub failed: u64,
    /// Entities a second, by this call.
    pub rate: f64,
    /// How long it will take at this rate, where that can be told.
    pub left: Option<Duration>,
}

/// What was taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contracted {
    /// The migration; none where there was nothing to do.
    pub migration: Option<String>,
    /// The indexes, as they are now.
    pub steps: Vec<Step>,
    /// Their rows, deleted by this call.
    pub rows: u64,
}

impl Database {
    /// What the store needs to be as the model says; see [`migrations`](crate::migrations).
    pub fn migrations(&self) -> Migrations {
        Migrations { db: self.clone(), stop: Stop::default() }
    }
}

impl Migrations {
    /// What [`Migrations::apply`] and [`Migrations::contract`] would do. Cost: one request.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert!(db.migrations().plan().await?.is_empty());
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Unsupported` where the store keeps an entity elsewhere than the model, `Moved` where it has moved on from there; those of the store.
    pub async fn plan(&self) -> Result<MigrationPlan> {
        Rows::read(&self.db).await?.plan(&self.db)
    }

    /// Builds every index that is not readable, and writes all rows of older versions as the model's; await it to run it. Where
    /// another call is at it, whatever its program, both work on ranges of the tables until it is done. A migration that was begun by
    /// a program with an index that this one does not have is refused with `Unsupported`. See [`migrations`](crate::migrations).
    ///
    /// It may end well and not be over: paused, or with entities set aside; [`Applied::into_result`] makes an error of that.
    ///
    /// # Errors
    ///
    /// `MigrationRunning` beside one that is being taken back, or that leaves nothing to help with; `Unsupported` over a `rollback` or
    /// `contract` that was interrupted, which the words name; `Stopped`; `UnknownVersion` over a newer
    /// store; `Unavailable` where programs do not end that it waits for, or an outbox row is [poisoned](crate::Relay::poisoned); `Invalid` for a rate that is not above 0; those of the store.
    /// What was done stays, and the same call goes on.
    pub fn apply<'a>(&self) -> Apply<'a> {
        Apply::new(self.db.clone(), self.stop.clone())
    }

    /// How far the last migration is; none where there never was one. Cost: four requests, and one more per 1,000 ranges and entities
    /// that were set aside.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn status(&self) -> Result<Option<MigrationStatus>> {
        let rows = Rows::read(&self.db).await?;
        let Some(record) = rows.last()? else { return Ok(None) };
        let control = rows.control(&record.id);
        let ranges = record::ranges(&self.db, &record.id).await?;
        Ok(Some(MigrationStatus {
            steps: rows.told(&record)?,
            started: record.started,
            finished: record.finished,
            undone: record.undo,
            switch: switch::is_switch(&record),
            entities: record.entities,
            touched: ranges.iter().map(|range| range.touched).sum(),
            failed: self.failures().await?.len() as u64,
            ranges: (ranges.len() as u64, ranges.iter().filter(|range| range.done).count() as u64),
            paused: control.paused,
            rate: control.rate,
            migration: record.id,
        }))
    }

    /// Has whoever applies the migration stop after the batch at hand; it stays as it is until it is
    /// [resumed](Migrations::resume) and applied again. Cost: three requests.
    ///
    /// # Errors
    ///
    /// `NotFound` where no migration is unfinished; `Unsupported` for one that takes rows away; those of the store.
    pub async fn pause(&self) -> Result<()> {
        self.control(|control| control.paused = true).await
    }

    /// Takes a pause back. Cost: three requests.
    ///
    /// # Errors
    ///
    /// Those of [`Migrations::pause`].
    pub async fn resume(&self) -> Result<()> {
        self.control(|control| control.paused = false).await
    }

    /// Limits whoever applies the migration to so many entities a second, from the next batch on; `None` lifts the limit,
    /// and leaves that of a program that writes meanwhile. Cost: three requests.
    ///
    /// # Errors
    ///
    /// `Invalid` for a limit that is not above 0; those of [`Migrations::pause`].
    pub async fn set_rate(&self, rate: Option<f64>) -> Result<()> {
        if rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(Error::new(ErrorKind::Invalid, "a rate is a number of entities a second, above 0"));
        }
        self.control(|control| control.rate = rate).await
    }

    async fn control(&self, change: impl Fn(&mut Control) + Send + Sync) -> Result<()> {
        let rows = Rows::read(&self.db).await?;
        let Some(record) = rows.unfinished()? else {
            return Err(Error::new(ErrorKind::NotFound, "no migration is unfinished"));
        };
        Unfinished::of(record.clone()).check_settable()?;
        record::change_control(&self.db, &record.id, change).await.map(drop)
    }

    /// The entities of the last migration that were set aside. Cost: two requests, and one per 1,000 of them.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn failures(&self) -> Result<Vec<Failure>> {
        match Rows::read(&self.db).await?.last()? {
            Some(record) => {
                Ok(record::failures(&self.db, &record.id).await?.into_iter().map(|(_, found)| found).collect())
            }
            None => Ok(Vec::new()),
        }
    }

    /// Writes the entities that were set aside once more; gives how many are left. Those that have gone are forgotten.
    /// [Apply](Migrations::apply) goes on once none is left. Cost: a read and a batch for each.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the program does not have what the migration builds; those of the store.
    pub async fn retry_failures(&self) -> Result<u64> {
        let Some(record) = Rows::read(&self.db).await?.last()? else { return Ok(0) };
        rows::check_has_of_known(&self.db, &record)?;
        touch::retry(&self.db, &record).await
    }

    /// Takes the last migration back, finished or not: its indexes go back through their states, each of which waits
    /// until every live program knows of it, and then their rows are deleted. Where no migration is the last, or one that took something away,
    /// the [moves](crate::moves) that the store keeps are taken back, also those that it has since it was made. What stops may be called again. Cost: a request per
    /// 1,000 rows of the tables concerned, and one per 100 rows of a partition that go.
    ///
    /// # Errors
    ///
    /// `NotFound` where no migration is to be taken back; `Unsupported` where a [contraction](Migrations::contract) is not finished, or
    /// it is of a move that the model does not know; `MigrationRunning`; `Stopped`; `UnknownVersion` over a newer store; `Unavailable` while
    /// other programs do not learn of the states, or an outbox row is [poisoned](crate::Relay::poisoned); those of the store.
    pub async fn rollback(&self) -> Result<Contracted> {
        undo::Undo::rollback(&self.db, &self.stop).await
    }

    /// Takes away what the model dropped: waits until no live program knows of it, and deletes its rows. There is no way
    /// back but to build it anew. An entity that has [moved](crate::moves) is switched to its new form first: there is no way back
    /// from that, either. Cost: as [`Migrations::rollback`], and of a move first that of a walk as [`repair`](Database::repair) makes it, and a
    /// request per 1,000 rows that are derived from its entities.
    ///
    /// Where a rollback was interrupted it ends that, and does no more: call it again (`plan().unfinished` tells).
    ///
    /// # Errors
    ///
    /// Those of [`Migrations::rollback`], but for `NotFound`; `Unavailable` also where rows of an entity that moves are not as they should
    /// be, and were not put right; `Unsupported` while something is built and not finished, on which nobody is at
    /// work, or while a row of an entity that moves is of a later release, which is to finish that first.
    pub async fn contract(&self) -> Result<Contracted> {
        undo::Undo::contract(&self.db, &self.stop).await
    }
}

/// That the migration is another call's.
fn running(record: &Record) -> Error {
    let detail = format!("another call is at work on migration {}; wait for it, or try again in a minute", record.id);
    Error::new(ErrorKind::MigrationRunning { migration: record.id.clone() }, detail)
}
