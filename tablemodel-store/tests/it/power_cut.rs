//! Power cuts at every moment of a workload, on a simulated disk: what was acknowledged is there, nothing is torn.
//!
//! The store runs once and its disk keeps a log. Then the log is replayed, and at every event the power is cut in
//! several ways: the writes since the last sync are lost, kept, or kept sector by sector (512 B). Each image is opened
//! by the store and compared with what was acknowledged before the cut.

use std::time::Duration;

use tablemodel_store::{
    Action, Batch, DateTime, Durability, ETag, EmbeddedStore, Properties, Row, StoreError, StoreErrorKind, TableStore,
    clock::ManualClock,
};

use crate::{
    disk::{Disk, Event, Platter, Random, Survivors},
    workload::{Numbers, TABLES, all_rows, commit, expected, numbered, numbers, reached},
};

const WRITERS: usize = 3;

/// What the test knew when.
#[derive(Clone, Debug)]
enum Note {
    /// A writer began its commit of this number.
    Began(usize, u32),
    /// A writer's commit of this number was acknowledged, with this stamp as its highest.
    Acknowledged(usize, u32, u64),
    /// A table was asked to be created (even) or deleted (odd).
    TableBegan(u32),
    TableAcknowledged(u32),
    /// A writer asked for a flush.
    FlushBegan(usize),
    /// Everything acknowledged before that writer asked is on the disk.
    Flushed(usize),
}

/// Bounds of what an image may show.
#[derive(Clone, Default)]
struct Known {
    began: [u32; WRITERS],
    acknowledged: [u32; WRITERS],
    /// As `acknowledged` when each writer last asked for a flush.
    flushing: [[u32; WRITERS]; WRITERS],
    /// As `acknowledged` when the last finished flush was asked for.
    flushed: [u32; WRITERS],
    stamp: u64,
    table_began: u32,
    table_acknowledged: u32,
}

impl Known {
    fn note(&mut self, note: &Note) {
        match *note {
            Note::Began(writer, number) => self.began[writer] = number,
            Note::Acknowledged(writer, number, stamp) => {
                self.acknowledged[writer] = number;
                self.stamp = self.stamp.max(stamp);
            }
            Note::TableBegan(step) => self.table_began = step,
            Note::TableAcknowledged(step) => self.table_acknowledged = step,
            Note::FlushBegan(writer) => self.flushing[writer] = self.acknowledged,
            Note::Flushed(writer) => {
                let floors = self.flushed.iter_mut().zip(self.flushing[writer]);
                floors.for_each(|(floor, flushed)| *floor = flushed.max(*floor));
            }
        }
    }
}

fn now() -> DateTime {
    "2026-03-01T00:00:00Z".parse().unwrap()
}

/// The clock stands still, so that only the store's own bookkeeping keeps stamps from repeating.
fn open(disk: Disk<Note>, durability: Durability) -> Result<EmbeddedStore, StoreError> {
    let clock = ManualClock::new(now());
    EmbeddedStore::builder().clock(clock).durability(durability).cache_bytes(4 << 20).open_backend(disk)
}

/// Runs the workload on a fresh disk; its log.
async fn record(durability: Durability, commits: u32) -> Vec<Event<Note>> {
    let disk = Disk::new();
    let store = open(disk.clone(), durability).unwrap();
    for table in TABLES {
        store.create_table(table).await.unwrap();
    }
    store.flush().await.unwrap();
    let setting_up = disk.take_log();
    let tables = async {
        for step in 1..=commits / 4 {
            disk.note(Note::TableBegan(step));
            if step % 2 == 1 {
                store.create_table("Scratch").await.unwrap();
            } else {
                let rows = (0..60).fold(Batch::new("Scratch", "p"), |batch, row| {
                    batch.with(format!("{row}"), Action::Insert(numbered(row, 200)))
                });
                store.commit(&[rows]).await.unwrap();
                store.delete_table("Scratch").await.unwrap();
            }
            disk.note(Note::TableAcknowledged(step));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let write = async |writer: usize| {
        for number in 1..=commits {
            disk.note(Note::Began(writer, number));
            let batches = commit(writer, number);
            // Two of the writers say that they are of many: they wait for each other's next.
            let receipts = match writer {
                0 => store.commit(&batches).await,
                _ => store.commit_owned(batches.into()).await,
            };
            let receipts = receipts.unwrap();
            let stamps = receipts.iter().flatten().filter_map(|written| written.etag.as_ref().and_then(ETag::stamp));
            disk.note(Note::Acknowledged(writer, number, stamps.max().unwrap()));
            if number.is_multiple_of(commits / 2) {
                // Long enough for the store to fall idle.
                tokio::time::sleep(Duration::from_millis(260)).await;
                disk.note(Note::FlushBegan(writer));
                store.flush().await.unwrap();
                disk.note(Note::Flushed(writer));
            }
        }
    };
    tokio::join!(write(0), write(1), write(2), tables);
    store.close().await.unwrap();
    setting_up.into_iter().chain(disk.take_log()).collect()
}

/// What is wrong with an image, given what was known at the cut.
async fn verdict(disk: Disk<Note>, known: &Known, durability: Durability, write: bool) -> Result<(), String> {
    let store = open(disk, durability).map_err(|error| format!("does not open: {error}"))?;
    let rows = all_rows(&store).await.map_err(|error| format!("cannot be read: {error}"))?;
    let found = numbers(&rows);
    let waits = matches!(durability, Durability::Durable | Durability::QuickReopen);
    let floor = if waits { known.acknowledged } else { known.flushed };
    let mut all = Numbers::new();
    for (writer, (floor, began)) in floor.into_iter().zip(known.began).enumerate() {
        let reached = reached(&found, writer);
        if !(floor..=began).contains(&reached) {
            return Err(format!("writer {writer} is at {reached}, not in {floor}..={began}"));
        }
        all.extend(expected(writer, reached));
    }
    if found != all {
        return Err(format!("torn: {found:?} instead of {all:?}"));
    }
    if durability == Durability::Durable {
        tables(&store, known).await?;
    }
    if write { stamps(&store, &rows, known).await } else { Ok(()) }
}

async fn tables(store: &EmbeddedStore, known: &Known) -> Result<(), String> {
    let there = store.list_tables().await.map_err(|error| error.to_string())?.contains(&"Scratch".to_owned());
    let steps = known.table_acknowledged..=known.table_began;
    match steps.clone().any(|step| (step % 2 == 1) == there) {
        true => Ok(()),
        false => Err(format!("table there: {there}, after steps {steps:?}")),
    }
}

/// A write after recovery gets a stamp above all that were seen before the cut.
async fn stamps(store: &EmbeddedStore, rows: &[Row], known: &Known) -> Result<(), String> {
    let batch = Batch::new("Rows", "after").with("cut", Action::Insert(Properties::new()));
    let receipts = store.commit(&[batch]).await.map_err(|error| format!("takes no write: {error}"))?;
    let stamp = receipts[0][0].etag.as_ref().and_then(ETag::stamp).unwrap();
    let seen = rows.iter().filter_map(|row| row.etag.stamp()).max().unwrap_or(0);
    let before = seen.max(known.stamp);
    if stamp <= before {
        return Err(format!("stamp {stamp} is not above {before}"));
    }
    Ok(())
}

/// How a log is replayed.
#[derive(Clone, Copy)]
struct Replay {
    durability: Durability,
    /// Images at each event.
    cuts: usize,
    /// Whether the disk does what it is told.
    syncs_work: bool,
    /// Every how many images the recovery itself is cut, too.
    nested_every: Option<usize>,
}

impl Replay {
    const fn of(durability: Durability, cuts: usize) -> Self {
        Self { durability, cuts, syncs_work: true, nested_every: None }
    }

    /// Cuts the power at every event; how many images were judged.
    async fn run(self, log: &[Event<Note>]) -> Result<usize, String> {
        let (mut platter, mut known, mut random) = (Platter::holding(Vec::new()), Known::default(), Random(7));
        let (mut images, mut setting_up) = (0, true);
        for (index, event) in log.iter().enumerate() {
            if let Event::Note(note) = event {
                known.note(note);
                setting_up = false;
                continue;
            }
            if self.syncs_work || !matches!(event, Event::Sync) || setting_up {
                platter.take(event);
            }
            for cut in 0..if setting_up { 0 } else { self.cuts } {
                let image = platter.cut(Survivors::nth(cut), &mut random);
                let judged = self.judge(image, &known, images, &mut random).await;
                images += judged.map_err(|why| format!("event {index}, cut {cut}: {why}"))?;
            }
        }
        Ok(images)
    }

    async fn judge(self, image: Vec<u8>, known: &Known, images: usize, random: &mut Random) -> Result<usize, String> {
        if self.nested_every.is_none_or(|every| !images.is_multiple_of(every)) {
            verdict(Disk::holding(image), known, self.durability, random.below(4) == 0).await?;
            return Ok(1);
        }
        let disk = Disk::holding(image.clone());
        verdict(disk.clone(), known, self.durability, true).await?;
        let mut platter = Platter::holding(image);
        let mut judged = 1;
        for event in disk.take_log() {
            platter.take(&event);
            for cut in 0..3 {
                let again = Disk::holding(platter.cut(Survivors::nth(cut), random));
                let judgement = verdict(again, known, self.durability, false).await;
                judgement.map_err(|why| format!("cut again in recovery: {why}"))?;
                judged += 1;
            }
        }
        Ok(judged)
    }
}

async fn survives(replay: Replay, commits: u32, least: usize) {
    let log = record(replay.durability, commits).await;
    let images = replay.run(&log).await.unwrap();
    println!("{images} images of {} events", log.len());
    assert!(images >= least, "only {images} images of {} events", log.len());
}

#[tokio::test]
async fn durable_commits_survive_any_cut() {
    survives(Replay::of(Durability::Durable, 8), 24, 2_000).await;
}

#[tokio::test]
async fn commits_with_quick_reopen_survive_any_cut() {
    survives(Replay::of(Durability::QuickReopen, 8), 24, 2_000).await;
}

#[tokio::test]
async fn relaxed_commits_are_whole_and_in_order_after_any_cut() {
    survives(Replay::of(Durability::Relaxed, 16), 24, 500).await;
}

#[tokio::test]
async fn bulk_commits_are_whole_and_in_order_after_any_cut() {
    survives(Replay::of(Durability::Bulk, 16), 24, 500).await;
}

#[tokio::test]
async fn a_recovery_survives_cuts_as_well() {
    survives(Replay { nested_every: Some(30), ..Replay::of(Durability::Durable, 3) }, 12, 1_000).await;
}

#[tokio::test]
async fn a_disk_that_ignores_syncs_is_found_out() {
    let log = record(Durability::Durable, 12).await;
    let found = Replay { syncs_work: false, ..Replay::of(Durability::Durable, 4) }.run(&log).await;
    assert!(found.is_err(), "the test cannot fail");
}

/// Nothing was acknowledged yet: an image is an empty store, or is told to be none.
#[tokio::test]
async fn a_cut_while_a_store_is_created_leaves_an_empty_store_or_none() {
    let disk = Disk::new();
    open(disk.clone(), Durability::Durable).unwrap().close().await.unwrap();
    let (mut platter, mut random, mut empty) = (Platter::holding(Vec::new()), Random(7), 0);
    for event in disk.take_log() {
        platter.take(&event);
        for cut in 0..8 {
            match open(Disk::holding(platter.cut(Survivors::nth(cut), &mut random)), Durability::Durable) {
                Ok(store) => {
                    assert_eq!(store.list_tables().await.unwrap(), Vec::<String>::new());
                    store.create_table("Table").await.unwrap();
                    empty += 1;
                }
                Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}"),
            }
        }
    }
    assert!(empty > 8, "{empty}");
}
