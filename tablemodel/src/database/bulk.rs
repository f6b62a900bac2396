//! Bulk writing: many entities, grouped by partition, in as many batches as that takes, several in flight.
//!
//! Not atomic as a whole, and says so: each batch is all or nothing, and what failed is reported entity by entity.

mod changes;
mod held;
mod report;

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    pin::{Pin, pin},
    sync::Arc,
};

use futures_core::Stream;
use futures_util::{
    StreamExt,
    future::{BoxFuture, Either, select},
    stream::{self, FuturesUnordered},
};
use tablemodel_store::limits;

pub(super) use self::held::rows_each;
pub use self::report::{BulkReport, BulkWritten};
use self::{
    changes::write_changes,
    held::{Due, Held, Lane, Most},
};
use crate::{
    database::{
        Database, Registered,
        abreast::is_of_one,
        beside::{Beside, Room, let_go},
        execute::Asked,
        flights::BYTES_IN_FLIGHT,
    },
    entity::TableEntity,
    error::Result,
    plan::{change::Change, copies::sources, image::Image, known::Known, short_hash::ShortHash},
    rooms::copy::{self, Source},
    schema::EntitySchema,
};

/// Commits in flight of several batches each.
const CONCURRENT_TOGETHER: usize = 16;
/// A batch. The bytes, of properties as they are in memory, are well under the 4 MiB of JSON that it may be, whose exact
/// size is checked when it is planned.
const ONE_BATCH: Most = Most { rows: limits::MAX_BATCH_OPERATIONS, bytes: 1024 * 1024 };
/// A commit of several batches: what rows that its entities share are written once for.
const TOGETHER: Most = Most { rows: 8_000, bytes: 8 * 1024 * 1024 };

/// Writes many entities. Made by [`Database::bulk`].
#[must_use]
pub struct Bulk<'a> {
    db: Database,
    stop_on_error: bool,
    progress: Option<Box<dyn FnMut(u64) + Send + 'a>>,
}

impl std::fmt::Debug for Bulk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bulk").field("stop_on_error", &self.stop_on_error).finish_non_exhaustive()
    }
}

impl Database {
    /// Writes many entities, grouped by partition and in several batches.
    pub fn bulk<'a>(&self) -> Bulk<'a> {
        Bulk { db: self.clone(), stop_on_error: false, progress: None }
    }

    /// Whether many entities of a partition are committed at once, in as many batches as they take: where each commit
    /// writes rows that they all share, and the store can.
    fn goes_together(&self, schema: &EntitySchema) -> bool {
        let shares = schema.has_shared_rows() || !schema.copies.is_empty();
        self.is_atomic() && shares && !schema.is_joined()
    }
}

impl<'a> Bulk<'a> {
    /// Stops at the first entity that cannot be written. Batches that are under way are still finished; entities that were taken, and
    /// are in none, are not written: [`BulkReport::skipped`] counts them.
    pub fn stop_on_error(mut self) -> Self {
        self.stop_on_error = true;
        self
    }

    /// Calls `report` with the number of entities written so far, after each batch.
    pub fn progress(mut self, report: impl FnMut(u64) + Send + 'a) -> Self {
        self.progress = Some(Box::new(report));
        self
    }

    /// Inserts entities that must not exist yet.
    ///
    /// Cost: one request per 100 rows of a partition, 32 at a time, or 1,024 to a store of this process, and about 64 MiB of them; at
    /// most 20,000 entities and 64 MiB of them wait in memory beside those. A batch in which one entity is refused is written again
    /// in halves, so that only that one fails. Of entities with one key the first is inserted, and the others are refused. Within a
    /// runtime of tokio each batch is a task, so that several are planned at a time, mostly on all processors but one. In an embedded
    /// store single writes overtake the batches that wait.
    ///
    /// Entities that meet in a row (a list, an aggregate, the source of a copy) are written by one request at a time, which writes
    /// that row once. Where the store commits several batches atomically, up to 8,000 such rows are one commit: those of one
    /// partition; and those of all, where they copy or count in others and share no lists.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let report = db.bulk().insert_all(futures_util::stream::iter((10..500).map(employee))).await?;
    /// assert_eq!((report.written, report.failed.len()), (490, 0));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those that concern no single entity: an entity that the model does not list, a database that was opened
    /// read-only. The others are reported.
    pub async fn insert_all<E: TableEntity>(self, entities: impl Stream<Item = E> + Send) -> Result<BulkReport> {
        self.write_all(E::SCHEMA, pin!(images(entities)), Change::Insert).await
    }

    /// Inserts entities, or replaces those with their keys.
    ///
    /// Of entities with one key, the last stays. Cost: as [`Bulk::insert_all`], and one point read an entity.
    ///
    /// # Errors
    ///
    /// Those of [`Bulk::insert_all`].
    pub async fn upsert_all<E: TableEntity>(self, entities: impl Stream<Item = E> + Send) -> Result<BulkReport> {
        self.write_all(E::SCHEMA, pin!(images(entities)), Change::Upsert).await
    }

    /// As [`Bulk::insert_all`], of what an iterator or a collection gives.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let report = db.bulk().insert_iter((10..500).map(employee)).await?;
    /// assert_eq!(report.into_result()?.written, 490);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Bulk::insert_all`].
    pub async fn insert_iter<E: TableEntity>(
        self,
        entities: impl IntoIterator<Item = E, IntoIter: Send> + Send,
    ) -> Result<BulkReport> {
        self.insert_all(stream::iter(entities)).await
    }

    /// As [`Bulk::upsert_all`], of what an iterator or a collection gives.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn upsert_iter<E: TableEntity>(
        self,
        entities: impl IntoIterator<Item = E, IntoIter: Send> + Send,
    ) -> Result<BulkReport> {
        self.upsert_all(stream::iter(entities)).await
    }

    async fn write_all(
        self,
        schema: &'static EntitySchema,
        images: Images<'_>,
        change: fn(Image) -> Change,
    ) -> Result<BulkReport> {
        let registered = self.db.writable(schema).await?;
        self.db.check_writable()?;
        let goes_abreast = self.db.goes_abreast(&registered);
        let (most, at_a_time) = match self.db.goes_together(schema) {
            true => (TOGETHER, CONCURRENT_TOGETHER),
            false => (ONE_BATCH, self.db.concurrent_batches()),
        };
        let writing = Writing {
            registered,
            change,
            goes_abreast,
            held: Held::of(schema, most),
            hasher: RandomState::new(),
            busy: HashSet::default(),
            beside: Beside::of_this_machine(),
            flights: FuturesUnordered::new(),
            bytes: 0,
            at_a_time,
            report: BulkReport::default(),
            bulk: self,
        };
        Ok(writing.run(images).await)
    }
}

/// The entities of a load as they come, of whatever type: a load is compiled once.
type Images<'i> = Pin<&'i mut (dyn Stream<Item = Result<Image>> + Send)>;

fn images<E: TableEntity>(entities: impl Stream<Item = E> + Send) -> impl Stream<Item = Result<Image>> + Send {
    entities.map(|entity| Image::of(&entity))
}

/// A bulk write on its way.
struct Writing<'a> {
    bulk: Bulk<'a>,
    registered: Arc<Registered>,
    change: fn(Image) -> Change,
    /// Whether entities of several partitions may be one commit.
    goes_abreast: bool,
    held: Held,
    hasher: RandomState,
    /// Hashes of the keys in flight: a second entity of one key waits for the first, so that writes are never reordered.
    busy: HashSet<u64, ShortHash>,
    beside: Beside,
    flights: FuturesUnordered<BoxFuture<'static, Landed>>,
    /// Bytes in flight.
    bytes: usize,
    /// Flights at a time.
    at_a_time: usize,
    report: BulkReport,
}

/// What became of one flight.
struct Landed {
    keys: Vec<u64>,
    bytes: usize,
    report: BulkReport,
    /// Handed back to be freed where they were made: elsewhere that is slower.
    changes: Vec<Change>,
}

impl Writing<'_> {
    async fn run(mut self, mut images: Images<'_>) -> BulkReport {
        let mut taken = 0_u64;
        while let Some(image) = self.next_of(&mut images).await {
            taken += 1;
            match image {
                Ok(image) => {
                    let lane = self.lane(&image);
                    self.held.add(image, lane, self.change);
                }
                Err(error) => self.report.failed.push(error.within(&format!("entity {taken} of the load"))),
            }
            self.launch(Asked::OF_MANY).await;
        }
        self.held.release(0, 0);
        let is_alone = self.flights.is_empty() && self.held.due.len() == 1;
        self.launch(if is_alone { Asked::UNTOLD } else { Asked::OF_MANY }).await;
        let mut written = Vec::with_capacity(self.flights.len());
        while let Some(landed) = self.flights.next().await {
            written.push(self.note(landed));
        }
        if !self.registered.schema.has_blobs() {
            let_go(written); // nothing of the caller's is in them
        }
        let told = self.report.written.saturating_add(self.report.failed.len() as u64);
        self.report.skipped = taken.saturating_sub(told);
        self.report
    }

    /// The next entity; what is in flight goes on meanwhile. None at the end, or where an error stops it.
    async fn next_of(&mut self, images: &mut Images<'_>) -> Option<Result<Image>> {
        while !self.is_stopped() {
            if self.flights.is_empty() {
                return images.next().await;
            }
            match select(images.next(), self.flights.next()).await {
                Either::Left((image, _)) => return image,
                Either::Right((landed, _)) => drop(landed.map(|landed| self.note(landed))),
            }
        }
        None
    }

    fn is_stopped(&self) -> bool {
        self.bulk.stop_on_error && !self.report.failed.is_empty()
    }

    /// Sends what is due, each batch as soon as there is room.
    async fn launch(&mut self, asked: Asked) {
        while !self.is_stopped()
            && let Some(Due { mut changes, bytes }) = self.held.due.pop_front()
        {
            if self.goes_abreast {
                changes.sort_by(|a, b| a.key().partition.cmp(&b.key().partition)); // those of one stay as they came
            }
            let mut keys: Vec<_> = changes.iter().map(|change| self.hasher.hash_one(change.key())).collect();
            if let Some(first) = changes.first().filter(|change| change.schema().has_shared_rows()) {
                // Rows that several entities share are written by one flight at a time.
                let partition = is_of_one(&changes).then_some(&first.key().partition);
                keys.push(self.hasher.hash_one(partition));
            }
            let copying = changes.iter().filter(|change| !change.schema().copies.is_empty());
            keys.extend(copying.flat_map(|change| self.guarded(change)));
            while self.is_full() || keys.iter().any(|key| self.busy.contains(key)) {
                self.land().await;
            }
            let room = self.room().await;
            if self.is_stopped() {
                return self.held.due.push_front(Due { changes, bytes });
            }
            self.busy.extend(&keys);
            self.bytes += bytes;
            let (db, registered) = (self.bulk.db.clone(), self.registered.clone());
            let flight = async move {
                let report = write_changes(&db, &registered, &changes, asked).await;
                Landed { keys, bytes, report, changes }
            };
            self.flights.push(self.beside.begin_in(room, flight));
        }
    }

    /// Room for one more flight; what is in flight goes on meanwhile.
    async fn room(&mut self) -> Room {
        let mut room = pin!(self.beside.room());
        while !self.flights.is_empty() {
            match select(room.as_mut(), self.flights.next()).await {
                Either::Left((room, _)) => return room,
                Either::Right((landed, _)) => drop(landed.map(|landed| self.note(landed))),
            }
        }
        room.await
    }

    /// Those that copy from entities elsewhere, or add to some, go with others that do, whatever their partitions are: each would else
    /// wait until the one before it has written what both meet in.
    fn lane(&self, image: &Image) -> Lane {
        let schema = image.schema;
        let is_away = |source: Source| !source.is_beside(schema, &image.key.partition);
        let copies =
            || schema.copies.iter().any(|copy| copy::source(image, copy).is_ok_and(|of| of.is_some_and(is_away)));
        let adds = || schema.aggregates.iter().any(|aggregate| !aggregate.is_beside(schema));
        (!(self.goes_abreast && (copies() || adds()))).then(|| image.key.partition.clone())
    }

    fn is_full(&self) -> bool {
        self.flights.len() >= self.at_a_time || self.bytes >= BYTES_IN_FLIGHT
    }

    /// Hashes of the sources whose copies the change takes, where it writes them too: one flight at a time does.
    fn guarded(&self, change: &Change) -> Vec<u64> {
        let schema = change.schema();
        let is_guarded = |source: &Source| {
            self.bulk.db.is_atomic()
                || source.is_beside(schema, &change.key().partition)
                || schema.restricts(source.schema.entity_type)
        };
        let sources = sources(change, &self.registered.setting, &Known::new(), false).unwrap_or_default();
        let hash = |source: Source| self.hasher.hash_one((source.schema.table, source.key));
        sources.into_iter().filter(is_guarded).map(hash).collect()
    }

    async fn land(&mut self) {
        let landed = self.flights.next().await;
        drop(landed.map(|landed| self.note(landed)));
    }

    /// Counts what became of a flight; gives what it wrote, which nobody needs any more.
    fn note(&mut self, landed: Landed) -> Vec<Change> {
        let Landed { keys, bytes, report, changes } = landed;
        self.bytes -= bytes;
        for key in &keys {
            self.busy.remove(key);
        }
        self.report.written += report.written;
        self.report.batches += report.batches;
        self.report.failed.extend(report.failed);
        if let Some(progress) = &mut self.bulk.progress {
            progress(self.report.written);
        }
        changes
    }
}
