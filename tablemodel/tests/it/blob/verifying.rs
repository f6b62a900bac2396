//! Missing and damaged blobs: told with the entity, its key and the blob's name, by fetches and by `verify`.

use futures_util::StreamExt;
use tablemodel::{Error, ErrorKind, ViolationKind, blob::object_store::ObjectStoreExt, testing::TestDatabase};

use super::*;

/// Puts something else where the blob was, or takes it away.
async fn spoil(db: &TestDatabase, blob: &str, content: Option<Vec<u8>>) {
    let path = Path::from(blob);
    match content {
        Some(content) => drop(db.blob_store().put(&path, content.into()).await.unwrap()),
        None => db.blob_store().delete(&path).await.unwrap(),
    }
}

fn flipped() -> Vec<u8> {
    let mut content = large(1);
    content[50] ^= 1;
    content
}

fn told(error: &Error, stored: &Stored<Person>) {
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Corrupt, Some("Person")), "{error}");
    assert_eq!(error.key(), Some(stored.key()));
    assert!(error.to_string().contains(&stored.portrait.name().unwrap()), "{error}");
}

#[tokio::test]
async fn a_blob_that_is_missing_or_damaged_is_corrupt_and_never_given() {
    let longer = [large(1), vec![1]].concat();
    for content in [None, Some(flipped()), Some(longer), Some(large(1)[..99].to_vec()), Some(Vec::new())] {
        let db = database().await;
        let stored = db.insert(&person("a", &large(1))).await.unwrap();
        spoil(&db, &stored.portrait.name().unwrap(), content.clone()).await;
        told(&stored.portrait.bytes(&db).await.unwrap_err(), &stored);
        let items: Vec<_> = stored.portrait.stream(&db).collect().await;
        told(items.last().unwrap().as_ref().unwrap_err(), &stored);
        assert_eq!(items.len(), 1, "nothing of it was given");
        let error = db.insert(&Person { portrait: stored.portrait.clone(), ..person("b", b"") }).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "a damaged blob is not copied");
    }
}

#[tokio::test]
async fn a_long_blob_that_is_damaged_ends_in_an_error() {
    let db = database().await;
    let content = vec![3; 20 << 20];
    let stored = db.insert(&person("a", &content)).await.unwrap();
    let mut damaged = content.clone();
    damaged[19 << 20] = 0;
    spoil(&db, &stored.portrait.name().unwrap(), Some(damaged)).await;
    let items: Vec<_> = stored.portrait.stream(&db).collect().await;
    let lengths: Vec<_> = items.iter().map(|item| item.as_ref().map(|piece| piece.len()).ok()).collect();
    assert_eq!(lengths, [Some(8 << 20), Some(8 << 20), None]);
    told(items.last().unwrap().as_ref().unwrap_err(), &stored);
}

#[tokio::test]
async fn verify_finds_missing_and_shortened_blobs() {
    let db = database().await;
    for n in 0..30_u8 {
        db.insert(&Person { film: Some(large(n).into()), ..person(&format!("{n:02}"), &large(n)) }).await.unwrap();
    }
    assert!(db.verify().await.unwrap().is_clean());
    let missing = read(&db, "03").await;
    spoil(&db, &missing.film.as_ref().unwrap().name().unwrap(), None).await;
    let short = read(&db, "17").await;
    spoil(&db, &short.portrait.name().unwrap(), Some(vec![1])).await;
    let violations = db.verify().await.unwrap().violations;
    let found: Vec<_> = violations.iter().map(|violation| (&violation.key, violation.kind)).collect();
    assert_eq!(found, [(missing.key(), ViolationKind::MissingBlob), (short.key(), ViolationKind::DamagedBlob)]);
    assert!(violations[0].detail.contains("`Film`") && violations[1].detail.contains("`Portrait`"));
}

#[tokio::test]
async fn verify_finds_links_that_were_moved_to_another_row() {
    let db = database().await;
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let mut lines = Vec::new();
    db.export(&mut lines).await.unwrap();
    let moved = String::from_utf8(lines).unwrap().replace("\"p_a\"", "\"p_z\"").replace("age_030_a", "age_030_z");
    db.delete(stored).await.unwrap();
    let row = moved.lines().filter(|line| line.contains("\"odata.table\":\"People\"")).collect::<Vec<_>>().join("\n");
    db.import(row.as_bytes()).await.unwrap();
    let violations = db.verify().await.unwrap().violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert_eq!(violations[0].kind, ViolationKind::DamagedBlob);
}

#[tokio::test]
async fn half_a_link_is_a_corrupt_row() {
    use tablemodel::store::{Action, Batch, Condition};
    let db = database().await;
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let mut properties = stored.row().properties.clone();
    properties.remove("Portrait_sum");
    let replace = Action::Replace(properties, Condition::Exists);
    db.store().commit(&[Batch::new("People", "A!").with("p_a", replace.clone())]).await.ok();
    db.store().commit(&[Batch::new("People", stored.key().partition.clone()).with("p_a", replace)]).await.unwrap();
    let error = Person::find().team("A").name("a").one(&db).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Corrupt);
    assert!(error.to_string().contains("Portrait_sum"), "{error}");
}

/// Puts another text where the row links its portrait, past the framework.
async fn plant(db: &TestDatabase, stored: &Stored<Person>, link: &str) {
    use tablemodel::store::{Action, Batch, Condition};
    let mut properties = stored.row().properties.clone();
    properties.insert("Portrait", link);
    let replace = Action::Replace(properties, Condition::Exists);
    let batch = Batch::new("People", stored.key().partition.clone()).with(stored.key().row.clone(), replace);
    db.store().commit(&[batch]).await.unwrap();
}

async fn assert_damaged(db: &TestDatabase, told: &str) {
    let violations = db.verify().await.unwrap().violations;
    let found: Vec<_> = violations.iter().map(|violation| (violation.kind, violation.key.row.as_str())).collect();
    assert_eq!(found, [(ViolationKind::DamagedBlob, "p_a")], "{told}: {violations:?}");
    let repaired = db.repair().await.unwrap();
    assert_eq!((repaired.repaired, repaired.left.len()), (0, 1), "{told}");
}

#[tokio::test]
async fn a_link_that_is_no_name_of_a_blob_is_told_of_its_row_and_stops_no_walk() {
    for link in ["a//b", "", "x#1", "people/_person/_a/p__a/x#1", "photos/a.jpg"] {
        let (db, blobs) = faulty().await;
        db.insert(&person("b", &large(2))).await.unwrap();
        let stored = db.insert(&person("a", &large(1))).await.unwrap();
        plant(&db, &stored, link).await;
        blobs.heal();
        assert_damaged(&db, link).await;
        assert_eq!(blobs.calls(), 2, "{link}: that of the other row alone, twice");
    }
}

#[tokio::test]
async fn a_record_of_a_move_that_cannot_be_read_is_told_of_its_row_and_stops_no_walk() {
    let db = database().await;
    db.insert(&person("b", &large(2))).await.unwrap();
    let mut stored = db.insert(&Person { team: "B".into(), ..person("a", &large(1)) }).await.unwrap();
    stored.team = "A".into();
    db.rekey(&mut stored).await.unwrap();
    let blob = stored.portrait.name().unwrap();
    spoil(&db, &format!("{blob}.moved1"), Some(b"{".to_vec())).await;
    assert_damaged(&db, "a record").await;
}

#[tokio::test]
async fn a_link_that_was_imported_under_another_prefix_is_corrupt() {
    let db = database().await;
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let mut lines = Vec::new();
    db.export(&mut lines).await.unwrap();
    let other = Database::builder().prefix("t1").in_memory::<People>().await.unwrap();
    other.import(lines.as_slice()).await.unwrap();
    other.ensure_tables().await.unwrap();
    told(&read(&other, "a").await.portrait.bytes(&other).await.unwrap_err(), &stored);
}
