//! Entities that are written once more, as they are, by the normal way: in batches, in halves of those, one by one; what cannot
//! be is set aside.

use tablemodel_store::RowKey;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    Failure,
    backfill::meets,
    record::{self, Record},
    targets::{Target, Targets},
};
use crate::{
    database::{
        Database,
        calls::ATTEMPTS,
        execute::{Asked, waits::Waits},
    },
    error::{Error, ErrorKind, Result},
    plan::{change::Change, entries::entries, group::Group, image::Image},
    schema::EntitySchema,
};

/// What became of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Touched {
    pub(super) touched: u64,
    /// Gone, another entity, or of this version by now.
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Touched {
    pub(super) fn add(&mut self, more: Self) {
        self.touched += more.touched;
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// The workers of a backfill, of which one that keeps losing to the others writes while they wait. Entities that many others copy or count
/// into take long to write, and each of those that is written meanwhile makes another of them.
#[derive(Debug, Default)]
pub(super) struct Workers(RwLock<()>);

/// The turn of one of them, until it is dropped.
enum Turn<'w> {
    Beside(#[expect(dead_code, reason = "it is held")] RwLockReadGuard<'w, ()>),
    Alone(#[expect(dead_code, reason = "it is held")] RwLockWriteGuard<'w, ()>),
}

impl Workers {
    async fn turn(&self, alone: bool) -> Turn<'_> {
        match alone {
            true => Turn::Alone(self.0.write().await),
            false => Turn::Beside(self.0.read().await),
        }
    }
}

/// Attempts to write an entity beside the other workers.
const BESIDE: u32 = 2;

/// The entity, as it is, by this version: each row of an index that is being built is written with it. Fails where it cannot have one.
fn same(schema: &'static EntitySchema, old: Group) -> Result<Change> {
    let new = Image::stored(schema, &old)?;
    entries(&new)?;
    Ok(Change::Save { old, new })
}

/// Writes entities once more, those of one partition in one batch, and those of several in one commit; or in halves where one of them is
/// refused. Whether the store was busy meanwhile.
pub(super) async fn touch(
    db: &Database,
    id: &str,
    target: Target,
    groups: Vec<Group>,
    (asked, workers): (Asked, &Workers),
) -> Result<(Touched, bool)> {
    let schema = target.schema;
    let registered = db.registered(schema)?;
    // Where nothing is waited for but the disk, two that meet in a row only cost each other attempts.
    let apart = !db.0.capabilities.may_lose_reply && meets(schema);
    let (mut sum, mut busy) = (Touched::default(), false);
    let mut rest = vec![groups];
    while let Some(mut groups) = rest.pop() {
        let Some(first) = groups.first() else { continue };
        let key = first.key().clone();
        let asked = if groups.len() > 1 && db.goes_abreast(&registered) { asked.abreast() } else { asked };
        let changes: Result<Vec<_>> = groups.iter().map(|group| same(schema, group.clone())).collect();
        let written = match changes {
            Ok(changes) => {
                let _turn = workers.turn(apart).await;
                db.write_abreast(&registered, &changes, asked, &mut Waits::default()).await
            }
            Err(error) => Err(error),
        };
        match written {
            Ok(Some(_)) => sum.touched += groups.len() as u64,
            Err(error) if is_fatal(&error) => return Err(error),
            Ok(None) | Err(_) if groups.len() > 1 => {
                let second = groups.split_off(groups.len() / 2);
                rest.extend([second, groups]);
            }
            failed => {
                busy |= failed.is_err_and(|error| *error.kind() == ErrorKind::Unavailable);
                sum.add(touch_one(db, id, target, &key, workers).await?);
            }
        }
    }
    Ok((sum, busy))
}

/// Whether no other entity would fare better.
fn is_fatal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Denied | ErrorKind::LeaseExpired)
}

/// Writes an entity once more, as it is by now; sets it aside where that cannot be done.
async fn touch_one(db: &Database, id: &str, target: Target, key: &RowKey, workers: &Workers) -> Result<Touched> {
    match write_again(db, target, key, workers).await {
        Ok(true) => Ok(Touched { touched: 1, ..Touched::default() }),
        Ok(false) => Ok(Touched { passed: 1, ..Touched::default() }),
        Err(error) if is_fatal(&error) || *error.kind() == ErrorKind::Unavailable => Err(error),
        Err(error) => {
            let entity = target.schema.entity_type.to_owned();
            record::set_aside(db, id, &Failure { entity, key: key.clone(), error: error.to_string() }).await?;
            Ok(Touched { failed: 1, ..Touched::default() })
        }
    }
}

/// Whether it was there to be written: of those that only older versions wrote, another may have written it meanwhile.
async fn write_again(db: &Database, target: Target, key: &RowKey, workers: &Workers) -> Result<bool> {
    let schema = target.schema;
    let registered = db.registered(schema)?;
    let mut lacking = None;
    for attempt in 0..ATTEMPTS {
        // Across a network the others would wait for all that it waits for.
        let turn = workers.turn(attempt >= BESIDE && !db.0.capabilities.may_lose_reply).await;
        let there = db.read_entity(schema, &registered.table, key).await?;
        let Some(old) = there.filter(|rows| target.takes(&rows.head)) else { return Ok(false) };
        let written = write_as_new(db, schema, old).await;
        drop(turn);
        match written {
            Ok(()) => return Ok(true),
            Err(error) => match error.kind() {
                // It has gone, as is seen next; or it is there, and a source that it must copy is not.
                ErrorKind::NotFound => lacking = Some(error),
                ErrorKind::Conflict { .. } | ErrorKind::OutcomeUnknown => lacking = None,
                ErrorKind::Unavailable if attempt + 1 < ATTEMPTS => db.pause(attempt).await,
                _ => return Err(error),
            },
        }
    }
    let restless = || Error::new(ErrorKind::Unavailable, "the entity keeps changing, or the store is busy");
    Err(lacking.unwrap_or_else(|| restless().of(schema.entity_type).at_key(key.clone())))
}

async fn write_as_new(db: &Database, schema: &'static EntitySchema, old: Group) -> Result<()> {
    let change = same(schema, db.completed(schema, old).await?)?;
    db.write_one(&*db.registered(schema)?, change).await.map(drop)
}

/// Writes what was set aside once more; gives how many are left.
pub(super) async fn retry(db: &Database, record: &Record) -> Result<u64> {
    let (targets, id, mut left) = (Targets::of(db, &record.steps), &record.id, 0);
    for (row, failure) in record::failures(db, id).await? {
        let Some(target) = targets.named(&failure.entity) else {
            left += 1; // of a program whose model has it
            continue;
        };
        match write_again(db, target, &failure.key, &Workers::default()).await {
            Ok(_) => record::remove(db, &row).await?,
            Err(error) if is_fatal(&error) || *error.kind() == ErrorKind::Unavailable => return Err(error),
            Err(error) => {
                left += 1;
                record::set_aside(db, id, &Failure { error: error.to_string(), ..failure }).await?;
            }
        }
    }
    Ok(left)
}
