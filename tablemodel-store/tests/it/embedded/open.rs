//! Files that cannot be opened: each is told with words, a kind and its path; none is changed.
//!
//! Damage inside a store is `damage`'s.

use std::{
    fs,
    path::Path,
    process::Command,
    task::{Context, Poll, Waker},
};

use tablemodel_store::{Durability, EmbeddedStore, RowKey, StoreError, StoreErrorKind, TableStore};

use super::{number, place, put};

/// Where the second process finds the store.
const PATH: &str = "TABLEMODEL_TEST_LOCK_PATH";

fn refused(path: &Path, opened: Result<EmbeddedStore, StoreError>, kind: StoreErrorKind, words: &str) {
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    assert!(text.contains(words), "`{text}` lacks `{words}`");
    assert!(text.contains(path.to_str().unwrap()), "`{text}` does not name {path:?}");
}

#[tokio::test]
async fn a_second_opener_in_the_process_is_refused_until_the_first_closes() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    refused(&path, EmbeddedStore::open(&path), StoreErrorKind::Denied, "open elsewhere");
    let read_only = EmbeddedStore::builder().read_only(true).open(&path);
    assert!(!read_only.as_ref().is_err_and(StoreError::is_not_closed_cleanly));
    refused(&path, read_only, StoreErrorKind::Denied, "open elsewhere");
    store.create_table("Table").await.unwrap();
    store.close().await.unwrap();
    let again = EmbeddedStore::open(&path).unwrap();
    assert_eq!(again.list_tables().await.unwrap(), ["Table"]);
}

/// Tries to open the store of its parent. Does nothing unless it is a child.
#[test]
#[ignore = "run by the parent test"]
fn second_process() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let error = EmbeddedStore::open(path).unwrap_err();
    println!("\nrefused: {:?}, {error}", error.kind());
}

#[test]
fn a_second_process_is_refused() {
    let (_directory, path) = place();
    let _store = EmbeddedStore::open(&path).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["embedded::open::second_process", "--exact", "--ignored", "--nocapture"]).env(PATH, &path);
    let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
    assert!(output.contains("refused: Denied"), "{output}");
    assert!(output.contains("open elsewhere"), "{output}");
}

#[tokio::test]
async fn several_may_read_a_closed_store_and_none_may_write() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    put(&store, "Table", "r", 1).await.unwrap();
    store.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    let read = || EmbeddedStore::builder().read_only(true).open(&path).unwrap();
    let (one, other) = (read(), read());
    for store in [&one, &other] {
        assert!(store.capabilities().read_only);
        assert_eq!(number(store, "Table", "r").await, Some(1));
        assert_eq!(put(store, "Table", "r", 2).await.unwrap_err().kind(), StoreErrorKind::Denied);
        assert_eq!(store.create_table("Other").await.unwrap_err().kind(), StoreErrorKind::Denied);
        assert_eq!(store.delete_table("Table").await.unwrap_err().kind(), StoreErrorKind::Denied);
        store.flush().await.unwrap();
    }
    refused(&path, EmbeddedStore::open(&path), StoreErrorKind::Denied, "open elsewhere");
    one.close().await.unwrap();
    assert_eq!(one.list_tables().await.unwrap_err().kind(), StoreErrorKind::Closed);
    assert_eq!(number(&other, "Table", "r").await, Some(1));
    drop(other);
    assert_eq!(fs::read(&path).unwrap(), before);
    // Closed while somebody reads: the file is free at once.
    let store = read();
    let closing = store.clone();
    let mut see = |_: &tablemodel_store::Shown<'_>| {
        let closed = std::pin::pin!(closing.close()).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(closed, Poll::Ready(Ok(()))), "{closed:?}");
        drop(EmbeddedStore::open(&path).unwrap());
    };
    store.show("Table", &RowKey::new("p", "r"), &mut see).unwrap().unwrap();
}

#[test]
fn missing_files_and_directories_are_refused() {
    let (directory, path) = place();
    let read_only = EmbeddedStore::builder().read_only(true).open(&path);
    refused(&path, read_only, StoreErrorKind::Denied, "no such file");
    let existing = EmbeddedStore::builder().create(false).open(&path);
    refused(&path, existing, StoreErrorKind::Denied, "no such file");
    assert!(!path.exists());
    let nowhere = directory.path().join("missing").join("store");
    refused(&nowhere, EmbeddedStore::open(&nowhere), StoreErrorKind::Denied, "directory does not exist");
    refused(directory.path(), EmbeddedStore::open(directory.path()), StoreErrorKind::Denied, "directory");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    if cfg!(unix) {
        let (file, long) = (directory.path().join("file"), directory.path().join("n".repeat(256)));
        fs::write(&file, "").unwrap();
        refused(&file.join("store"), EmbeddedStore::open(file.join("store")), StoreErrorKind::Denied, "is a file");
        refused(&long, EmbeddedStore::open(&long), StoreErrorKind::Denied, "too long");
        #[cfg(unix)]
        {
            let link = directory.path().join("link");
            std::os::unix::fs::symlink(directory.path().join("gone"), &link).unwrap();
            refused(&link, EmbeddedStore::open(&link), StoreErrorKind::Denied, "a link to a file that is not there");
        }
    }
}

#[test]
fn foreign_files_are_refused_and_left_as_they_are() {
    let (_directory, path) = place();
    let foreign = [
        b"SQLite format 3\0 and so on".to_vec(),
        b"x".to_vec(),
        vec![0; 8_192],
        (0..100_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect(),
    ];
    for bytes in foreign {
        fs::write(&path, &bytes).unwrap();
        refused(&path, EmbeddedStore::open(&path), StoreErrorKind::Corrupt, "foreign or damaged");
        let read_only = EmbeddedStore::builder().read_only(true).open(&path);
        refused(&path, read_only, StoreErrorKind::Corrupt, "foreign or damaged");
        assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_keeps_its_data() {
    use redb::{Database, ReadableDatabase, TableDefinition};
    const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("theirs");
    let (_directory, path) = place();
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TABLE).unwrap().insert(1, 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    refused(&path, EmbeddedStore::open(&path), StoreErrorKind::Corrupt, "not a store of tablemodel");
    let database = Database::open(&path).unwrap();
    assert_eq!(database.begin_read().unwrap().open_table(TABLE).unwrap().get(1).unwrap().unwrap().value(), 2);
}

#[tokio::test]
async fn an_empty_file_is_no_store_since_none_was_ever_so_short() {
    let (_directory, path) = place();
    fs::write(&path, b"").unwrap();
    refused(
        &path,
        EmbeddedStore::open(&path),
        StoreErrorKind::Corrupt,
        "the file is empty; restore a backup, or remove it",
    );
    let existing = EmbeddedStore::builder().create(false).open(&path);
    refused(&path, existing, StoreErrorKind::Corrupt, "empty");
    let read_only = EmbeddedStore::builder().read_only(true).open(&path);
    refused(&path, read_only, StoreErrorKind::Corrupt, "the file is empty; restore a backup, or remove it");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    fs::remove_file(&path).unwrap();
    EmbeddedStore::open(&path).unwrap().create_table("Table").await.unwrap();
}

#[tokio::test]
async fn a_truncated_store_is_refused_or_read_rightly() {
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    super::fill(&store, "Table", 2_000).await;
    store.close().await.unwrap();
    let whole = fs::read(&path).unwrap();
    for part in 0..16 {
        fs::write(&path, &whole[..whole.len() * part / 16]).unwrap();
        let checked = match EmbeddedStore::open(&path) {
            Ok(store) => store.check().await,
            Err(error) => Err(error),
        };
        match checked {
            Ok(rows) => assert_eq!(rows, 2_000),
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path) = place();
    drop(EmbeddedStore::open(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    // The superuser may write all the same.
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        refused(&path, EmbeddedStore::open(&path), StoreErrorKind::Denied, "no permission");
    }
    let read_only = EmbeddedStore::builder().read_only(true).open(&path).unwrap();
    drop(read_only);
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let other = directory.path().join("other");
    if fs::write(&other, b"").is_err() {
        refused(&other, EmbeddedStore::open(&other), StoreErrorKind::Denied, "no permission");
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// A copy of the file of an open store is what a crash would leave.
#[tokio::test]
async fn a_crash_needs_no_repair_once_the_store_was_idle() {
    let (directory, path) = place();
    let crashed = directory.path().join("crashed");
    let crash = async |expected| {
        fs::copy(&path, &crashed).unwrap();
        let read_only = EmbeddedStore::builder().read_only(true).open(&crashed);
        assert!(read_only.as_ref().is_err_and(StoreError::is_not_closed_cleanly));
        refused(&crashed, read_only, StoreErrorKind::Denied, "not closed cleanly");
        let store = EmbeddedStore::open(&crashed).unwrap();
        assert_eq!(number(&store, "Table", "r").await, Some(expected));
        store.stats().unwrap().repaired_at_open
    };
    let store = EmbeddedStore::open(&path).unwrap();
    assert!(!store.stats().unwrap().repaired_at_open);
    store.create_table("Table").await.unwrap();
    // A machine under load may let the store fall idle before its file is copied, or make it take its time.
    let mut repaired = Vec::new();
    for _ in 0..20 {
        put(&store, "Table", "r", 1).await.unwrap();
        repaired.push(crash(1).await);
    }
    assert!(repaired.contains(&true), "no repair right after a commit");
    let mut tries = 0;
    while crash(1).await {
        tries += 1;
        assert!(tries < 100, "a repair though the store was idle");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(store);

    let store = EmbeddedStore::builder().durability(Durability::QuickReopen).open(&path).unwrap();
    put(&store, "Table", "r", 2).await.unwrap();
    assert!(!crash(2).await, "a repair in spite of quick reopening");
}
