//! Collecting: what no row links goes, after a grace period from when it was found so; a live blob never does.

use tablemodel::{Collected, ErrorKind, blob::object_store::ObjectStoreExt};

use super::*;

async fn collect(db: &Database) -> Collected {
    db.blobs().collect().await.expect("collected")
}

fn counts(collected: Collected) -> [u64; 4] {
    let Collected { linked, young, waiting, deleted, .. } = collected;
    assert_eq!(collected.examined, linked + young + waiting + deleted);
    [linked, young, waiting, deleted]
}

#[tokio::test]
async fn a_replaced_blob_waits_a_grace_period_from_when_it_was_found_unlinked() {
    let db = database().await;
    let mut stored = db.insert(&person("a", &large(1))).await.unwrap();
    let reader = read(&db, "a").await;
    db.clock().advance(GRACE * 10); // the upload is long ago
    stored.portrait = large(2).into();
    db.save(&mut stored).await.unwrap();
    db.clock().advance(Duration::from_secs(1));
    assert_eq!(counts(collect(&db).await), [0, 1, 1, 0]);
    assert_eq!(reader.portrait.bytes(&db).await.unwrap(), large(1), "one that read before can still fetch");
    db.clock().advance(GRACE - Duration::from_secs(1));
    assert_eq!(counts(collect(&db).await), [1, 0, 1, 0]);
    assert_eq!(reader.portrait.bytes(&db).await.unwrap(), large(1));
    db.clock().advance(Duration::from_secs(1));
    let collected = collect(&db).await;
    assert_eq!((counts(collected), collected.deleted_bytes), ([1, 0, 0, 1], 100));
    let error = reader.portrait.bytes(&db).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::NotFound, Some("Person")));
    assert_eq!(error.key(), Some(reader.key()));
    assert!(error.to_string().contains(&reader.portrait.name().unwrap()), "{error}");
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(2));
    assert_eq!(counts(collect(&db).await), [1, 0, 0, 0]);
}

#[tokio::test]
async fn what_was_just_uploaded_is_left_alone_though_no_row_links_it() {
    let db = database().await;
    db.insert(&person("a", b"")).await.unwrap();
    assert_eq!(db.insert(&person("a", &large(1))).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    db.clock().advance(GRACE - Duration::from_secs(1));
    assert_eq!(counts(collect(&db).await), [0, 1, 0, 0]);
    db.clock().advance(Duration::from_secs(1));
    assert_eq!(counts(collect(&db).await), [0, 0, 1, 0]);
    db.clock().advance(GRACE);
    assert_eq!(counts(collect(&db).await), [0, 0, 0, 1]);
    assert!(names_in(&*db.blob_store()).await.is_empty());
}

#[tokio::test]
async fn live_blobs_survive_any_number_of_collections_at_any_age() {
    let db = database().await;
    for n in 0..20_u8 {
        db.insert(&Person { film: Some(large(n).into()), ..person(&n.to_string(), &large(n)) }).await.unwrap();
    }
    for _ in 0..5 {
        db.clock().advance(GRACE * 1000);
        assert_eq!(counts(collect(&db).await), [40, 0, 0, 0]);
    }
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn the_blobs_of_deleted_entities_go_however_they_were_deleted() {
    let db = database().await;
    for name in ["a", "b", "c"] {
        db.insert(&person(name, &large(1))).await.unwrap();
    }
    db.delete(read(&db, "a").await).await.unwrap();
    let mut batch = db.batch(Person::in_partition("A"));
    batch.delete(read(&db, "b").await);
    batch.commit().await.unwrap();
    assert_eq!(Person::find().team("A").delete_all(&db).await.unwrap(), 1);
    settle(&db).await;
    assert!(names_in(&*db.blob_store()).await.is_empty());
}

#[tokio::test]
async fn a_clock_behind_the_object_store_deletes_nothing() {
    let db = database().await;
    db.delete(db.insert(&person("a", &large(1))).await.unwrap()).await.unwrap();
    db.clock().step_back(GRACE * 100);
    for _ in 0..3 {
        assert_eq!(counts(collect(&db).await), [0, 1, 0, 0]);
    }
}

#[tokio::test]
async fn counting_changes_nothing() {
    let db = database().await;
    db.delete(db.insert(&person("a", &large(1))).await.unwrap()).await.unwrap();
    for _ in 0..3 {
        db.clock().advance(GRACE);
        assert_eq!(counts(db.blobs().count().await.unwrap()), [0, 0, 1, 0]);
    }
    assert_eq!(names_in(&*db.blob_store()).await.len(), 1);
}

#[tokio::test]
async fn foreign_objects_are_left_alone() {
    let db = database().await;
    let blobs = db.blob_store();
    for name in ["people/readme", "people/_person/_a/p__a/photo", "other/_person/_a/p__a/0", "x"] {
        blobs.put(&Path::from(name), "content".into()).await.unwrap();
    }
    db.clock().advance(GRACE * 5);
    for _ in 0..3 {
        let collected = collect(&db).await;
        assert_eq!((collected.examined, collected.foreign), (0, 2));
        db.clock().advance(GRACE);
    }
    assert_eq!(blobs.list(None).try_collect::<Vec<_>>().await.unwrap().len(), 4 + 1, "and the probe");
}

#[tokio::test]
async fn a_mark_on_a_live_blob_is_taken_away() {
    let db = database().await;
    let stored = db.insert(&person("a", &large(1))).await.unwrap();
    let mark = Path::from(format!("{}.gone", stored.portrait.name().unwrap()));
    let blobs = db.blob_store();
    blobs.put(&mark, "".into()).await.unwrap();
    db.clock().advance(GRACE * 5);
    assert_eq!(counts(collect(&db).await), [1, 0, 0, 0]);
    assert!(blobs.head(&mark).await.is_err());
    blobs.put(&Path::from(format!("people/_person/_a/p__a/{:032x}.gone", 7)), "".into()).await.unwrap();
    let _ = collect(&db).await;
    assert_eq!(blobs.list(Some(&Path::from("people"))).try_collect::<Vec<_>>().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_database_without_its_tables_collects_nothing() {
    let db = database().await;
    db.insert(&person("a", &large(1))).await.unwrap();
    db.drop_tables().await.unwrap();
    db.clock().advance(GRACE * 5);
    for _ in 0..3 {
        assert_eq!(db.blobs().collect().await.unwrap_err().kind(), &ErrorKind::NotFound);
        db.clock().advance(GRACE);
    }
    assert_eq!(names_in(&*db.blob_store()).await.len(), 1);
}

#[tokio::test]
async fn databases_with_other_prefixes_keep_their_blobs_apart() {
    let db = database().await;
    let builder = || Database::builder().clock(Arc::new(db.clock().clone())).blobs(db.blob_store());
    let tenant = builder().prefix("t1").with_store::<People>(db.store()).await.unwrap();
    tenant.ensure_tables().await.unwrap();
    db.insert(&person("a", &large(1))).await.unwrap();
    tenant.insert(&person("a", &large(2))).await.unwrap();
    tenant.delete(Person::find().team("A").name("a").one(&tenant).await.unwrap().unwrap()).await.unwrap();
    for _ in 0..2 {
        db.clock().advance(GRACE);
        assert_eq!(counts(collect(&db).await), [1, 0, 0, 0]);
    }
    let _ = collect(&tenant).await;
    db.clock().advance(GRACE);
    assert_eq!(counts(collect(&tenant).await), [0, 0, 0, 1]);
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap(), large(1));
}

#[tokio::test]
async fn a_collection_cut_short_at_any_call_is_finished_by_the_next() {
    let (db, blobs) = faulty().await;
    for run in 0.. {
        let (at, when) = (run / 2, if run % 2 == 0 { faulty::When::Before } else { faulty::When::After });
        blobs.heal();
        let mut live = db.insert(&person("live", &large(1))).await.unwrap();
        live.portrait = large(2).into();
        db.save(&mut live).await.unwrap();
        db.delete(db.insert(&person("dead", &large(3))).await.unwrap()).await.unwrap();
        db.clock().advance(GRACE);
        let _ = collect(&db).await;
        db.clock().advance(GRACE);
        blobs.fail(at, when);
        let cut = db.blobs().collect().await.is_err();
        blobs.heal();
        assert_eq!(read(&db, "live").await.portrait.bytes(&db).await.unwrap(), large(2));
        settle(&db).await;
        assert_eq!(names_in(&*blobs).await, linked(&db).await, "cut {when:?} call {at}");
        db.delete(live).await.unwrap();
        settle(&db).await;
        let left: Vec<_> = blobs.list(Some(&Path::from("people"))).try_collect().await.unwrap();
        assert!(left.is_empty(), "{left:?}");
        if !cut {
            assert!(at > 5, "the cuts reached every call");
            return;
        }
    }
}
