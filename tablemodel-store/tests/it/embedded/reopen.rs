//! What a store keeps when it is closed and opened again.
//!
//! Every test works on a file of its own.

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;
use tablemodel_store::{
    Action, Batch, DateTime, Durability, ETag, EmbeddedStore, KeyRange, Properties, PropertyName, Query, RowKey,
    TableStore, Uuid, Value, clock::ManualClock,
};

use super::{fill, number, numbered, place, put};

#[tokio::test]
async fn rows_of_every_type_come_back_after_reopening() {
    let (_directory, path) = place();
    let properties = Properties::from_iter([
        ("Binary", Value::from(vec![0, 1, 255])),
        ("Boolean", true.into()),
        ("DateTime", DateTime::MAX.into()),
        ("Double", f64::MIN_POSITIVE.into()),
        ("Guid", Uuid::from_u128(7).into()),
        ("Int32", i32::MIN.into()),
        ("Int64", i64::MIN.into()),
        ("String", "käse \u{10437}".into()),
    ]);
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Types").await.unwrap();
    let batch = Batch::new("Types", "\u{10437}").with("\u{FFEE}", Action::Insert(properties.clone()));
    let receipts = store.commit(&[batch]).await.unwrap();
    store.close().await.unwrap();

    let store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(store.list_tables().await.unwrap(), ["Types"]);
    let row = store.get("types", &RowKey::new("\u{10437}", "\u{FFEE}")).await.unwrap().unwrap();
    assert_eq!(row.properties, properties);
    assert_eq!(Some(row.etag), receipts[0][0].etag);
}

#[tokio::test]
async fn a_dropped_handle_leaves_everything_on_the_disk() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    put(&store, "Table", "r", 1).await.unwrap();
    let clone = store.clone();
    drop(store);
    put(&clone, "Table", "r", 2).await.unwrap();
    drop(clone);
    let store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(number(&store, "Table", "r").await, Some(2));
}

/// A copy of the file of an open store is what a crash would leave.
#[tokio::test]
async fn crashes_do_not_add_up_to_timestamps_far_ahead_of_the_clock() {
    let (directory, path) = place();
    let now: DateTime = "2026-03-01T00:00:00Z".parse().unwrap();
    let latest = now.checked_add(Duration::from_secs(11)).unwrap();
    let open = |path: &Path, durability| {
        EmbeddedStore::builder().clock(ManualClock::new(now)).durability(durability).open(path).unwrap()
    };
    open(&path, Durability::Durable).create_table("Table").await.unwrap();
    for durability in [Durability::Relaxed, Durability::Bulk] {
        let (mut at, mut last) = (path.clone(), DateTime::MIN);
        for crash in 0..30 {
            let store = open(&at, durability);
            let written = put(&store, "Table", "r", crash).await.unwrap()[0].timestamp;
            assert!(last < written && written <= latest, "{crash}: {written} after {last}, at {now}");
            store.flush().await.unwrap();
            let left = directory.path().join(format!("{durability:?}{crash}"));
            fs::copy(&at, &left).unwrap();
            (at, last) = (left, written);
        }
    }
}

#[tokio::test]
async fn etags_rise_over_reopening_though_the_clock_steps_back() {
    let (_directory, path) = place();
    let clock = ManualClock::new("2026-03-01T00:00:00Z".parse().unwrap());
    let open = || EmbeddedStore::builder().clock(clock.clone()).open(&path).unwrap();
    open().create_table("Table").await.unwrap();
    let mut stamps = Vec::new();
    for _ in 0..4 {
        let store = open();
        for _ in 0..3 {
            let receipts = put(&store, "Table", "r", 0).await.unwrap();
            stamps.push(receipts[0].etag.as_ref().and_then(ETag::stamp).unwrap());
        }
        clock.step_back(Duration::from_secs(3_600));
    }
    assert!(stamps.is_sorted_by(|a, b| a < b), "{stamps:?}");
    clock.set("2027-03-01T00:00:00Z".parse().unwrap());
    let store = open();
    put(&store, "Table", "r", 0).await.unwrap();
    let row = store.get("Table", &RowKey::new("p", "r")).await.unwrap().unwrap();
    assert_eq!(row.timestamp.to_string(), "2027-03-01T00:00:00Z");
}

#[tokio::test]
async fn a_stores_time_goes_on_though_the_clock_was_far_ahead_once() {
    let (_directory, path) = place();
    let clock = ManualClock::new("2099-01-01T00:00:00Z".parse().unwrap());
    let open = || EmbeddedStore::builder().clock(clock.clone()).open(&path).unwrap();
    let time = async |store: &EmbeddedStore| put(store, "Table", "r", 0).await.unwrap()[0].timestamp;
    let store = open();
    store.create_table("Table").await.unwrap();
    let ahead = time(&store).await;
    drop(store);
    clock.set("2026-11-29T00:00:00Z".parse().unwrap());
    let store = open();
    let before = time(&store).await;
    assert!(before > ahead);
    clock.advance(Duration::from_secs(3_600));
    let after = time(&store).await;
    let passed = after.duration_since(before).unwrap().as_secs();
    assert!((1_799..=1_800).contains(&passed), "half an hour in an hour, not {passed} s");
    clock.set("2099-01-02T00:00:00Z".parse().unwrap());
    assert_eq!(time(&store).await.to_string(), "2099-01-02T00:00:00Z"); // it has caught up
}

#[tokio::test]
async fn a_clock_beyond_the_last_time_leaves_a_file_that_opens_after_a_crash_too() {
    for durability in [Durability::Durable, Durability::QuickReopen, Durability::Relaxed, Durability::Bulk] {
        let (directory, path) = place();
        let clock = ManualClock::new(DateTime::from_ticks(i64::MAX));
        let store = EmbeddedStore::builder().clock(clock).durability(durability).open(&path).unwrap();
        store.create_table("Table").await.unwrap();
        put(&store, "Table", "r", 1).await.unwrap();
        store.flush().await.unwrap();
        let left = directory.path().join("left");
        fs::copy(&path, &left).unwrap();
        let store = EmbeddedStore::open(&left).unwrap();
        assert_eq!(number(&store, "Table", "r").await, Some(1), "{durability:?}");
    }
}

#[tokio::test]
async fn a_clock_beyond_the_last_time_leaves_a_store_that_opens() {
    let (_directory, path) = place();
    let clock = ManualClock::new(DateTime::from_ticks(i64::MAX));
    let open = || EmbeddedStore::builder().clock(clock.clone()).open(&path).unwrap();
    open().create_table("Table").await.unwrap();
    for number in 0..2 {
        put(&open(), "Table", "r", number).await.unwrap();
    }
    let row = open().get("Table", &RowKey::new("p", "r")).await.unwrap().unwrap();
    assert!(row.timestamp >= DateTime::MAX, "{}", row.timestamp);
}

#[tokio::test]
async fn a_dropped_tables_name_is_free_at_once_and_its_rows_never_come_back() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    for round in 1..=3 {
        fill(&store, "Table", 2_500).await;
        store.delete_table("TABLE").await.unwrap();
        store.create_table("Table").await.unwrap();
        assert_eq!(number(&store, "Table", "000000").await, None, "round {round}");
        put(&store, "Table", "only", round).await.unwrap();
    }
    drop(store);
    let store = EmbeddedStore::open(&path).unwrap();
    let page = store.query(&Query::new("Table", KeyRange::table())).await.unwrap();
    assert_eq!(page.rows.len(), 1);
    assert_eq!(number(&store, "Table", "only").await, Some(3));
}

/// 10,000 rows of 600 bytes.
async fn fill_with_large_rows(store: &EmbeddedStore, table: &str) {
    for partition in 0..100 {
        let large = || Properties::from_iter([("Large", vec![7; 600])]);
        let batch = (0..100).fold(Batch::new(table, partition.to_string()), |batch, row| {
            batch.with(row.to_string(), Action::Insert(large()))
        });
        store.commit(&[batch]).await.unwrap();
    }
}

#[tokio::test]
async fn the_room_of_a_dropped_table_is_freed_and_used_again_also_after_reopening() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Kept").await.unwrap();
    store.create_table("Gone").await.unwrap();
    fill(&store, "Kept", 100).await;
    fill_with_large_rows(&store, "Gone").await;
    store.delete_table("Gone").await.unwrap();
    // Closed at once: most rows are still there.
    store.close().await.unwrap();
    let before = std::fs::metadata(&path).unwrap().len();

    let store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(store.stats().unwrap().tables_being_freed, 1);
    while store.stats().unwrap().tables_being_freed > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.check().await.unwrap(), 100);
    store.create_table("New").await.unwrap();
    fill_with_large_rows(&store, "New").await;
    store.delete_table("New").await.unwrap();
    store.close().await.unwrap();
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after <= before, "{before} bytes before, {after} after");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Names come from a small and from a large set, so that some are new and some are known in each opening.
    #[test]
    fn names_and_values_survive_any_number_of_openings(
        openings in prop::collection::vec(
            prop::collection::vec(("[a-c]", prop::collection::btree_map("[A-F]{1,2}", any::<i64>(), 0..6)), 1..6),
            1..4,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_directory, path) = place();
            let mut model = std::collections::BTreeMap::new();
            for (opening, writes) in openings.iter().enumerate() {
                let store = EmbeddedStore::open(&path).unwrap();
                if opening == 0 {
                    store.create_table("Table").await.unwrap();
                }
                for (row, pairs) in writes {
                    let properties: Properties =
                        pairs.iter().map(|(name, value)| (PropertyName::from(name.as_str()), *value)).collect();
                    let batch = Batch::new("Table", "p").with(row, Action::InsertOrMerge(properties.clone()));
                    store.commit(&[batch]).await.unwrap();
                    model.entry(row.clone()).or_insert_with(Properties::new).merge(&properties);
                }
                let page = store.query(&Query::new("Table", KeyRange::table())).await.unwrap();
                let found: Vec<_> = page.rows.into_iter().map(|row| (row.key.row, row.properties)).collect();
                assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
            }
        });
    }
}

#[tokio::test]
async fn a_store_of_many_tables_opens_with_all_of_them() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    let created = (0..200).map(|table| {
        let store = store.clone();
        tokio::spawn(async move {
            let name = format!("Table{table}");
            store.create_table(&name).await.unwrap();
            let batch = Batch::new(&name, "p").with("r", Action::Insert(numbered(table)));
            store.commit(&[batch]).await.unwrap();
        })
    });
    for created in created.collect::<Vec<_>>() {
        created.await.unwrap();
    }
    drop(store);
    let store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(store.list_tables().await.unwrap().len(), 200);
    for table in 0..200 {
        assert_eq!(number(&store, &format!("tABLE{table}"), "r").await, Some(table));
    }
}
