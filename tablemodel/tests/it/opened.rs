//! Databases opened on a file: its options reach the store, or are refused where there is none; and the store is reached from the database.

use std::{path::Path, sync::Arc};

use tablemodel::{
    DatabaseBuilder, ErrorKind, Result,
    prelude::*,
    store::{Capabilities, Durability, EmbeddedStore, MemoryStore, TableStore},
    testing::TestDatabase,
};

use crate::{
    between::{Around, Between},
    transfer::{Company, Employee, employee},
};

/// What a crash at this moment would leave of the file, opened.
async fn crashed(file: &Path) -> Database {
    let copy = file.with_extension("crashed");
    std::fs::copy(file, &copy).unwrap();
    Database::open::<Company>(&copy).await.unwrap()
}

async fn has(db: &Database, id: u32) -> bool {
    Employee::find().department(format!("d{}/ä", id % 3)).id(id).exists(db).await.unwrap()
}

#[tokio::test]
async fn the_store_of_a_file_tells_its_figures_and_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("db");
    let db = Database::open::<Company>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    for id in 0..20 {
        db.insert(&employee(id)).await.unwrap();
    }
    let store = db.embedded().unwrap();
    assert_eq!(store.path(), Some(file.as_path()));
    let stats = store.stats().unwrap();
    assert!(stats.file_bytes > 0 && !stats.repaired_at_open, "{stats:?}");
    let company = stats.tables.iter().find(|table| table.name == "Company").unwrap();
    // Of each an index row by name, of every other one by its address.
    assert_eq!(company.rows, 20 + 20 + 10);
    assert_eq!(store.check().await.unwrap(), stats.tables.iter().map(|table| table.rows).sum::<u64>());
}

#[tokio::test]
async fn a_database_has_the_embedded_store_that_it_was_opened_on_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path().join("db")).unwrap();
    let db = Database::builder().with_embedded::<Company>(store.clone()).await.unwrap();
    assert_eq!(db.embedded().unwrap().path(), store.path());
    let any = Database::builder().with_store::<Company>(Arc::new(store)).await.unwrap();
    assert!(any.embedded().is_none());
    assert!(Database::in_memory::<Company>().await.unwrap().embedded().is_none());
}

#[tokio::test]
async fn a_file_opened_to_be_reopened_quickly_needs_no_repair_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("db");
    let db = Database::builder().durability(Durability::QuickReopen).open::<Company>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    for id in 0..10 {
        db.insert(&employee(id)).await.unwrap();
        let left = crashed(&file).await;
        assert!(!left.embedded().unwrap().stats().unwrap().repaired_at_open, "{id}");
        assert!(has(&left, id).await);
    }
}

#[tokio::test]
async fn what_writes_did_not_wait_for_is_on_the_disk_after_a_flush() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("db");
    let db = Database::builder().durability(Durability::Bulk).open::<Company>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    db.embedded().unwrap().flush().await.unwrap();
    assert!(has(&crashed(&file).await, 1).await);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_made_only_where_it_may_be() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("db");
    let existing = || Database::builder().create(false).open::<Company>(&file);
    let error = existing().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "something was made");
    let db = Database::builder().create(true).cache_bytes(1 << 20).open::<Company>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    db.close().await.unwrap();
    assert!(has(&existing().await.unwrap(), 1).await);
}

/// Each way to open a database that is no file of its own, or is one that is open already.
async fn opened_elsewhere(options: &DatabaseBuilder, directory: &Path, over: &TestDatabase) -> [Result<Database>; 3] {
    let embedded = EmbeddedStore::open(directory.join("db")).unwrap();
    [
        options.clone().in_memory::<Company>().await,
        options.clone().with_store::<Company>(over.store()).await,
        options.clone().with_embedded::<Company>(embedded).await,
    ]
}

#[tokio::test]
async fn options_of_a_file_are_refused_with_every_other_store_before_it_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let over = TestDatabase::new::<Company>().await.unwrap();
    let builder = Database::builder;
    for (options, named) in [
        (builder().durability(Durability::Durable), &["durability"][..]),
        (builder().cache_bytes(1 << 20), &["cache_bytes"][..]),
        (builder().create(true), &["create"][..]),
        (builder().durability(Durability::Bulk).cache_bytes(0), &["durability", "cache_bytes"][..]),
    ] {
        over.forget_calls();
        for opened in opened_elsewhere(&options, directory.path(), &over).await {
            let error = opened.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unsupported);
            let told = error.to_string();
            assert!(told.contains("`open`") && told.contains("`EmbeddedStore::builder()`"), "{told}");
            for option in ["durability", "cache_bytes", "create"] {
                assert_eq!(told.contains(&format!("`{option}`")), named.contains(&option), "{told}");
            }
        }
        assert_eq!(over.tally().to_string(), "no calls");
    }
    for opened in opened_elsewhere(&builder(), directory.path(), &over).await {
        opened.unwrap();
    }
}

/// Says of itself that it gives rows in no order.
struct Unordered;

impl Between for Unordered {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        Capabilities { ordered: false, ..inner }
    }
}

#[tokio::test]
async fn a_store_without_the_order_of_keys_is_refused() {
    let inner: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let open = |builder: DatabaseBuilder| builder.with_store::<Company>(Around::over(inner.clone(), Unordered));
    for builder in [Database::builder(), Database::builder().read_only()] {
        let error = open(builder).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("does not give rows in the order of their keys"), "{error}");
    }
    assert_eq!(inner.list_tables().await.unwrap(), Vec::<String>::new());
    Database::builder().with_store::<Company>(inner).await.unwrap();
}
