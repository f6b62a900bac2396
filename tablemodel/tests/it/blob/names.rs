//! Hostile keys: a blob of any entity is found, kept while linked, and collected when not.

use tablemodel::{ErrorKind, blob::object_store::ObjectStoreExt};

use super::*;

fn hostile() -> Vec<String> {
    let long = |text: &str, chars: usize| text.repeat(chars);
    let texts =
        ["..", ".", "/", "a/b", "con", "NUL", "%2e%2e", "a=41", "Ä\u{10437}", "\u{0}\n", " ", "~", "#1", "_", "__"];
    let mut names: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    names.extend([
        long("x", 190),
        long("X", 150),
        long("é", 60),
        long("\u{ffee}", 700),
        long("k", 1000),
        String::new(),
    ]);
    names.extend(["Case".to_owned(), "case".to_owned(), "CASE".to_owned()]);
    names
}

async fn written(db: &Database) {
    for (n, name) in hostile().iter().enumerate() {
        db.insert(&person(name, &large(n as u8))).await.expect(name);
    }
}

async fn all_there(db: &Database) {
    for (n, name) in hostile().iter().enumerate() {
        assert_eq!(read(db, name).await.portrait.bytes(db).await.expect(name), large(n as u8), "{name}");
    }
}

#[tokio::test]
async fn every_key_has_its_blobs() {
    let db = database().await;
    written(&db).await;
    for _ in 0..3 {
        settle(&db).await;
        all_there(&db).await;
    }
    assert!(db.verify().await.unwrap().is_clean());
    Person::find().team("A").delete_all(&db).await.unwrap();
    settle(&db).await;
    let left: Vec<_> = db.blob_store().list(Some(&Path::from("people"))).try_collect().await.unwrap();
    assert!(left.is_empty(), "records of keys and marks go too: {left:?}");
}

#[tokio::test]
async fn every_key_has_its_blobs_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::builder().blob_grace(Duration::ZERO);
    let db = db.open::<People>(folder.path().join("db")).await.unwrap();
    db.ensure_tables().await.unwrap();
    // No grace at all would let no write be in time: write by another handle.
    let error = db.insert(&person("a", &large(1))).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable);
    db.close().await.unwrap();
    let db = Database::open::<People>(folder.path().join("db")).await.unwrap();
    written(&db).await;
    all_there(&db).await;
    assert!(db.verify().await.unwrap().is_clean());
    db.close().await.unwrap();
    let db = Database::builder().blob_grace(Duration::ZERO);
    let db = db.open::<People>(folder.path().join("db")).await.unwrap();
    for _ in 0..3 {
        let _ = db.blobs().collect().await.unwrap();
    }
    all_there(&db).await;
    assert_eq!(db.blobs().count().await.unwrap().examined, hostile().len() as u64);
}

#[tokio::test]
async fn keys_that_a_name_cannot_hold_are_recorded_before_the_row_is_written() {
    let db = database().await;
    let name = "L".repeat(500);
    let stored = db.insert(&person(&name, &large(1))).await.unwrap();
    let blob = stored.portrait.name().unwrap();
    assert!(blob.starts_with("people/_person/long/"), "{blob}");
    let record = db.blob_store().get(&Path::from(format!("{blob}.keys"))).await.unwrap().bytes().await.unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["PartitionKey"], stored.key().partition.as_str());
    assert_eq!(record["RowKey"], stored.key().row.as_str());
}

/// The bytes that FORMAT.md draws: never to be changed to fit the code.
#[tokio::test]
async fn a_row_holds_a_blob_as_the_format_says() {
    use tablemodel::Value;
    let db = database().await;
    let film = Some(b"the quick brown fox".to_vec().into());
    let stored = db.insert(&Person { film, ..person("Ann_1", b"small") }).await.unwrap();
    let property = |name| stored.row().properties.get(name).map(|value| value.to_value());
    assert_eq!(property("Portrait"), Some(Value::Binary(b"small".to_vec())));
    assert_eq!((property("Portrait_length"), property("Portrait_sum")), (None, None));
    let Some(Value::String(name)) = property("Film") else { panic!("not a link") };
    let (folder, random) = name.rsplit_once('/').unwrap();
    assert_eq!((folder, random.len()), ("people/_person/_a/p___ann__1", 32));
    assert_eq!(property("Film_length"), Some(Value::Int64(19)));
    assert_eq!(property("Film_sum"), Some(Value::Int64(8_136_938_508_107_280_505)));
    let content = db.blob_store().get(&Path::from(name)).await.unwrap().bytes().await.unwrap();
    assert_eq!(content, b"the quick brown fox"[..]);
}
