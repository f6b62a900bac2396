//! Bulk writing: many entities, grouped by partition, in as many batches as that takes, several in flight.
//!
//! Not atomic as a whole, and says so: each batch is all or nothing, and what failed is reported entity by entity.

use std::collections::HashMap;

use futures_core::Stream;
use futures_util::{StreamExt, stream::FuturesUnordered};

use crate::{
    database::Database,
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    plan::{change::Change, image::Image},
};

/// Batches in flight.
const CONCURRENT_BATCHES: usize = 32;
/// Entities held back so that partitions fill their batches, at most.
const HELD_ENTITIES: usize = 20_000;
/// Rows of one batch.
const BATCH_ROWS: usize = tablemodel_store::limits::MAX_BATCH_OPERATIONS;
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
    /// What could not be written, each error with the entity's key; the others were.
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
    /// Cost: one request per 100 rows of a partition, 32 at a time; at most 20,000 entities are held in memory.
    /// A batch in which one entity is refused is written again entity by entity, so that only that one fails.
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
    /// Those that concern no single entity, such as an entity that the model does not list. The others are reported.
    pub async fn insert_all<E: TableEntity>(self, entities: impl Stream<Item = E> + Send) -> Result<BulkReport> {
        self.write_all::<E>(entities, Change::Insert).await
    }

    /// Inserts entities, or replaces those with their keys.
    ///
    /// Cost: as [`Bulk::insert_all`], and one point read an entity.
    ///
    /// # Errors
    ///
    /// Those of [`Bulk::insert_all`].
    pub async fn upsert_all<E: TableEntity>(self, entities: impl Stream<Item = E> + Send) -> Result<BulkReport> {
        self.write_all::<E>(entities, Change::Upsert).await
    }

    async fn write_all<E: TableEntity>(
        mut self,
        entities: impl Stream<Item = E> + Send,
        change: fn(Image) -> Change,
    ) -> Result<BulkReport> {
        let registered = self.db.registered(E::SCHEMA)?;
        let rows_per_entity = 1 + E::SCHEMA.indexes.len();
        let mut held = Held { chunks: HashMap::new(), entities: 0, per_batch: (BATCH_ROWS / rows_per_entity).max(1) };
        let mut report = BulkReport::default();
        let mut flights = FuturesUnordered::new();
        let mut entities = std::pin::pin!(entities);
        let mut input = true;
        while input || held.entities > 0 || !flights.is_empty() {
            if self.stop_on_error && !report.failed.is_empty() {
                (input, held.entities) = (false, 0);
                held.chunks.clear();
            }
            if flights.len() >= CONCURRENT_BATCHES || (!input && held.entities == 0) {
                if let Some(done) = flights.next().await {
                    self.add(&mut report, done);
                }
                continue;
            }
            let chunk = match if input { entities.next().await } else { None } {
                Some(entity) => match Image::of(&entity) {
                    Ok(image) => held.add(image),
                    Err(error) => {
                        report.failed.push(error);
                        None
                    }
                },
                None => {
                    input = false;
                    held.largest()
                }
            };
            if let Some(chunk) = chunk {
                let (db, registered) = (self.db.clone(), registered.clone());
                flights.push(async move { write_chunk(&db, &registered, chunk, change).await });
            }
        }
        Ok(report)
    }

    fn add(&mut self, report: &mut BulkReport, done: BulkReport) {
        report.written += done.written;
        report.batches += done.batches;
        report.failed.extend(done.failed);
        if let Some(progress) = &mut self.progress {
            progress(report.written);
        }
    }
}

/// Images that wait for their partition's batch to fill.
struct Held {
    chunks: HashMap<String, Chunk>,
    entities: usize,
    per_batch: usize,
}

#[derive(Default)]
struct Chunk {
    images: Vec<Image>,
    bytes: usize,
}

impl Held {
    /// Holds one more; gives a chunk that is due.
    fn add(&mut self, image: Image) -> Option<Chunk> {
        let partition = image.key.partition.clone();
        let bytes = tablemodel_store::size::row_bytes(&image.key.partition, &image.key.row, &image.fields);
        let chunk = self.chunks.entry(partition.clone()).or_default();
        chunk.images.push(image);
        chunk.bytes += bytes;
        self.entities += 1;
        if chunk.images.len() >= self.per_batch || chunk.bytes * 4 >= BATCH_BYTES * 4 {
            return self.take(&partition);
        }
        if self.entities >= HELD_ENTITIES { self.largest() } else { None }
    }

    fn largest(&mut self) -> Option<Chunk> {
        let partition = self.chunks.iter().max_by_key(|(_, chunk)| chunk.images.len()).map(|(key, _)| key.clone())?;
        self.take(&partition)
    }

    fn take(&mut self, partition: &str) -> Option<Chunk> {
        let chunk = self.chunks.remove(partition)?;
        self.entities -= chunk.images.len();
        Some(chunk)
    }
}

/// Writes a chunk as one batch; where that is refused, entity by entity.
async fn write_chunk(
    db: &Database,
    registered: &crate::database::Registered,
    chunk: Chunk,
    change: fn(Image) -> Change,
) -> BulkReport {
    let Some(partition) = chunk.images.first().map(|image| image.key.partition.clone()) else {
        return BulkReport::default();
    };
    let count = chunk.images.len() as u64;
    let changes: Vec<_> = chunk.images.iter().cloned().map(change).collect();
    match db.write(registered, &partition, changes).await {
        Ok(_) => BulkReport { written: count, batches: 1, failed: Vec::new() },
        Err(error) if count == 1 || matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Denied) => {
            let failed = chunk.images.into_iter().map(|image| error.clone().at_key(image.key)).collect();
            BulkReport { written: 0, batches: 0, failed }
        }
        Err(_) => write_singly(db, registered, chunk, change).await,
    }
}

async fn write_singly(
    db: &Database,
    registered: &crate::database::Registered,
    chunk: Chunk,
    change: fn(Image) -> Change,
) -> BulkReport {
    let mut report = BulkReport::default();
    for image in chunk.images {
        let key = image.key.clone();
        match db.write_one(registered, change(image)).await {
            Ok(_) => {
                report.written += 1;
                report.batches += 1;
            }
            Err(error) => report.failed.push(error.at_key(key)),
        }
    }
    report
}
