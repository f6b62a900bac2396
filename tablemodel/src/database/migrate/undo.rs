//! The way back: of an index that was built, or is being built, and of one that the model dropped. States first, one at a
//! time; then its rows.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use tablemodel_store::{
    Action, Batch, Comparison, Condition, Filter, KeyRange, Operation, PropertyName, Query, Row, StoreErrorKind, limits,
};

use super::{
    Contracted,
    counts::{cells_named, clear},
    forms,
    living::is_dead,
    plans,
    record::{Record, Work},
    rows::{self, Rows},
    running,
    settle::drain,
    states::Owned,
    stop::Stop,
    switch,
    waiting::Waiting,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, Haste, is_transient},
        outbox::is_race,
        registry::{Generation, moved, place},
        rewrites,
    },
    error::{Error, ErrorKind, Result},
    plan::{self, states::IndexState, system},
    schema::is_move,
};

/// How long other programs are waited for.
const WAIT: Duration = Duration::from_secs(300);
/// How often rows are looked for before it is given up.
const ROUNDS: u32 = 8;

/// Only one that takes something away may be gone on with.
fn undoes(db: &Database, record: &Record) -> Result<()> {
    match (record.undo, &record.taken_back) {
        (true, Some(_)) => return check_moves(db, &record.steps),
        (true, None) => return Ok(()), // of what is switched, the switch looks at its moves
        (false, _) => {}
    }
    let now = db.environment().clock.now();
    if record.owner.as_ref().is_some_and(|owner| !is_dead(db, owner)) && record.lease > now {
        return Err(running(record));
    }
    let id = &record.id;
    Err(Error::unsupported(format!(
        "migration {id} is not finished: finish it by `apply`, or take it back by `rollback`; then call `contract`"
    )))
}

/// What takes away what the model dropped is another matter, also where it was begun.
fn takes_back(db: &Database, record: &Record) -> Result<()> {
    if !record.undo || record.taken_back.is_some() {
        return check_moves(db, &record.steps);
    }
    let what = match switch::is_switch(record) {
        true => "the move is being switched to the new form".to_owned(),
        false => format!("migration {} takes away what the model dropped", record.id),
    };
    Err(Error::unsupported(format!("{what}, and there is no way back: call `contract`")))
}

/// Rows of a form that entities move to are known to programs that know of the move.
fn check_moves(db: &Database, steps: &[(String, String)]) -> Result<()> {
    let is_known = |entity: &str, name: &str| {
        let schema = db.entity_of(entity);
        schema.is_some_and(|schema| schema.moves_to.as_ref().is_some_and(|moved| moved.name() == name))
    };
    match steps.iter().find(|(entity, name)| is_move(name) && !is_known(entity, name)) {
        Some((entity, _)) => {
            let detail = "and this program's model does not say where: roll back with one that knows of the move";
            Err(Error::unsupported(format!("`{entity}` moves to other keys, {detail}")))
        }
        None => Ok(()),
    }
}

/// The moves of the model that the store keeps: where no migration built them, it has them since it was made.
fn moves_kept(db: &Database, rows: &Rows) -> Result<Vec<(String, String)>> {
    let mut kept = Vec::new();
    for schema in db.model().iter() {
        let Some(moved) = &schema.moves_to else { continue };
        let step = (schema.entity_type.to_owned(), moved.name());
        if rows.state(&step.0, &step.1)? != IndexState::Absent {
            kept.push(step);
        }
    }
    Ok(kept)
}

/// Of what is taken away, that which the program's model does not have: then no live program may have it.
pub(super) fn dropped(db: &Database, record: &Record) -> Vec<(String, String)> {
    let is_dropped = |(entity, index): &&(String, String)| {
        let schema = db.entity_of(entity);
        let is_rewrite = rewrites::version(index).is_some();
        !is_rewrite && schema.is_none_or(|schema| schema.derived_position(index).is_none())
    };
    record.steps.iter().filter(is_dropped).cloned().collect()
}

/// A migration that is taken back, or takes something away.
pub(super) struct Undo;

impl Undo {
    pub(super) async fn rollback(db: &Database, stop: &Stop) -> Result<Contracted> {
        let wanted = |rows: &Rows| match rows.last()? {
            Some(last) if !last.undo => {
                check_moves(db, &last.steps)?;
                Ok(Some((last.steps, Work::TakeBack(last.id))))
            }
            _ => match moves_kept(db, rows)? {
                moves if moves.is_empty() => Err(Error::new(ErrorKind::NotFound, "there is no migration to take back")),
                moves => Ok(Some((moves, Work::TakeBack(rows.next()?)))), // that is, its own
            },
        };
        let Some(owned) = Owned::take(db, "rollback", stop, takes_back, &wanted).await? else {
            return Ok(Contracted::default());
        };
        let take_back = |record: &mut Record| {
            if !record.undo {
                (record.undo, record.taken_back) = (true, Some(record.id.clone()));
            }
        };
        owned.change(take_back).await?;
        Self::run(&owned).await
    }

    pub(super) async fn contract(db: &Database, stop: &Stop) -> Result<Contracted> {
        if let Some(record) = Rows::read(db).await?.unfinished()? {
            undoes(db, &record)?;
        }
        let switched = switch::contract(db, stop).await?;
        let wanted = |rows: &Rows| {
            let dropped = rows.plan(db)?.dropped.into_iter().filter(|dropped| !is_move(&dropped.index));
            let dropped: Vec<_> = dropped.map(|dropped| (dropped.entity, dropped.index)).collect();
            Ok((!dropped.is_empty()).then_some((dropped, Work::TakeAway)))
        };
        match Owned::take(db, "contract", stop, undoes, &wanted).await? {
            Some(owned) => Self::run(&owned).await.map(|more| Contracted {
                steps: switched.steps.into_iter().chain(more.steps).collect(),
                rows: switched.rows + more.rows,
                ..more
            }),
            None => Ok(switched),
        }
    }

    async fn run(owned: &Owned) -> Result<Contracted> {
        match Self::take_away(owned).await {
            Ok(contracted) => Ok(contracted),
            Err(error) => {
                // Whoever goes on need not wait for the lease; a store that is gone cannot be told.
                let _ = owned.release().await;
                Err(error)
            }
        }
    }

    async fn take_away(owned: &Owned) -> Result<Contracted> {
        let db = &owned.db;
        let (_, record) = owned.rows().await?;
        if let Some(migration) = &record.taken_back {
            plans::forget(owned, migration).await?;
        }
        let dropped = dropped(db, &record);
        let what = "have an index in their model that is taken away, or have not learnt of the states yet";
        let waiting = Waiting { indexes: &dropped, knows: Some(false), what, time: WAIT };
        let down = [
            (IndexState::Readable, IndexState::WriteOnly),
            (IndexState::WriteOnly, IndexState::DeleteOnly),
            (IndexState::DeleteOnly, IndexState::Absent),
        ];
        for (from, to) in down {
            let (rows, record) = owned.rows().await?;
            if rows.steps(&record)?.iter().any(|step| step.state == from) {
                if from == IndexState::WriteOnly {
                    owned.pass_readers().await?; // it may have been readable until just now, be it by an earlier call
                }
                owned.settle(&waiting).await?;
                owned.shift(from, to).await?;
            }
        }
        owned.settle(&waiting).await?;
        drain(owned).await?;
        let states = owned.hold().await?;
        let mut contracted = Contracted { migration: Some(record.id.clone()), ..Contracted::default() };
        let derived = record.steps.iter().filter(|(_, name)| rewrites::version(name).is_none());
        for (entity, index) in derived {
            contracted.rows += remove_rows(owned, &states, entity, index).await?;
            clear(owned, &states, entity, index).await?;
        }
        drop(states);
        owned.forget_work().await?;
        owned.finish().await?;
        contracted.steps = Rows::read(db).await?.told(&record)?;
        Ok(contracted)
    }
}

/// Deletes the rows of an index that nobody writes any more; gives how many there were.
async fn remove_rows(owned: &Owned, states: &Generation, entity: &str, index: &str) -> Result<u64> {
    let db = &owned.db;
    let rows = Rows::read(db).await?;
    let schema = db.entity_of(entity);
    if let Some((old, moved)) = schema.and_then(|schema| Some((schema, schema.moves_to.as_ref()?)))
        && moved.name() == index
    {
        return forms::remove(owned, states, moved.form(), old).await;
    }
    let is_its = is_kept(db, &rows, entity);
    let place =
        schema.and_then(|schema| Some(schema.derived(schema.derived_position(index)?)?.table.unwrap_or(schema.table)));
    let tables: BTreeSet<&str> = rows.table(entity, index).into_iter().chain(place).collect();
    let tables = match schema {
        _ if !tables.is_empty() => tables,
        Some(_) => db.entity_tables(),
        None => rows.home(entity).into_iter().collect(),
    };
    // The cells in which other sources are counted by now are theirs.
    let cells = if rows.is_taken(entity, index)? { None } else { cells_named(db, index) };
    let filters: Vec<_> = [Some(rows_of(&format!("{entity}.{index}"))), cells].into_iter().flatten().collect();
    let mut removed = 0;
    for _ in 0..ROUNDS {
        let mut found = 0;
        for table in &tables {
            for filter in &filters {
                let (rows, gone) = remove_once(owned, states, &db.table_name(table), filter.clone(), &is_its).await?;
                (found, removed) = (found + rows, removed + gone);
            }
        }
        if found == 0 {
            return Ok(removed);
        }
    }
    Err(Error::new(ErrorKind::Unavailable, format!("rows of index `{index}` keep coming; a program writes it still")))
}

/// Whether a row is none of the other form of the entity, which may have an index of the same name, where it moves: the program may not know.
fn is_kept(db: &Database, rows: &Rows, entity: &str) -> impl Fn(&Row) -> bool + Send + Sync {
    let (schema, coming) = (db.entity_of(entity), moved::coming(entity, rows.all()));
    move |row| {
        let is_of_other = schema.is_some_and(|schema| plan::forms::is_of_other(schema, &row.properties));
        let is_coming = coming.is_some_and(|coming| system::version(&row.properties) >= Some(coming));
        system::kind(&row.properties).entity() != Some(entity) || !(is_of_other || is_coming)
    }
}

/// Deletes the rows of indexes that lapsed from tables in which this program does not have them: they are built elsewhere.
pub(super) async fn leave_tables(owned: &Owned) -> Result<()> {
    let states = owned.hold().await?;
    let (rows, record) = owned.rows().await?;
    for row in rows.lapsed(&record) {
        let Some((schema, name)) = rows::kept_as(&owned.db.model(), &row.key.row) else { continue };
        let recorded = rows.table(schema.entity_type, name);
        let left = recorded.filter(|table| place(schema, name).is_none_or(|own| !own.eq_ignore_ascii_case(table)));
        let Some(table) = left.map(|table| owned.db.table_name(table)) else { continue };
        let filter = rows_of(&format!("{}.{name}", schema.entity_type));
        remove_once(owned, &states, &table, filter, &is_kept(&owned.db, &rows, schema.entity_type)).await?;
    }
    Ok(())
}

/// Rows of any version of this kind.
pub(super) fn rows_of(kind: &str) -> Filter {
    let at_least = Filter::compare(system::ENTITY_TYPE, Comparison::GreaterOrEqual, format!("{kind}@"));
    at_least.and(Filter::compare(system::ENTITY_TYPE, Comparison::Less, format!("{kind}A")))
}

/// One walk over rows that satisfy both: how many it found, and how many it deleted. The batches of a page are under way together; after
/// an error no more are sent, and those that are under way are waited for.
pub(super) async fn remove_once(
    owned: &Owned,
    states: &Generation,
    table: &str,
    filter: Filter,
    is_its: &(dyn Fn(&Row) -> bool + Send + Sync),
) -> Result<(u64, u64)> {
    let mut query = Query::new(table, KeyRange::table()).filtered(filter);
    query.select = Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]);
    let (mut found, mut removed) = (0, 0);
    loop {
        let mut page = match owned.db.query_store(&query).await {
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok((found, removed)),
            other => other?,
        };
        page.rows.retain(is_its);
        found += page.rows.len() as u64;
        let partitions = page.rows.chunk_by(|a, b| a.key.partition == b.key.partition);
        let batches = partitions.flat_map(|rows| rows.chunks(limits::MAX_BATCH_OPERATIONS));
        let over = AtomicBool::new(false);
        let removals: Vec<_> = batches.map(|rows| remove(&owned.db, states, table, rows, &over)).collect();
        let (mut removals, mut end) = (stream::iter(removals).buffer_unordered(owned.db.concurrent_batches()), Ok(()));
        while let Some(gone) = removals.next().await {
            removed += gone.as_ref().copied().unwrap_or(0);
            let next = match gone {
                Ok(_) if end.is_ok() => owned.go_on().await,
                gone => gone.map(drop),
            };
            end = end.and(next);
            over.store(end.is_err(), Ordering::Relaxed);
        }
        end?;
        owned.go_on().await?;
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok((found, removed)),
        }
    }
}

/// Deletes rows of one partition, if they are as they were read, and the states as they were held; gives how many. Nothing once it is over.
async fn remove(db: &Database, states: &Generation, table: &str, rows: &[Row], is_over: &AtomicBool) -> Result<u64> {
    let Some(first) = rows.first().filter(|_| !is_over.load(Ordering::Relaxed)) else { return Ok(0) };
    let delete =
        |row: &Row| Operation { row: row.key.row.clone(), action: Action::Delete(Condition::Match(row.etag.clone())) };
    let operations = rows.iter().map(delete).collect();
    let batches = [Batch { operations, ..Batch::new(table, first.key.partition.clone()) }];
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        db.hold_lease().await?;
        db.check_lease(states)?; // once they have lapsed, they stay so
        match db.commit_planned(states, &batches, attempt, Haste::OfMany).await {
            Ok(_) => return Ok(rows.len() as u64),
            Err(error) if is_race(error.kind()) => return Ok(0), // found again, as they are by then
            Err(error) if is_transient(&error) => {
                last = Some(error);
                db.pause(attempt).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    last.map_or(Ok(0), |error| Err(error.into()))
}
