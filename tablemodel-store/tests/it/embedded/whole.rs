//! Work on a whole store: backup, check, figures.
//!
//! What `check` finds in damaged files is `damage`'s.

use std::{fs, sync::Arc};

use tablemodel_store::{Action, Batch, Condition, EmbeddedStore, StoreErrorKind, TableStore};

use super::{fill, number, place, put};

#[tokio::test]
async fn a_backup_holds_the_store_as_it_was_and_is_a_store() {
    let (directory, path) = place();
    let copy = directory.path().join("copy");
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    store.create_table("Dropped").await.unwrap();
    fill(&store, "Table", 3_000).await;
    fill(&store, "Dropped", 3_000).await;
    store.delete_table("Dropped").await.unwrap();
    store.backup_to(&copy).await.unwrap();
    put(&store, "Table", "000001", -1).await.unwrap();

    let restored = EmbeddedStore::open(&copy).unwrap();
    assert_eq!(restored.list_tables().await.unwrap(), ["Table"]);
    assert_eq!(restored.check().await.unwrap(), 3_000);
    assert_eq!(number(&restored, "Table", "000001").await, Some(1));
    put(&restored, "Table", "000002", -2).await.unwrap();
    assert_eq!(number(&store, "Table", "000002").await, Some(2));
    drop(restored);
    assert!(fs::metadata(&copy).unwrap().len() < fs::metadata(&path).unwrap().len());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "something was left beside the stores");
}

#[tokio::test]
async fn a_backup_holds_nothing_of_one_that_was_cut_short() {
    let (directory, path) = place();
    let [old, copy] = ["old", "copy"].map(|name| directory.path().join(name));
    let store = EmbeddedStore::open(&path).unwrap();
    for table in ["Kept", "Dropped"] {
        store.create_table(table).await.unwrap();
        put(&store, table, "r", 1).await.unwrap();
    }
    put(&store, "Kept", "deleted", 2).await.unwrap();
    store.backup_to(&old).await.unwrap();
    // What processes of this number, as all are in containers, left when they were killed just before the end.
    for count in 0..1_000 {
        let left = format!("{}.{}-{count}.partial", copy.display(), std::process::id());
        fs::hard_link(&old, left).unwrap();
    }
    store.delete_table("Dropped").await.unwrap();
    let delete = Action::Delete(Condition::Exists);
    store.commit(&[Batch::new("Kept", "p").with("deleted", delete)]).await.unwrap();
    store.backup_to(&copy).await.unwrap();
    let restored = EmbeddedStore::open(&copy).unwrap();
    assert_eq!(restored.list_tables().await.unwrap(), ["Kept"]);
    assert_eq!(restored.check().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_amid_writes_is_consistent() {
    let (directory, path) = place();
    let store = Arc::new(EmbeddedStore::open(&path).unwrap());
    for table in ["Left", "Right"] {
        store.create_table(table).await.unwrap();
    }
    let writer = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for number in 1..=400 {
                let batch = |table: &str| {
                    let action = tablemodel_store::Action::InsertOrReplace(super::numbered(number));
                    tablemodel_store::Batch::new(table, "p").with("r", action)
                };
                store.commit(&[batch("Left"), batch("Right")]).await.unwrap();
            }
        })
    };
    let mut last = None;
    for copy in 0..5 {
        let copy = directory.path().join(format!("copy{copy}"));
        store.backup_to(&copy).await.unwrap();
        let copy = EmbeddedStore::open(&copy).unwrap();
        let left = number(&copy, "Left", "r").await;
        assert_eq!(left, number(&copy, "Right", "r").await);
        assert!(left >= last, "{left:?} after {last:?}");
        last = left;
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let (directory, path) = place();
    let copy = directory.path().join("copy");
    let store = EmbeddedStore::open(&path).unwrap();
    fs::write(&copy, b"precious").unwrap();
    let error = store.backup_to(&copy).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    assert_eq!(fs::read(&copy).unwrap(), b"precious");
    let error = store.backup_to(directory.path().join("missing").join("copy")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    let error = store.backup_to("").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("no file can be made at this path"), "the store is there: {error}");
}

#[tokio::test]
async fn figures_tell_the_file_and_the_rows() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Few").await.unwrap();
    store.create_table("Many").await.unwrap();
    fill(&store, "Many", 250).await;
    put(&store, "Few", "r", 1).await.unwrap();
    let stats = store.stats().unwrap();
    let rows: Vec<_> = stats.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    assert_eq!(rows, [("Few", 1), ("Many", 250)]);
    assert_eq!(stats.file_bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(store.check().await.unwrap(), 251);
}
