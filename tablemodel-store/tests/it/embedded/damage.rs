//! Flipped bits in the file of a store: a typed error or the right data, never a wrong row and never a panic.
//!
//! Bits are flipped one at a time, sampled over all sectors in use.

use std::{collections::BTreeMap, fs, ops::ControlFlow};

use tablemodel_store::{
    Action, Batch, Condition, Durability, EmbeddedStore, KeyRange, Properties, Query, RowKey, StoreError,
    StoreErrorKind, TableStore, TableStoreExt,
};

use super::{fill, number, numbered, place, put};
use crate::disk::{Disk, Random};

const ROWS: i64 = 600;
const FLIPS: usize = 600;

type Rows = BTreeMap<String, Properties>;

/// All rows of a table.
async fn all(store: &EmbeddedStore, table: &str) -> Result<Rows, StoreError> {
    let rows = store.query_all(&Query::new(table, KeyRange::table())).await?;
    Ok(rows.into_iter().map(|row| (row.key.row, row.properties)).collect())
}

/// Reads everything in every way; what was found, of each table.
async fn read(store: &EmbeddedStore, truth: &Rows) -> Result<Vec<Rows>, StoreError> {
    let mut found = Vec::new();
    for table in ["One", "Two"] {
        found.push(all(store, table).await?);
        for name in truth.keys().step_by(97) {
            match store.get(table, &RowKey::new("p", name)).await {
                Ok(Some(row)) => assert_eq!(Some(&row.properties), truth.get(name)),
                Ok(None) => {}
                Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}"),
            }
        }
    }
    Ok(found)
}

/// What a backup of the store holds, if it can be made.
async fn backed_up(store: &EmbeddedStore, truth: &Rows) -> Result<Vec<Rows>, StoreError> {
    let (_directory, path) = place();
    store.backup_to(&path).await?;
    let copy = EmbeddedStore::open(&path)?;
    copy.check().await.expect("a copy is not damaged");
    read(&copy, truth).await
}

/// Bits of where the tables begin: one that is flipped leads to another page, such as one of theirs, and hides what is not behind
/// that. With it stands, behind a checksum, how many rows there are.
fn beginnings(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let count = (ROWS as u64).to_le_bytes();
    let counts = (24..bytes.len() - 8).filter(move |at| bytes[*at..at + 8] == count);
    counts.flat_map(|count| (0..8).map(move |bit| (count - 24, bit)))
}

/// redb panics on some damaged pages, which the store catches: the messages would only be noise.
fn silence_redb() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("redb-")) {
            others(panic);
        }
    }));
}

/// A store of two tables, and what its file is with one bit of one row of the second flipped.
async fn with_a_bad_row() -> Vec<u8> {
    let (directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    for table in ["One", "Two"] {
        store.create_table(table).await.unwrap();
        fill(&store, table, 50).await;
    }
    let stamp = put(&store, "Two", "bad", 1).await.unwrap()[0].etag.as_ref().and_then(|etag| etag.stamp()).unwrap();
    put(&store, "Two", "later", 1).await.unwrap(); // else the store's own record has that stamp too
    store.close().await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    drop(directory);
    let stamp = stamp.to_le_bytes();
    let places: Vec<_> = (0..bytes.len() - 8).filter(|at| bytes[*at..at + 8] == stamp).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at] ^= 1); // also where the page was before
    bytes
}

#[tokio::test]
async fn it_is_told_which_row_is_damaged_and_that_one_can_be_written_over() {
    let store = EmbeddedStore::builder().open_backend(Disk::<()>::holding(with_a_bad_row().await)).unwrap();
    let key = RowKey::new("p", "bad");
    let replace = Batch::new("Two", "p").with("bad", Action::Replace(numbered(2), Condition::Exists));
    let (_directory, path) = place();
    let told = [
        store.get("Two", &key).await.unwrap_err(),
        store.show("Two", &key, &mut |_| {}).unwrap().unwrap_err(),
        all(&store, "Two").await.unwrap_err(),
        store
            .show_page(&Query::new("Two", KeyRange::table()), &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .unwrap_err(),
        store.commit(&[replace]).await.unwrap_err(),
        store.check().await.unwrap_err(),
        store.backup_to(&path).await.unwrap_err(),
    ];
    for (at, error) in told.iter().enumerate() {
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{at}: {error}");
        assert!(error.detail().contains("row (p, bad) of table `Two`: "), "{at}: {error}");
    }
    store.commit(&[Batch::new("Two", "p").with("bad", Action::InsertOrReplace(numbered(3)))]).await.unwrap();
    assert_eq!(number(&store, "Two", "bad").await, Some(3));
    assert_eq!(store.check().await.unwrap(), 102);
}

#[tokio::test]
async fn a_flipped_bit_gives_an_error_or_the_right_data() {
    silence_redb();
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    for table in ["One", "Two"] {
        store.create_table(table).await.unwrap();
        fill(&store, table, ROWS).await;
    }
    store.close().await.unwrap();
    let truth: Rows = (0..ROWS).map(|row| (format!("{row:06}"), numbered(row))).collect();
    let bytes = fs::read(&path).unwrap();
    let used: Vec<_> = (0..bytes.len()).step_by(512).filter(|at| bytes[*at..at + 512] != [0; 512]).collect();
    let mut random = Random(3);
    let anywhere = (0..FLIPS).map(|_| (used[random.below(used.len())] + random.below(512), random.below(8)));
    let flips: Vec<_> = anywhere.chain(beginnings(&bytes)).collect();
    let (mut errors, mut right, mut hidden) = (0, 0, 0);
    for (number, (at, bit)) in flips.into_iter().enumerate() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << bit;
        let told = |error: StoreError| {
            assert!(
                matches!(error.kind(), StoreErrorKind::Corrupt | StoreErrorKind::Unsupported),
                "{at} {bit}: {error}"
            );
        };
        let store = match EmbeddedStore::builder().cache_bytes(8 << 20).open_backend(Disk::<()>::holding(damaged)) {
            Ok(store) => store,
            Err(error) => {
                told(error);
                errors += 1;
                continue;
            }
        };
        let checked = store.check().await;
        let is_backed_up = checked.is_err() || number % 8 == 0; // a new file takes its time
        match read(&store, &truth).await {
            Ok(found) if found.iter().all(|rows| *rows == truth) => right += 1,
            Ok(found) => {
                // Rows may be hidden behind a damaged inner page, but none is wrong, and the check finds it.
                assert!(found.iter().all(|rows| rows.iter().all(|row| truth.get(row.0) == Some(row.1))), "{at} {bit}");
                told(checked.unwrap_err());
                hidden += 1;
            }
            Err(error) => {
                told(error);
                errors += 1;
            }
        }
        // A backup holds all rows or fails: it would be taken for whole.
        if is_backed_up {
            match backed_up(&store, &truth).await {
                Ok(found) => assert!(found.iter().all(|rows| *rows == truth), "{at} {bit}: the backup lacks rows"),
                Err(error) => told(error),
            }
        }
        // A write on top of the damage is done or refused.
        if let Err(error) = put(&store, "One", "new", 1).await {
            assert_ne!(error.kind(), StoreErrorKind::InvalidInput, "{error}");
        }
    }
    println!("{right} read rightly, {errors} told, {hidden} told by the check alone");
    assert!(errors > 0 && right > 0 && hidden > 0);
}

#[tokio::test]
async fn damage_to_a_table_that_was_deleted_harms_no_other() {
    silence_redb();
    let (_directory, path) = place();
    let store = EmbeddedStore::builder().durability(Durability::Bulk).open(&path).unwrap();
    for (table, rows) in [("Kept", ROWS), ("Deleted", 50 * ROWS)] {
        store.create_table(table).await.unwrap();
        fill(&store, table, rows).await;
    }
    store.delete_table("Deleted").await.unwrap();
    store.close().await.unwrap();
    let freed = async |store: &EmbeddedStore| {
        for number in 0..200 {
            put(store, "Kept", "000001", number).await.unwrap();
        }
        store.stats().unwrap().tables_being_freed == 0
    };
    let mut bytes = fs::read(&path).unwrap();
    let key = format!("{:06}", 25 * ROWS);
    let places: Vec<_> = bytes.windows(key.len()).enumerate().filter(|(_, it)| *it == key.as_bytes()).collect();
    let pages: Vec<_> = places.into_iter().map(|(at, _)| at / 4096 * 4096).collect();
    assert!(!pages.is_empty());
    pages.into_iter().for_each(|page| bytes[page + 2..page + 4].fill(0xff));
    fs::write(&path, bytes).unwrap();
    for _ in 0..3 {
        let store = EmbeddedStore::open(&path).unwrap();
        assert!(!freed(&store).await, "the damage was not met");
        assert_eq!(store.check().await.unwrap(), ROWS as u64);
        store.create_table("New").await.unwrap();
        store.delete_table("New").await.unwrap();
        store.close().await.unwrap();
    }
}
