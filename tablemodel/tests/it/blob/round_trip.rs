//! Blobs through every operation that writes entities.

use tablemodel::{EdmType, Error, ErrorKind, store::EmbeddedStore, testing::TestDatabase};

use super::*;

async fn edm_of_portrait(db: &TestDatabase, name: &str) -> EdmType {
    let row = read(db, name).await.row().clone();
    row.properties.get("Portrait").expect("there").edm()
}

#[tokio::test]
async fn a_value_is_in_the_row_below_the_threshold_and_a_blob_from_it_on() {
    let db = database().await;
    for length in [0, 15, 16, 17] {
        let name = format!("n{length}");
        let stored = db.insert(&person(&name, &vec![7; length])).await.unwrap();
        let is_blob = length >= 16;
        assert_eq!(stored.portrait.name().is_some(), is_blob);
        assert_eq!(stored.portrait.length(), Some(length as u64));
        let edm = if is_blob { EdmType::String } else { EdmType::Binary };
        assert_eq!(edm_of_portrait(&db, &name).await, edm);
        assert_eq!(read(&db, &name).await.portrait.bytes(&db).await.unwrap(), vec![7; length]);
    }
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn an_empty_blob_is_one_where_the_threshold_is_zero() {
    let db = database().await;
    let film = Some(Blob::default());
    let stored = db.insert(&Person { film, ..person("n", b"") }).await.unwrap();
    let film = stored.film.clone().unwrap();
    assert!(film.name().is_some());
    assert_eq!(film.bytes(&db).await.unwrap(), Vec::new());
    let pieces: Vec<_> = film.stream(&db).try_collect().await.unwrap();
    assert!(pieces.concat().is_empty());
    assert_eq!(read(&db, "n").await.film, Some(Blob::default()));
}

#[tokio::test]
async fn reading_entities_calls_no_object_store() {
    let (db, blobs) = faulty().await;
    for name in ["a", "b"] {
        db.insert(&Person { film: Some(large(9).into()), ..person(name, &large(1)) }).await.unwrap();
    }
    blobs.heal();
    let mut one = read(&db, "a").await;
    Person::find().team("A").all(&db).await.unwrap();
    Person::by_age().team("A").age(30).all(&db).await.unwrap();
    one.age = 31;
    db.save(&mut one).await.unwrap();
    db.update(Person::find().team("A").name("b"), |person| Ok(person.age += 1)).await.unwrap();
    let again = read(&db, "a").await;
    assert_eq!(again.portrait, one.portrait);
    db.upsert(&*again).await.unwrap();
    db.delete(read(&db, "b").await).await.unwrap();
    assert_eq!(blobs.calls(), 0, "unchanged blobs are neither fetched nor uploaded");
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
    assert_eq!(blobs.calls(), 1);
}

#[tokio::test]
async fn a_replaced_value_is_another_blob_and_one_saved_again_is_the_same() {
    let db = database().await;
    let mut stored = db.insert(&person("a", &large(1))).await.unwrap();
    let first = stored.portrait.name();
    stored.portrait = large(2).into();
    db.save(&mut stored).await.unwrap();
    let second = read(&db, "a").await.portrait.name();
    assert_ne!(first, second);
    stored.age += 1;
    db.save(&mut stored).await.unwrap(); // the handle that was uploaded
    assert_eq!(read(&db, "a").await.portrait.name(), second);
    stored.portrait = vec![1].into();
    db.save(&mut stored).await.unwrap();
    let row = read(&db, "a").await.row().clone();
    assert!(row.properties.get("Portrait_length").is_none() && row.properties.get("Portrait_sum").is_none());
    assert_eq!(read(&db, "a").await.portrait, Blob::from(vec![1]));
}

#[tokio::test]
async fn batches_updates_and_bulk_loads_upload_too() {
    let db = database().await;
    let mut one = db.insert(&person("one", &large(1))).await.unwrap();
    one.portrait = large(2).into();
    let mut batch = db.batch(Person::in_partition("A"));
    batch.insert(&person("two", &large(3))).save(&mut one).upsert(&person("three", &large(4)));
    batch.commit().await.unwrap();
    db.update(Person::find().team("A").name("two"), |person| Ok(person.film = Some(large(5).into()))).await.unwrap();
    let people = (0..250_u8).map(|n| person(&format!("bulk{n}"), &large(n)));
    let report = db.bulk().insert_all(futures_util::stream::iter(people)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (250, 0));
    for (name, seed) in [("one", 2), ("two", 3), ("three", 4), ("bulk0", 0), ("bulk249", 249)] {
        assert_eq!(read(&db, name).await.portrait.bytes(&db).await.unwrap(), large(seed), "{name}");
    }
    assert_eq!(read(&db, "two").await.film.clone().unwrap().bytes(&db).await.unwrap(), large(5));
    assert!(db.verify().await.unwrap().is_clean());
    settle(&db).await;
    assert!(names_in(&*db.blob_store()).await == linked(&db).await);
}

#[tokio::test]
async fn a_bulk_load_with_refused_entities_uploads_each_blob_once() {
    let (db, blobs) = faulty().await;
    db.insert(&person("n05", &large(1))).await.unwrap();
    db.insert(&person("n31", &large(1))).await.unwrap();
    blobs.heal();
    let people = (0..40_u8).map(|n| person(&format!("n{n:02}"), &large(n)));
    let report = db.bulk().insert_all(futures_util::stream::iter(people)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (38, 2));
    assert_eq!(blobs.calls(), 40);
}

#[tokio::test]
async fn a_blob_of_another_entity_is_copied() {
    let db = database().await;
    let one = db.insert(&person("one", &large(1))).await.unwrap();
    let two = db.insert(&Person { portrait: one.portrait.clone(), ..person("two", b"") }).await.unwrap();
    assert_ne!(one.portrait.name(), two.portrait.name());
    assert_eq!(one.portrait, two.portrait);
    db.delete(one).await.unwrap();
    settle(&db).await;
    assert_eq!(read(&db, "two").await.portrait.bytes(&db).await.unwrap(), large(1));
    assert_eq!(names_in(&*db.blob_store()).await, linked(&db).await);
}

#[tokio::test]
async fn an_entity_that_moves_takes_its_blob_along() {
    let db = database().await;
    let mut one = db.insert(&person("one", &large(1))).await.unwrap();
    one.name = "uno".into();
    db.save(&mut one).await.unwrap();
    settle(&db).await;
    assert_eq!(read(&db, "uno").await.portrait.bytes(&db).await.unwrap(), large(1));
    assert_eq!(names_in(&*db.blob_store()).await, linked(&db).await);
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn an_upsert_of_what_was_read_before_a_replacement_brings_the_old_content_back() {
    let db = database().await;
    let old = db.insert(&person("one", &large(1))).await.unwrap().into_inner();
    db.upsert(&person("one", &large(2))).await.unwrap();
    let again = db.upsert(&old).await.unwrap();
    assert_ne!(again.portrait.name(), old.portrait.name());
    settle(&db).await;
    assert_eq!(read(&db, "one").await.portrait.bytes(&db).await.unwrap(), large(1));
}

#[tokio::test]
async fn patches_and_projections_leave_blobs_alone() {
    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Person)]
    struct Card {
        name: String,
        #[table(blob)]
        portrait: Blob,
        #[table(blob)]
        film: Option<Blob>,
    }
    let db = database().await;
    db.insert(&person("one", &large(1))).await.unwrap();
    let card = Person::find().team("A").name("one").select::<Card>().one(&db).await.unwrap().unwrap();
    assert_eq!(card, Card { name: "one".into(), portrait: large(1).into(), film: None });
    assert_eq!(card.portrait.bytes(&db).await.unwrap(), large(1));
    assert_eq!(Person::PORTRAIT.names(), ["Portrait", "Portrait_length", "Portrait_sum"]);
}

#[tokio::test]
async fn a_refused_write_uploads_nothing_it_could_have_known() {
    let (db, blobs) = faulty().await;
    blobs.heal();
    let error = db.insert(&person(&"n".repeat(2000), &large(1))).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::KeyTooLong);
    let mut batch = db.batch(Person::in_partition("B"));
    batch.insert(&person("a", &large(1)));
    assert_eq!(batch.commit().await.unwrap_err().kind(), &ErrorKind::WrongPartition);
    assert_eq!(blobs.calls(), 0);
}

#[tokio::test]
async fn an_upload_that_fails_is_told_of_its_entity_and_property() {
    let (db, blobs) = faulty().await;
    blobs.fail(0, faulty::When::Before);
    let told = |error: Error, operation| {
        assert_eq!(error.kind(), &ErrorKind::Unavailable);
        assert_eq!((error.entity(), error.operation()), (Some("Person"), operation));
        assert_eq!(error.key().map(|key| key.row.as_str()), Some("p_two"));
        assert!(error.to_string().contains("`Portrait`"), "{error}");
    };
    told(db.insert(&person("two", &large(1))).await.unwrap_err(), None);
    let mut batch = db.batch(Person::in_partition("A"));
    batch.insert(&person("one", b"small")).insert(&person("two", &large(1)));
    told(batch.commit().await.unwrap_err(), Some(1));
    assert!(Person::find().team("A").all(&db).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_database_opened_read_only_uploads_nothing() {
    let (db, blobs) = faulty().await;
    blobs.heal();
    let builder = Database::builder().read_only().blobs(blobs.clone());
    let reader = builder.with_store::<People>(db.store()).await.unwrap();
    assert_eq!(reader.insert(&person("a", &large(1))).await.unwrap_err().kind(), &ErrorKind::Denied);
    assert_eq!(reader.blobs().collect().await.unwrap_err().kind(), &ErrorKind::Denied);
    assert_eq!(blobs.calls(), 0);
}

/// Also where the store says so, and the database does not.
#[tokio::test]
async fn a_store_that_was_opened_read_only_makes_its_database_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("db");
    let db = Database::builder().open::<People>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&person("a", &large(1))).await.unwrap();
    drop(db);
    let before = files(folder.path());
    let store = || EmbeddedStore::builder().read_only(true).open(&file).unwrap();
    let db = Database::builder().with_embedded::<People>(store()).await.unwrap();
    let denied = |error: tablemodel::Error| assert_eq!(*error.kind(), ErrorKind::Denied, "{error:?}");
    denied(db.insert(&person("b", &large(2))).await.unwrap_err());
    denied(db.blobs().collect().await.unwrap_err());
    denied(db.ensure_tables().await.unwrap_err());
    denied(db.bulk().insert_all(futures_util::stream::iter([person("c", b"small")])).await.unwrap_err());
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
    drop(db);
    assert_eq!(files(folder.path()), before);
    std::fs::remove_dir_all(folder.path().join("db.blobs")).unwrap();
    drop(Database::builder().with_embedded::<People>(store()).await.unwrap());
    assert_eq!(files(folder.path()).len(), 1, "it makes no folder");
}

/// Everything in a folder, and in those in it.
fn files(folder: &std::path::Path) -> BTreeSet<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { BTreeSet::from([path]) }).collect()
}

#[tokio::test]
async fn a_model_with_blobs_needs_a_place_for_them() {
    let db = database().await;
    let error = Database::builder().with_store::<People>(db.store()).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Unsupported, Some("Person")));
    let error = Database::builder().blobs_at("gopher://x").with_store::<People>(db.store()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Invalid);
}

#[tokio::test]
async fn one_value_in_two_databases_is_two_blobs() {
    let (first, second) = (database().await, database().await);
    let entity = person("a", &large(1));
    for db in [&first, &second, &first] {
        db.upsert(&entity).await.unwrap();
        assert_eq!(read(db, "a").await.portrait.bytes(db).await.unwrap(), large(1));
        assert!(db.verify().await.unwrap().is_clean());
    }
}
