//! Aggregates beside their sources: their cells marked before anybody counts, counted once everybody does, and taken away.
//!
//! Contributions are rows of an index like any other, and are seen to where those are. No source is written here.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use tablemodel_store::{Batch, ETag, Filter, KeyRange, Query, Row, RowKey, StoreErrorKind};

use super::{states::Owned, undo::rows_of};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, Haste, is_transient},
        execute::Asked,
        outbox::is_race,
        registry::{Generation, place_of},
    },
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Change, is_head, is_primary},
        image::Image,
        states::IndexState,
    },
    rooms::aggregate::{self, Into},
    schema::{AggregateSchema, EntitySchema},
};

/// How often cells that are not counted are looked for.
const ROUNDS: u32 = 5;

/// An aggregate that a migration builds beside its sources.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    source: &'static EntitySchema,
    aggregate: &'static AggregateSchema,
    /// Its number among what follows the source.
    position: usize,
}

/// The aggregate of this name, and its number, if the cells that it adds to stand beside its sources.
fn beside(source: &'static EntitySchema, name: &str) -> Option<(&'static AggregateSchema, usize)> {
    let position = source.derived_position(name)?;
    let aggregate = source.aggregate(position).filter(|aggregate| aggregate.is_beside(source))?;
    Some((aggregate, position))
}

/// Those of these steps.
pub(super) fn counted(db: &Database, steps: &[(String, String)]) -> Vec<Counted> {
    let of_step = |(entity, name): &(String, String)| {
        let source = db.entity_of(entity)?;
        let (aggregate, position) = beside(source, name)?;
        Some(Counted { source, aggregate, position })
    };
    steps.iter().filter_map(of_step).collect()
}

/// From which state one that lapsed is built anew: cells beside their sources are marked once more.
pub(super) fn anew(schema: &'static EntitySchema, name: &str) -> IndexState {
    beside(schema, name).map_or(IndexState::WriteOnly, |_| IndexState::DeleteOnly)
}

/// Whether the step is one that no entity need be written once more for: the cell alone tells of it.
pub(super) fn is_cell_alone(schema: &'static EntitySchema, name: &str) -> bool {
    beside(schema, name).is_some_and(|(aggregate, _)| !aggregate.is_extreme())
}

/// Marks the cell of every source as one that is still to be counted: from then on, where there is no cell there is no source.
///
/// For that every live program must mark those of the sources that it writes.
/// Cost: one request per 1,000 rows of the sources' tables, a read and a write for each cell.
pub(super) async fn mark(owned: &Owned, counted: &[Counted]) -> Result<()> {
    if counted.is_empty() {
        return Ok(());
    }
    let states = owned.hold().await?;
    for (at, Counted { source, .. }) in counted.iter().enumerate() {
        let is_first = counted.iter().take(at).all(|earlier| earlier.source.entity_type != source.entity_type);
        if is_first {
            mark_of(owned, &states, source, counted).await?;
        }
    }
    Ok(())
}

async fn mark_of(owned: &Owned, states: &Generation, source: &'static EntitySchema, counted: &[Counted]) -> Result<()> {
    let of_source = counted.iter().filter(|of| of.source.entity_type == source.entity_type);
    let own: Vec<_> = of_source.map(|of| of.position).collect();
    let (mut here, mut marked) = (String::new(), HashSet::new());
    let db = &owned.db;
    let mut query = Query::new(db.table_name(source.table), KeyRange::table());
    loop {
        let Some(page) = page(db, &query).await? else { return Ok(()) };
        for row in page.rows.into_iter().filter(|row| is_head(source, row)) {
            if row.key.partition != here {
                here.clone_from(&row.key.partition);
                marked.clear();
            }
            for into in added_to(db, source, row, &own).await? {
                let cell = into.cell();
                if !marked.contains(&cell) {
                    mark_cell(db, states, &into, &RowKey::new(here.clone(), cell.clone())).await?;
                    marked.insert(cell);
                }
            }
        }
        owned.go_on().await?;
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok(()),
        }
    }
}

/// What a source adds to, of these aggregates. What it adds to one cannot be told of a source that cannot be read, or whose value cannot
/// be added: the walks tell of those.
async fn added_to(db: &Database, source: &'static EntitySchema, head: Row, aggregates: &[usize]) -> Result<Vec<Into>> {
    let image = match db.whole_entity(source, head).await {
        Ok(found) => found.and_then(|group| Image::written(source, &group).ok()),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::UnknownVersion) => None,
        Err(error) => return Err(error),
    };
    let Some(image) = image else { return Ok(Vec::new()) };
    let edits = aggregates.iter().filter_map(|own| {
        let state = |at| if at == *own { IndexState::DeleteOnly } else { IndexState::Absent };
        aggregate::edits(None, Some(&image), state).ok()
    });
    Ok(edits.flatten().map(|edit| edit.into).collect())
}

async fn mark_cell(db: &Database, states: &Generation, into: &Into, key: &RowKey) -> Result<()> {
    let table = db.table_name(into.target.table);
    for attempt in 0..ATTEMPTS {
        let cell = db.get_row(&table, key).await?;
        if cell.as_ref().is_some_and(aggregate::is_unbuilt) {
            return Ok(());
        }
        db.hold_lease().await?;
        let action = into.unbuilt(cell.as_ref(), db.environment().clock.now().ticks());
        let batch = Batch::new(table.as_str(), key.partition.as_str()).with(key.row.clone(), action);
        match db.commit_planned(states, &[batch], attempt, Haste::Now).await {
            Ok(_) => return Ok(()),
            Err(error) if is_race(error.kind()) => {}
            Err(error) if is_transient(&error) => db.pause(attempt).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "the cell of an aggregate keeps changing; apply again").at_key(key.clone()))
}

/// Counts the sources of every cell that is marked. Every live program must keep those that are counted.
///
/// Cost: one request per 1,000 rows of the targets' tables, twice a read of each partition that has such cells at most, where nobody
/// writes it, and two or three writes for each cell; memory for the rows of one partition.
pub(super) async fn count(owned: &Owned, counted: &[Counted]) -> Result<()> {
    for Counted { aggregate, .. } in counted {
        let filter = cells_of(aggregate).and(aggregate::unbuilt_only());
        for _ in 0..ROUNDS {
            if count_once(owned, aggregate.target.table, filter.clone()).await? == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// One walk over cells that are not counted: how many it found. Those of a partition are counted together, on however many pages they
/// are: their sources are all of its rows.
async fn count_once(owned: &Owned, table: &'static str, filter: Filter) -> Result<u64> {
    let mut query = Query::new(owned.db.table_name(table), KeyRange::table()).filtered(filter);
    let (mut found, mut partition, mut cells) = (0, String::new(), BTreeMap::new());
    loop {
        let Some(page) = page(&owned.db, &query).await? else { return Ok(found) };
        found += page.rows.len() as u64;
        for Row { key, etag, .. } in page.rows {
            if key.partition != partition {
                count_these(owned, table, &partition, std::mem::take(&mut cells)).await?;
                partition = key.partition;
            }
            cells.insert(key.row, etag);
        }
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => break,
        }
        owned.go_on().await?;
    }
    count_these(owned, table, &partition, cells).await?;
    Ok(found)
}

/// Counts the sources of cells of one partition, as they were read. One that changes meanwhile is read again, and then its sources.
async fn count_these(
    owned: &Owned,
    table: &'static str,
    partition: &str,
    mut left: BTreeMap<String, ETag>,
) -> Result<()> {
    let mut attempt = 0;
    while attempt < ATTEMPTS {
        if left.is_empty() {
            return Ok(());
        }
        let (before, mut hindered) = (left.len(), false);
        for found in owned.db.uncounted(table, partition, &left).await? {
            match owned.db.mend(&found).await {
                Err(error) if is_passing(&error) => hindered = true,
                other => {
                    other?;
                    left.remove(&found.key.row);
                }
            }
            owned.go_on().await?;
        }
        let unchanged = still_unbuilt(&owned.db, table, partition, &mut left).await?;
        if unchanged == left.len() && !hindered {
            return Ok(()); // there is nothing to do about these, if any: the walks tell why
        }
        attempt = if left.len() < before { 0 } else { attempt + 1 };
        owned.db.pause(attempt).await;
    }
    let key = left.into_keys().next().map(|row| RowKey::new(partition, row));
    let detail = "sources of an aggregate are written more often than they can be counted; apply again";
    let error = Error::new(ErrorKind::Unavailable, detail);
    Err(key.map_or(error.clone(), |key| error.at_key(key)))
}

/// Leaves those cells that are still to be counted, as they are now; gives how many are as they were.
async fn still_unbuilt(
    db: &Database,
    table: &str,
    partition: &str,
    cells: &mut BTreeMap<String, ETag>,
) -> Result<usize> {
    let mut unchanged = 0;
    for (row, etag) in std::mem::take(cells) {
        let cell = db.get_row(&db.table_name(table), &RowKey::new(partition, row.clone())).await?;
        if let Some(cell) = cell.filter(aggregate::is_unbuilt) {
            unchanged += usize::from(cell.etag == etag);
            cells.insert(row, cell.etag);
        }
    }
    Ok(unchanged)
}

/// Whether it may go better with what is there by now.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Conflict { .. }
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::Unavailable
            | ErrorKind::OutcomeUnknown
    )
}

/// The cells of an aggregate.
fn cells_of(aggregate: &AggregateSchema) -> Filter {
    rows_of(&format!("{}.~{}", aggregate.target.entity_type, aggregate.into))
}

/// The cells of an aggregate of this name that nobody keeps, if the name is of one. While targets of the model hold it, their inserts
/// make cells that say nothing: these stay.
pub(super) fn cells_named(db: &Database, name: &str) -> Option<Filter> {
    let (target, into) = place_of(name)?;
    let all = rows_of(&format!("{target}.~{into}"));
    let schema = db.entity_of(target);
    let is_held = schema.and_then(|schema| schema.property(into)).is_some_and(|property| property.aggregate);
    Some(if is_held { all.and(aggregate::told_only()) } else { all })
}

/// Has the targets of an aggregate that is taken back say what they do without sources. Of one that the model does not name, what
/// they hold is theirs.
pub(super) async fn clear(owned: &Owned, states: &Arc<Generation>, entity: &str, name: &str) -> Result<()> {
    let mut states = Arc::clone(states);
    let db = &owned.db;
    let source = db.entity_of(entity);
    let aggregate = source.and_then(|schema| schema.aggregate(schema.derived_position(name)?));
    let target = aggregate.and_then(|of| db.entity_of(of.target.entity_type));
    let aggregate = aggregate.filter(|of| !of.is_sharded()); // of those in parts the target holds nothing
    let (Some(aggregate), Some(target)) = (aggregate, target) else { return Ok(()) };
    let mut query = Query::new(db.table_name(target.table), KeyRange::table());
    loop {
        let Some(page) = page(db, &query).await? else { return Ok(()) };
        for row in page.rows.iter().filter(|row| is_head(target, row)) {
            let mut done = clear_one(db, &states, target, aggregate, &row.key).await;
            if done.is_err() && registry_has_moved(db, &states) {
                states = owned.hold().await?; // others said what they lack; the migration is this call's still
                done = clear_one(db, &states, target, aggregate, &row.key).await;
            }
            done?;
        }
        owned.go_on().await?;
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok(()),
        }
    }
}

/// Whether the states of indexes are others by now.
fn registry_has_moved(db: &Database, states: &Generation) -> bool {
    db.0.registry.enter().epoch != states.epoch
}

async fn clear_one(
    db: &Database,
    states: &Generation,
    target: &'static EntitySchema,
    aggregate: &AggregateSchema,
    key: &RowKey,
) -> Result<()> {
    let registered = db.registered(target)?;
    let Some(into) = aggregate::held(target, &key.row).find(|into| into.property.property == aggregate.into) else {
        return Ok(());
    };
    let none = into.value(&aggregate::Total::none(into.property))?;
    for _ in 0..ATTEMPTS {
        let there = db.read_entity(target, &registered.table, key).await?;
        let Some(there) = there.filter(|rows| is_primary(target, &rows.head)) else { return Ok(()) };
        let Ok(image) = Image::written(target, &there) else { return Ok(()) }; // what cannot be read holds nothing
        if image.fields.get(aggregate.into).map(|value| value.to_value()) == none {
            return Ok(());
        }
        let sets = vec![(aggregate.into, none.clone())];
        let refresh = [Change::Refresh { schema: target, key: key.clone(), sets }];
        match db.write_untold(&registered, &key.partition, &refresh, Asked::UNTOLD.on(states)).await {
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::NotFound) => {}
            other => return other.map_err(Error::alone),
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "the entity keeps changing").of(target.entity_type).at_key(key.clone()))
}

/// A page; none where there is no table.
async fn page(db: &Database, query: &Query) -> Result<Option<tablemodel_store::Page>> {
    match db.query_store(query).await {
        Err(error) if error.kind() == StoreErrorKind::TableNotFound => Ok(None),
        other => Ok(Some(other?)),
    }
}
