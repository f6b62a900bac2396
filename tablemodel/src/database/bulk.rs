//! Bulk writing: many entities, grouped by partition, in as many batches as that takes, several in flight.
//!
//! Not atomic as a whole, and says so: each batch is all or nothing, and what failed is reported entity by entity.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    pin::{Pin, pin},
    sync::Arc,
};

use futures_core::Stream;
use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Either, select},
    stream::FuturesUnordered,
};
use tablemodel_store::{RowKey, limits, size};

use crate::{
    database::{Database, Registered},
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    plan::{change::Change, image::Image},
    schema::{Cover, EntitySchema},
};

/// Batches in flight.
const CONCURRENT_BATCHES: usize = 32;
/// Entities held back so that partitions fill their batches, at most.
const HELD_ENTITIES: usize = 20_000;
/// Bytes of them, as they are in memory.
const HELD_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of properties of one batch, as they are in memory: well under the 4 MiB of JSON that a batch may be, whose exact
/// size is checked when the batch is planned.
const BATCH_BYTES: usize = 1024 * 1024;

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

/// What a bulk write did.
#[derive(Debug, Default)]
#[must_use = "entities that could not be written are reported here"]
pub struct BulkReport {
    /// Entities written.
    pub written: u64,
    /// Batches committed.
    pub batches: u64,
    /// What could not be written, each error with the entity's key, where one can be made; the others were.
    pub failed: Vec<Error>,
}

impl BulkReport {
    /// The report, or its first error.
    ///
    /// # Errors
    ///
    /// The first of [`BulkReport::failed`]. What is counted as written stays written.
    pub fn into_result(self) -> Result<Self> {
        match self.failed.first() {
            Some(error) => Err(error.clone()),
            None => Ok(self),
        }
    }
}

impl Database {
    /// Writes many entities, grouped by partition and in several batches.
    pub fn bulk<'a>(&self) -> Bulk<'a> {
        Bulk { db: self.clone(), stop_on_error: false, progress: None }
    }
}

impl<'a> Bulk<'a> {
    /// Stops at the first entity that cannot be written; what is in flight is still finished.
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
    /// Cost: one request per 100 rows of a partition, 32 at a time; at most 20,000 entities and 64 MiB of them are held in
    /// memory. A batch in which one entity is refused is written again in halves, so that only that one fails. Of
    /// entities with one key the first is inserted, and the others are refused.
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
        self.write_all::<E>(entities, Change::Insert).await
    }

    /// Inserts entities, or replaces those with their keys.
    ///
    /// Of entities with one key, the last stays. Cost: as [`Bulk::insert_all`], and one point read an entity.
    ///
    /// # Errors
    ///
    /// Those of [`Bulk::insert_all`].
    pub async fn upsert_all<E: TableEntity>(self, entities: impl Stream<Item = E> + Send) -> Result<BulkReport> {
        self.write_all::<E>(entities, Change::Upsert).await
    }

    async fn write_all<E: TableEntity>(
        self,
        entities: impl Stream<Item = E> + Send,
        change: fn(Image) -> Change,
    ) -> Result<BulkReport> {
        let registered = self.db.registered(E::SCHEMA)?;
        self.db.check_writable()?;
        let writing = Writing {
            registered,
            change,
            held: Held::of(E::SCHEMA),
            busy: HashSet::new(),
            flights: FuturesUnordered::new(),
            report: BulkReport::default(),
            bulk: self,
        };
        Ok(writing.run::<E>(entities).await)
    }
}

/// A bulk write on its way.
struct Writing<'a> {
    bulk: Bulk<'a>,
    registered: Arc<Registered>,
    change: fn(Image) -> Change,
    held: Held,
    /// The keys in flight: a second entity of one key waits for the first, so that writes are never reordered.
    busy: HashSet<RowKey>,
    flights: FuturesUnordered<BoxFuture<'static, Landed>>,
    report: BulkReport,
}

/// What became of one flight.
struct Landed {
    keys: Vec<RowKey>,
    report: BulkReport,
}

impl Writing<'_> {
    async fn run<E: TableEntity>(mut self, entities: impl Stream<Item = E> + Send) -> BulkReport {
        let mut entities = pin!(entities);
        while let Some(entity) = self.next_of(&mut entities).await {
            match Image::of(&entity) {
                Ok(image) => self.held.add(image),
                Err(error) => self.report.failed.push(error),
            }
            self.launch().await;
        }
        self.held.release(0, 0);
        self.launch().await;
        while !self.flights.is_empty() {
            self.land().await;
        }
        self.report
    }

    /// The next entity; what is in flight goes on meanwhile. None at the end, or where an error stops it.
    async fn next_of<E: TableEntity>(&mut self, entities: &mut Pin<&mut (impl Stream<Item = E> + Send)>) -> Option<E> {
        while !self.is_stopped() {
            if self.flights.is_empty() {
                return entities.next().await;
            }
            match select(entities.next(), self.flights.next()).await {
                Either::Left((entity, _)) => return entity,
                Either::Right((landed, _)) => self.note(landed),
            }
        }
        None
    }

    fn is_stopped(&self) -> bool {
        self.bulk.stop_on_error && !self.report.failed.is_empty()
    }

    /// Sends what is due, each batch as soon as there is room.
    async fn launch(&mut self) {
        while !self.is_stopped()
            && let Some(images) = self.held.due.pop_front()
        {
            let waits = |writing: &Self| {
                writing.flights.len() >= CONCURRENT_BATCHES
                    || busy_keys(&images).iter().any(|key| writing.busy.contains(key))
            };
            while waits(self) {
                self.land().await;
            }
            let keys = busy_keys(&images);
            self.busy.extend(keys.iter().cloned());
            let (db, registered, change) = (self.bulk.db.clone(), self.registered.clone(), self.change);
            let flight = async move { Landed { report: write_images(&db, &registered, images, change).await, keys } };
            self.flights.push(flight.boxed());
        }
    }

    async fn land(&mut self) {
        let landed = self.flights.next().await;
        self.note(landed);
    }

    fn note(&mut self, landed: Option<Landed>) {
        let Some(Landed { keys, report }) = landed else { return };
        for key in &keys {
            self.busy.remove(key);
        }
        self.report.written += report.written;
        self.report.batches += report.batches;
        self.report.failed.extend(report.failed);
        if let Some(progress) = &mut self.bulk.progress {
            progress(self.report.written);
        }
    }
}

/// What other flights must wait for: the entities, and where some of their rows are shared by several, the partition.
fn busy_keys(images: &[Image]) -> Vec<RowKey> {
    let shared = images.first().filter(|image| image.schema.has_shared_rows());
    let partition = shared.map(|image| RowKey::new(image.key.partition.clone(), ""));
    images.iter().map(|image| image.key.clone()).chain(partition).collect()
}

/// Images that wait for their partition's batch to fill.
struct Held {
    open: HashMap<String, Chunk>,
    entities: usize,
    bytes: usize,
    /// What waits no longer, in the order in which it has to be written.
    due: VecDeque<Vec<Image>>,
    /// Entities of one batch.
    per_batch: usize,
    /// Rows of one entity that hold all its properties.
    copies: usize,
}

#[derive(Default)]
struct Chunk {
    images: Vec<Image>,
    bytes: usize,
}

impl Held {
    fn of(schema: &'static EntitySchema) -> Self {
        let copies = schema.indexes.iter().filter(|index| index.cover == Cover::Whole).count();
        Self {
            open: HashMap::new(),
            entities: 0,
            bytes: 0,
            due: VecDeque::new(),
            per_batch: (limits::MAX_BATCH_OPERATIONS / rows_each(schema)).max(1),
            copies: 1 + copies,
        }
    }

    /// Holds one more; what fills a batch is due.
    fn add(&mut self, image: Image) {
        let partition = image.key.partition.clone();
        let bytes = size::row_bytes(&image.key.partition, &image.key.row, &image.fields) * self.copies;
        let chunk = self.open.entry(partition.clone()).or_default();
        chunk.images.push(image);
        chunk.bytes += bytes;
        let is_full = chunk.images.len() >= self.per_batch || chunk.bytes >= BATCH_BYTES;
        self.entities += 1;
        self.bytes += bytes;
        if is_full {
            self.release_partition(&partition);
        }
        if self.entities >= HELD_ENTITIES || self.bytes >= HELD_BYTES {
            self.release(HELD_ENTITIES / 2, HELD_BYTES / 2);
        }
    }

    /// Lets the fullest batches go until at most so many entities and bytes are held.
    fn release(&mut self, entities: usize, bytes: usize) {
        let mut partitions: Vec<_> = self.open.iter().map(|(key, chunk)| (chunk.images.len(), key.clone())).collect();
        partitions.sort_unstable();
        while (self.entities > entities || self.bytes > bytes)
            && let Some((_, partition)) = partitions.pop()
        {
            self.release_partition(&partition);
        }
    }

    fn release_partition(&mut self, partition: &str) {
        if let Some(chunk) = self.open.remove(partition) {
            self.entities -= chunk.images.len();
            self.bytes -= chunk.bytes;
            self.due.push_back(chunk.images);
        }
    }
}

/// Writes images of one partition as one batch; where one of them is refused, in halves.
async fn write_images(
    db: &Database,
    registered: &Registered,
    images: Vec<Image>,
    change: fn(Image) -> Change,
) -> BulkReport {
    let mut report = BulkReport::default();
    let mut rest = vec![images];
    while let Some(mut images) = rest.pop() {
        let Some(partition) = images.first().map(|image| image.key.partition.clone()) else { continue };
        let changes: Vec<_> = images.iter().cloned().map(change).collect();
        match db.write(registered, &partition, changes).await {
            Ok(_) => {
                report.written += images.len() as u64;
                report.batches += 1;
            }
            Err(error) if images.len() == 1 || concerns_all(&error) => {
                report.failed.extend(
                    images.into_iter().map(|image| error.clone().for_entity(image.schema.entity_type, image.key)),
                );
            }
            Err(_) => {
                let second = images.split_off(images.len() / 2);
                rest.extend([second, images]);
            }
        }
    }
    report
}

/// Whether each entity of the batch would meet the same error, or may have been written.
fn concerns_all(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Denied | ErrorKind::Unavailable)
}

/// The most rows that one entity takes in its own partition: itself, its index rows there, and an outbox row.
fn rows_each(schema: &EntitySchema) -> usize {
    let here = schema.indexes.iter().filter(|index| index.elsewhere.is_none()).count();
    let lists = schema.indexes.iter().filter(|index| index.cover == Cover::List).count(); // a chunk beside the head
    1 + here + lists + 2 * schema.aggregates.len() + usize::from(here < schema.indexes.len())
}
