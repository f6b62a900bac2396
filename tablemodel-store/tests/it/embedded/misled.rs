//! Inner pages of the file that lead elsewhere than they did, by one flipped bit: to another page of the table, or beyond the file.
//!
//! What is there may be whole: its checksums are right, and it is only not what belongs there.

use tablemodel_store::{
    Action, Batch, EmbeddedStore, KeyRange, Query, RowKey, StoreErrorKind, TableStore, TableStoreExt,
};

use super::{numbered, place};
use crate::disk::Disk;

const ROWS: usize = 2_000;
const PAGE: usize = 4_096;

fn name(row: usize) -> String {
    format!("{row:06}")
}

/// The file of a store with two tables of so many rows.
async fn file() -> Vec<u8> {
    let disk = Disk::<()>::new();
    let store = EmbeddedStore::builder().open_backend(disk.clone()).unwrap();
    for table in ["One", "Two"] {
        store.create_table(table).await.unwrap();
        for first in (0..ROWS).step_by(100) {
            let insert = |batch: Batch, row| batch.with(name(row), Action::Insert(numbered(row as i64)));
            store.commit(&[(first..first + 100).fold(Batch::new(table, "p"), insert)]).await.unwrap();
        }
    }
    store.close().await.unwrap();
    disk.bytes()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Where the numbers of other pages stand, of each inner page of redb's: its type, the count of its keys, a checksum of each child,
/// and then these.
fn inner_pages(bytes: &[u8]) -> Vec<Vec<usize>> {
    let pages = (PAGE..bytes.len()).step_by(PAGE).filter_map(|page| {
        let keys = number(&bytes[page + 2..page + 4]) as usize;
        let is_inner = bytes[page] == 2 && (5..=150).contains(&keys);
        is_inner.then(|| (0..=keys).map(|child| page + 8 + 16 * (keys + 1) + 8 * child).collect())
    });
    pages.collect()
}

/// The file with this bit of a number flipped, opened; unless that is told at once.
fn opened(bytes: &[u8], at: usize, bit: usize) -> Option<EmbeddedStore> {
    let mut bytes = bytes.to_vec();
    bytes[at + bit / 8] ^= 1 << (bit % 8);
    EmbeddedStore::builder().cache_bytes(1 << 20).open_backend(Disk::<()>::holding(bytes)).ok()
}

async fn is_found(store: &EmbeddedStore, table: &str, row: usize) -> bool {
    store.get(table, &RowKey::new("p", name(row))).await.is_ok_and(|row| row.is_some())
}

/// How many rows of the table are not found by their keys.
async fn hidden(store: &EmbeddedStore, table: &str) -> usize {
    let mut hidden = 0;
    for row in (0..ROWS).step_by(7) {
        hidden += usize::from(!is_found(store, table, row).await);
    }
    hidden
}

/// How many rows a walk over the whole table gives, page by page.
async fn walked(store: &EmbeddedStore, table: &str) -> Result<usize, StoreErrorKind> {
    let (mut query, mut rows) = (Query::new(table, KeyRange::table()).limited(300), 0);
    for _ in 0..ROWS {
        let page = store.query(&query).await.map_err(|error| error.kind())?;
        rows += page.rows.len();
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            return Ok(rows);
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn rows_behind_another_page_of_the_table_are_missed_by_every_check_and_copy_of_all() {
    let bytes = file().await;
    let mut tried = 0;
    for children in inner_pages(&bytes) {
        for (at, bit) in children.iter().flat_map(|at| (0..20).map(move |bit| (*at, bit))) {
            let other = number(&bytes[at..at + 8]) ^ 1 << bit;
            let leads_to_a_neighbour =
                children.iter().any(|child| *child != at && number(&bytes[*child..child + 8]) == other);
            let Some(store) = leads_to_a_neighbour.then(|| opened(&bytes, at, bit)).flatten() else { continue };
            for table in ["One", "Two"] {
                if hidden(&store, table).await == 0 {
                    continue;
                }
                tried += 1;
                assert_eq!(store.check().await.unwrap_err().kind(), StoreErrorKind::Corrupt, "{at} {bit}");
                let (_directory, path) = place();
                assert_eq!(store.backup_to(&path).await.unwrap_err().kind(), StoreErrorKind::Corrupt, "{at} {bit}");
                assert!(!path.exists());
                assert!(walked(&store, table).await != Ok(ROWS), "{at} {bit}");
            }
        }
    }
    assert!(tried > 50, "of {tried}: are the pages as they were?");
}

#[tokio::test]
async fn a_page_that_leads_beyond_the_file_harms_no_other_table() {
    let bytes = file().await;
    let mut tried = 0;
    for at in inner_pages(&bytes).iter().flat_map(|children| children.iter().take(7).skip(2)) {
        for bit in 12..20 {
            let Some(store) = opened(&bytes, *at, bit) else { continue };
            for (table, other) in [("One", "Two"), ("Two", "One")] {
                if hidden(&store, table).await == 0 {
                    continue;
                }
                tried += 1;
                assert_eq!(walked(&store, other).await, Ok(ROWS), "{at} {bit}");
                let insert = Batch::new(other, "q").with("new", Action::Insert(numbered(1)));
                store.commit(&[insert]).await.unwrap();
                assert_eq!(store.query_all(&Query::new(other, KeyRange::partition("q"))).await.unwrap().len(), 1);
            }
        }
    }
    assert!(tried > 20, "of {tried}: are the pages as they were?");
}
