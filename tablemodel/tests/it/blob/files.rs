//! Blobs in the folder beside a database's file: opening, reopening, backup and restore.

use tablemodel::{
    ErrorKind,
    store::{Durability, EmbeddedStore},
    testing::TestDatabase,
};

use super::*;

#[tokio::test]
async fn blobs_lie_in_a_folder_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("company.tablemodel");
    let db = Database::open::<People>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let on_disk = folder.path().join("company.tablemodel.blobs").join(stored.portrait.name().unwrap());
    assert_eq!(std::fs::read(&on_disk).unwrap(), large(1));
    db.close().await.unwrap();
    let db = Database::builder().read_only().open::<People>(&file).await.unwrap();
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_model_without_blobs_has_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open::<WithoutBlobs>(folder.path().join("db")).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(db.blobs().collect().await.unwrap_err().kind(), &ErrorKind::Unsupported);
}

#[tokio::test]
async fn blobs_lie_where_a_url_says() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/photos", folder.path().display());
    let db = Database::builder().blobs_at(&url).in_memory::<People>().await.unwrap();
    db.ensure_tables().await.unwrap();
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let on_disk = folder.path().join("photos").join(stored.portrait.name().unwrap());
    assert_eq!(std::fs::read(on_disk).unwrap(), large(1));
    let error = Database::builder().read_only().blobs_at(format!("{url}2")).in_memory::<People>().await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Invalid);
}

#[tokio::test]
async fn a_backup_takes_the_blobs_along_and_a_restore_brings_them() {
    let folder = tempfile::tempdir().unwrap();
    let [file, backup, restored] = ["db", "backup", "restored"].map(|name| folder.path().join(name));
    let db = Database::open::<People>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    let long = "L".repeat(500);
    db.insert(&person("a", &large(1))).await.unwrap();
    db.insert(&Person { film: Some(Blob::default()), ..person(&long, &vec![7; 9 << 20]) }).await.unwrap();
    db.backup(&backup).await.unwrap();
    db.update(Person::find().team("A").name("a"), |person| Ok(person.portrait = large(2).into())).await.unwrap();
    db.close().await.unwrap();
    std::fs::remove_dir_all(folder.path().join("db.blobs")).unwrap();

    Database::restore(&backup, &restored).await.unwrap();
    let db = Database::open::<People>(&restored).await.unwrap();
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
    assert_eq!(read(&db, &long).await.portrait.bytes(&db).await.unwrap(), vec![7; 9 << 20]);
    assert!(db.verify().await.unwrap().is_clean());
    assert_eq!(db.backup(&backup).await.unwrap_err().kind(), &ErrorKind::Denied, "a backup is not written over");
}

#[tokio::test]
async fn blobs_of_a_file_with_options_of_its_own_lie_beside_it_and_are_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let [file, backup] = ["db", "backup"].map(|name| folder.path().join(name));
    let store = EmbeddedStore::builder().durability(Durability::Relaxed).open(&file).unwrap();
    assert_eq!(store.path(), Some(file.as_path()));
    let db = Database::builder().with_embedded::<People>(store).await.unwrap();
    db.ensure_tables().await.unwrap();
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let on_disk = folder.path().join("db.blobs").join(stored.portrait.name().unwrap());
    assert_eq!(std::fs::read(&on_disk).unwrap(), large(1));
    db.backup(&backup).await.unwrap();
    let db = Database::open::<People>(&backup).await.unwrap();
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
}

#[derive(TableEntity)]
#[table(name = "Plain", partition = "{a}", row = "{b}")]
struct Plain {
    a: String,
    b: u32,
}

#[derive(TableModel)]
enum WithoutBlobs {
    Plain(Plain),
}

#[tokio::test]
async fn a_program_without_blobs_backs_up_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let [file, backup] = ["db", "backup"].map(|name| folder.path().join(name));
    let db = Database::open::<People>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&person("a", &large(1))).await.unwrap();
    db.close().await.unwrap();
    let db = Database::open::<WithoutBlobs>(&file).await.unwrap();
    db.backup(&backup).await.unwrap();
    let db = Database::open::<People>(&backup).await.unwrap();
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
}

#[tokio::test]
async fn a_backup_slower_than_the_grace_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [file, backup] = ["db", "backup"].map(|name| folder.path().join(name));
    let db = Database::builder().blob_grace(Duration::ZERO).open::<People>(&file).await.unwrap();
    let error = db.backup(&backup).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("blob_grace"), "{error}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("backup")), "{left:?}");
}

#[tokio::test]
async fn what_is_collected_leaves_no_folders_behind() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().join("blobs").display());
    let rows = TestDatabase::new::<People>().await.unwrap();
    let open = |grace| Database::builder().blobs_at(&url).blob_grace(grace).with_store::<People>(rows.store());
    let db = open(GRACE).await.unwrap();
    db.delete(db.insert(&person("a", &large(1))).await.unwrap()).await.unwrap();
    assert!(folder.path().join("blobs/people").exists());
    let collector = open(Duration::ZERO).await.unwrap();
    let cut_short = folder.path().join(format!("blobs/people/{:032x}#1", 7));
    std::fs::write(&cut_short, "half").unwrap();
    assert_eq!(collector.blobs().collect().await.unwrap().cut_short, 1);
    assert_eq!(collector.blobs().collect().await.unwrap().deleted, 1);
    assert!(!folder.path().join("blobs/people").exists());
}
