//! Flipped bits in the file of a store: a typed error or the right data, never a wrong row and never a panic.
//!
//! Bits are flipped one at a time, sampled over all sectors in use.

use std::{collections::BTreeMap, fs};

use tablemodel_store::{EmbeddedStore, KeyRange, Properties, Query, RowKey, StoreError, StoreErrorKind, TableStore};

use super::{fill, numbered, place, put};
use crate::disk::{Disk, Random};

const ROWS: i64 = 600;
const FLIPS: usize = 600;

type Rows = BTreeMap<String, Properties>;

/// All rows of a table, page by page.
async fn all(store: &EmbeddedStore, table: &str) -> Result<Rows, StoreError> {
    let mut query = Query::new(table, KeyRange::table());
    let mut rows = Rows::new();
    loop {
        let page = store.query(&query).await?;
        rows.extend(page.rows.into_iter().map(|row| (row.key.row, row.properties)));
        if page.continuation.is_none() {
            return Ok(rows);
        }
        query.continuation = page.continuation;
    }
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

/// redb panics on some damaged pages, which the store catches: the messages would only be noise.
fn silence_redb() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("redb-")) {
            others(panic);
        }
    }));
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
    let (mut errors, mut right, mut hidden) = (0, 0, 0);
    for _ in 0..FLIPS {
        let (at, bit) = (used[random.below(used.len())] + random.below(512), random.below(8));
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
        // A write on top of the damage is done or refused.
        if let Err(error) = put(&store, "One", "new", 1).await {
            assert_ne!(error.kind(), StoreErrorKind::InvalidInput, "{error}");
        }
    }
    println!("{right} read rightly, {errors} told, {hidden} told by the check alone");
    assert!(errors > 0 && right > 0);
}
