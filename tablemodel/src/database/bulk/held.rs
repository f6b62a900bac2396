//! What a bulk write holds back: changes that wait for their partition's batch to fill, or for a commit of several.
//!
//! Nothing is written here; how many rows a batch comes to is reckoned, and checked when it is planned.

use std::collections::{HashMap, HashSet, VecDeque};

use tablemodel_store::size;

use crate::{
    plan::{change::Change, image::Image, states::IndexState},
    rooms::{aggregate, wide},
    schema::{Cover, EntitySchema},
};

/// Entities held back so that partitions fill their batches, at most.
const HELD_ENTITIES: usize = 20_000;
/// Bytes of them, as they are in memory.
const HELD_BYTES: usize = 64 * 1024 * 1024;

/// What is written at once, at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) rows: usize,
    /// Of properties, as they are in memory.
    pub(super) bytes: usize,
}

/// Which changes wait together: those of one partition, or of all those whose changes may be one commit.
pub(super) type Lane = Option<String>;

/// Changes that wait for their partition's batch to fill.
pub(super) struct Held {
    open: HashMap<Lane, Chunk>,
    entities: usize,
    bytes: usize,
    /// What waits no longer, in the order in which it has to be written.
    pub(super) due: VecDeque<Due>,
    most: Most,
    /// Rows of one entity, with two for each aggregate.
    rows_each: usize,
    /// Rows of one entity that hold all its properties.
    copies: usize,
}

/// Changes that are written at once, and the bytes of memory that they take: of their properties, and of blobs that are fetched.
pub(super) struct Due {
    pub(super) changes: Vec<Change>,
    pub(super) bytes: usize,
}

/// Blobs that a batch fetches while it uploads them, in bytes of memory: as many as one write uploads at a time.
const FETCHED_BYTES: usize = 64 * 1024 * 1024;

#[derive(Default)]
struct Chunk {
    changes: Vec<Change>,
    rows: usize,
    bytes: usize,
    fetched: usize,
    /// Cells and targets of aggregates, which all changes that meet in them write once.
    shared: HashSet<String>,
}

/// What one more change adds to a batch.
struct Share {
    rows: usize,
    bytes: usize,
    fetched: usize,
    shared: Vec<(String, usize)>,
}

impl Held {
    pub(super) fn of(schema: &'static EntitySchema, most: Most) -> Self {
        let copies = schema.indexes.iter().filter(|index| index.cover == Cover::Whole).count();
        Self {
            open: HashMap::new(),
            entities: 0,
            bytes: 0,
            due: VecDeque::new(),
            most,
            rows_each: rows_each(schema),
            copies: 1 + copies,
        }
    }

    /// Holds one more; what is full is due.
    pub(super) fn add(&mut self, image: Image, lane: Lane, change: fn(Image) -> Change) {
        let bytes =
            size::row_bytes_bound(&image.key.partition, &image.key.row, &image.fields) * self.copies + blobs(&image);
        let change = change(image);
        let share = self.share(&change, bytes);
        self.entities += 1;
        self.bytes += bytes + share.fetched;
        let lanes = self.open.len();
        let chunk = self.open.entry(lane).or_default();
        let full = (chunk.rows_with(&share) > self.most.rows).then(|| chunk.take(lanes));
        chunk.add(change, share);
        let is_large = chunk.bytes >= self.most.bytes || chunk.fetched >= FETCHED_BYTES;
        let large = is_large.then(|| chunk.take(lanes));
        full.into_iter().chain(large).for_each(|chunk| self.is_due(chunk));
        if self.entities >= HELD_ENTITIES || self.bytes >= HELD_BYTES {
            self.release(HELD_ENTITIES / 2, HELD_BYTES / 2);
        }
    }

    /// What the change adds. Of what another state of the entity shares with others nothing is known here.
    fn share(&self, change: &Change, bytes: usize) -> Share {
        let fetched = fetched(change);
        let all = Share { rows: self.rows_each, bytes, fetched, shared: Vec::new() };
        let Change::Insert(image) = change else { return all };
        if image.schema.aggregates.is_empty() {
            return all;
        }
        let Ok(edits) = aggregate::edits(None, Some(image), |_| IndexState::Readable) else { return all };
        let shared = edits.into_iter().flat_map(|edit| {
            let target = edit.into.is_held().then(|| rows_each(edit.into.target));
            let cell = (edit.into.cell(), 1);
            std::iter::once(cell).chain(target.map(|rows| (edit.into.row, rows)))
        });
        Share { rows: self.rows_each - 2 * image.schema.aggregates.len(), bytes, fetched, shared: shared.collect() }
    }

    /// Lets the fullest batches go until at most so many entities and bytes are held.
    pub(super) fn release(&mut self, entities: usize, bytes: usize) {
        let mut lanes: Vec<_> = self.open.iter().map(|(key, chunk)| (chunk.changes.len(), key.clone())).collect();
        lanes.sort_unstable();
        while (self.entities > entities || self.bytes > bytes)
            && let Some((_, lane)) = lanes.pop()
        {
            self.release_lane(&lane);
        }
    }

    fn release_lane(&mut self, lane: &Lane) {
        if let Some(chunk) = self.open.remove(lane) {
            self.is_due(chunk);
        }
    }

    fn is_due(&mut self, chunk: Chunk) {
        if !chunk.changes.is_empty() {
            self.entities -= chunk.changes.len();
            let bytes = chunk.bytes + chunk.fetched;
            self.bytes -= bytes;
            self.due.push_back(Due { changes: chunk.changes, bytes });
        }
    }
}

impl Chunk {
    /// What it holds, and leaves room for as much: where one batch was filled, another may be. Not in each of so many partitions that
    /// this would be more than all that may wait.
    fn take(&mut self, lanes: usize) -> Self {
        let count = self.changes.len();
        let room = if lanes.saturating_mul(count) <= HELD_ENTITIES { count } else { 0 };
        std::mem::replace(self, Self { changes: Vec::with_capacity(room), ..Self::default() })
    }

    /// Its rows, if this were added.
    fn rows_with(&self, share: &Share) -> usize {
        let new = share.shared.iter().filter(|(row, _)| !self.shared.contains(row));
        self.rows + share.rows + new.map(|(_, rows)| rows).sum::<usize>()
    }

    fn add(&mut self, change: Change, share: Share) {
        self.changes.push(change);
        (self.rows, self.bytes) = (self.rows + share.rows, self.bytes + share.bytes);
        self.fetched += share.fetched;
        for (row, rows) in share.shared {
            if self.shared.insert(row) {
                self.rows += rows;
            }
        }
    }
}

/// The bytes of the blobs that the image brings.
fn blobs(image: &Image) -> usize {
    #[cfg(feature = "blob")]
    return image.blobs.iter().map(crate::blob::Pending::bytes).sum();
    #[cfg(not(feature = "blob"))]
    {
        let _ = image;
        0
    }
}

/// The bytes of memory that blobs take which are fetched to be uploaded.
fn fetched(change: &Change) -> usize {
    #[cfg(feature = "blob")]
    return match change {
        Change::Insert(image) => image.blobs.iter().map(|blob| blob.fetched(image.schema.entity_type, None)).sum(),
        Change::Upsert(image) => {
            image.blobs.iter().map(|blob| blob.fetched(image.schema.entity_type, Some(&image.key))).sum()
        }
        _ => 0,
    };
    #[cfg(not(feature = "blob"))]
    {
        let _ = change;
        0
    }
}

/// The most rows that one entity takes in its own partition: itself with its parts, its index rows there, and an outbox row.
pub(in crate::database) fn rows_each(schema: &'static EntitySchema) -> usize {
    let here = schema.indexes.iter().filter(|index| index.elsewhere.is_none()).count();
    let own = wide::most_rows(schema);
    let lists = schema.indexes.iter().filter(|index| index.cover == Cover::List).count(); // a chunk beside the head
    // Of each copy, the source and its back-reference may stand here; of each aggregate, its cell and target, and of the
    // least or greatest a contribution.
    let contributions = schema.aggregates.iter().filter(|aggregate| aggregate.is_extreme()).count();
    let others = 2 * (schema.copies.len() + schema.aggregates.len()) + contributions;
    let former = schema.former().count(); // taken away with the first write of an older row
    own + here + lists + others + former + usize::from(schema.has_outbox())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Notes", entity_type = "Note", partition = "{book}", row = "{id}")]
    struct Note {
        book: u32,
        id: u32,
    }

    #[test]
    fn what_waits_takes_little_more_memory_than_its_entities() {
        let mut held = Held::of(Note::SCHEMA, Most { rows: 100, bytes: 1 << 20 });
        for book in 0..9_000 {
            for id in 0..101 {
                held.add(Image::of(&Note { book, id }).expect("an image"), Some(book.to_string()), Change::Insert);
            }
            held.due.clear();
        }
        assert_eq!(held.entities, 9_000, "one of each partition");
        let room: usize = held.open.values().map(|chunk| chunk.changes.capacity()).sum();
        assert!(room <= 3 * HELD_ENTITIES, "room for {room}");
    }
}
