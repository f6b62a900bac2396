//! The rows of lists, byte by byte as FORMAT.md draws them, what writes cost, and what paths give.

use tablemodel::{
    Consistency, ErrorKind, RowKey, Value,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{Model, Worker, assert_exact, at, database, list_rows, rows_in, worker};

async fn raw(db: &TestDatabase, table: &str, partition: &str, row: &str) -> Option<Vec<(String, Value)>> {
    let row = db.store().get(table, &RowKey::new(partition, row)).await.unwrap()?;
    let named = row.properties.iter().filter(|(name, _)| name.as_str() != "_seq");
    Some(named.map(|(name, value)| (name.as_str().to_owned(), value.to_value())).collect())
}

#[tokio::test]
async fn a_list_in_one_row_is_explained_as_that_row_and_one_elsewhere_as_a_row_for_each_key() {
    let db = database(Consistency::Azure).await;
    for id in 1..=3 {
        db.insert(&worker(id)).await.unwrap();
    }
    let near = || Worker::by_name().department("A").name("Jones");
    db.forget_calls();
    assert_eq!(near().all(&db).await.unwrap().len(), 3);
    assert_eq!((db.tally().rows_read, db.tally().point_reads), (1 + 3, 3));
    assert_eq!(near().explain().rows, "1 per 16000 characters of keys, and 1 per result");

    let far = || Worker::by_city().city("Rome").name("Jones");
    db.forget_calls();
    assert_eq!(far().all(&db).await.unwrap().len(), 3);
    assert_eq!((db.tally().rows_read, db.tally().point_reads), (2 * 3, 3));
    assert_eq!(far().explain().rows, "2 per result");
}

#[tokio::test]
async fn keys_and_count_of_a_list_elsewhere_read_no_entity() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = database(mode).await;
        for id in 1..=3 {
            db.insert(&worker(id)).await.unwrap();
        }
        let far = || Worker::by_city().city("Rome").name("Jones");
        db.forget_calls();
        assert_eq!(far().count(&db).await.unwrap(), 3);
        assert_eq!(far().keys(&db).await.unwrap().len(), 3);
        assert_eq!(db.tally().to_string(), "2 range query pages, 0 scans", "{mode:?}");
    }
}

#[tokio::test]
async fn the_rows_are_those_that_the_format_page_draws() {
    let db = database(Consistency::Azure).await;
    db.insert(&worker(2)).await.unwrap();
    db.insert(&worker(1)).await.unwrap();
    let head = [
        ("EntityType", Value::from("Worker.by_name@1")),
        ("_count", Value::Int64(2)),
        ("_keys", Value::from(r#"["w_x_000001","w_x_000002"]"#)),
    ];
    assert_eq!(raw(&db, "Company", "A", "n_Jones").await.unwrap(), head.map(|(name, value)| (name.to_owned(), value)));
    let contribution = [("EntityType", "Worker.by_city@1"), ("_pk", "A"), ("_rk", "w_x_000001")];
    let found = raw(&db, "Cities", "Rome", "in_Jones!A!w_x_000001").await.unwrap();
    assert_eq!(found, contribution.map(|(name, value)| (name.to_owned(), Value::from(value))));
}

#[tokio::test]
async fn a_key_of_a_contribution_tells_its_owner_whatever_the_owners_keys_hold() {
    let db = database(Consistency::Azure).await;
    // The same letters, cut at another place.
    for (department, tag) in [("a!b", "c"), ("a", "b!c"), ("a$21b", "c"), ("ü/~ ", "'\"$")] {
        db.insert(&Worker { department: department.into(), tag: tag.into(), ..worker(1) }).await.unwrap();
    }
    let found = Worker::by_city().city("Rome").name("Jones").all(&db).await.unwrap();
    assert_eq!(found.len(), 4);
    let keys = Worker::by_city().city("Rome").name("Jones").keys(&db).await.unwrap();
    assert!(keys.is_sorted(), "{keys:?}");
}

#[tokio::test]
async fn an_emptied_list_goes_away_and_a_save_that_changes_no_list_reads_none() {
    let db = database(Consistency::Azure).await;
    let mut one = db.insert(&worker(1)).await.unwrap();
    db.forget_calls();
    one.age = 31;
    db.save(&mut one).await.unwrap();
    assert_eq!(db.calls().len(), 1, "{}: no list and nothing elsewhere changes", db.tally());
    db.delete(one).await.unwrap();
    assert_eq!(list_rows(&db).await, []);
    assert_exact(&db, "deleted").await;
}

#[tokio::test]
async fn an_insert_reads_the_first_row_of_each_list_and_writes_it_once() {
    let db = database(Consistency::Atomic).await;
    db.insert(&worker(1)).await.unwrap();
    db.forget_calls();
    db.insert(&Worker { skills: vec![], badge: None, ..worker(2) }).await.unwrap();
    assert_eq!(db.tally().to_string(), "1 point read, 1 commit of 3 operations, 0 scans");
}

#[tokio::test]
async fn changes_of_one_batch_that_meet_in_a_list_are_one_write_of_it() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = database(mode).await;
        let (one, two) = (db.insert(&worker(1)).await.unwrap(), db.insert(&worker(2)).await.unwrap());
        let mut three = db.insert(&worker(3)).await.unwrap();
        three.name = "Smith".into();
        let mut batch = db.batch(Worker::in_partition("A"));
        batch
            .delete(one)
            .save(&mut three)
            .insert(&worker(4))
            .insert(&Worker { name: "Smith".into(), ..worker(5) })
            .delete(two);
        batch.commit().await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
        // Taken out and put in again, and a list that is made and unmade.
        let four = at!(worker(4)).one(&db).await.unwrap().unwrap();
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(four).insert(&Worker { name: "Brown".into(), ..worker(4) }).upsert(&worker(4)).upsert(&worker(4));
        batch.commit().await.unwrap();
        assert_exact(&db, &format!("{mode:?}")).await;
        assert!(!list_rows(&db).await.iter().any(|(_, row)| row == "n_Brown"));
    }
}

#[tokio::test]
async fn entities_are_read_and_checked() {
    let db = database(Consistency::Azure).await;
    db.insert(&worker(1)).await.unwrap();
    db.insert(&worker(2)).await.unwrap();
    let path = || Worker::by_name().department("A").name("Jones");
    // Another program put a key of its own, and of nobody, into the list.
    let other = db.insert(&Worker { name: "Smith".into(), ..worker(3) }).await.unwrap();
    let row = db.store().get("Company", &RowKey::new("A", "n_Jones")).await.unwrap().unwrap();
    let mut properties = row.properties.clone();
    properties.insert("_keys", r#"["w_x_000001","w_x_000002","w_x_000003","w_x_000009"]"#);
    let planted = Action::Replace(properties, Condition::Match(row.etag));
    db.store().commit(&[Batch::new("Company", "A").with("n_Jones", planted)]).await.unwrap();
    assert_eq!(path().keys(&db).await.unwrap().len(), 4);
    let ids: Vec<_> = path().all(&db).await.unwrap().iter().map(|worker| worker.id).collect();
    assert_eq!(ids, [1, 2]);
    let _ = other;
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_corrupt_and_never_written_over() {
    for text in ["{}", r#"["b","a"]"#, r#"["a","a"]"#, "[1]", ""] {
        let db = database(Consistency::Azure).await;
        db.insert(&worker(1)).await.unwrap();
        let mut properties = db.store().get("Company", &RowKey::new("A", "n_Jones")).await.unwrap().unwrap().properties;
        properties.insert("_keys", text);
        let planted = Action::InsertOrReplace(properties.clone());
        db.store().commit(&[Batch::new("Company", "A").with("n_Jones", planted)]).await.unwrap();
        let error = db.insert(&worker(2)).await.unwrap_err();
        assert_eq!((error.kind(), error.key()), (&ErrorKind::Corrupt, Some(&RowKey::new("A", "n_Jones"))), "{text}");
        let error = Worker::by_name().department("A").name("Jones").keys(&db).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "{text}");
        assert_eq!(rows_in(&*db.store(), "Company").await[&("A".into(), "n_Jones".into())], properties);
    }
}

#[tokio::test]
async fn a_row_of_another_type_at_a_lists_key_is_refused_and_stays() {
    let db = database(Consistency::Azure).await;
    let foreign = Action::Insert([("Note", "mine")].into_iter().collect());
    db.store().commit(&[Batch::new("Company", "A").with("n_Jones", foreign)]).await.unwrap();
    let error = db.insert(&worker(1)).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::AlreadyExists);
    assert_eq!(error.to_string(), "Worker: a row of another type has the key of list `by_name` (at `A`, `n_Jones`)");
    assert_eq!(super::workers(&db).await, []);
    assert_eq!(Worker::by_name().department("A").name("Jones").keys(&db).await.unwrap(), []);
}

#[tokio::test]
async fn a_race_for_a_list_is_planned_again_until_both_are_in_it() {
    let db = database(Consistency::Atomic).await;
    let tasks = (1..=24).map(|id| {
        let db = db.clone();
        async move {
            loop {
                match db.insert(&worker(id)).await {
                    Ok(_) => return,
                    Err(error) if error.is_retryable() => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    futures_util::future::join_all(tasks).await;
    assert_eq!(Worker::by_name().department("A").name("Jones").count(&db).await.unwrap(), 24);
    assert_exact(&db, "24 writers").await;
}

#[tokio::test]
async fn verification_finds_a_list_that_is_not_as_it_should_be() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&Worker { city: "Rome".into(), ..worker(1) }).await.unwrap();
    let of_lists = |verified: &tablemodel::Verified| -> Vec<String> {
        let of = |violation: &&tablemodel::Violation| violation.key.row.starts_with("n_");
        verified.violations.iter().filter(of).map(ToString::to_string).collect()
    };
    assert_eq!(of_lists(&db.verify().await.unwrap()), Vec::<String>::new());
    let row = db.store().get("Company", &RowKey::new("A", "n_Jones")).await.unwrap().unwrap();
    for (text, told) in [
        (r#"["w_x_000002"]"#, "the list lacks 1 keys, and has 1 that do not belong there"),
        (r#"["w_x_000001","w_x_000002"]"#, "the list lacks 0 keys, and has 1 that do not belong there"),
        ("x", "a row of a list cannot be read (at `A`, `n_Jones`)"),
    ] {
        let mut properties = row.properties.clone();
        properties.insert("_keys", text);
        db.store()
            .commit(&[Batch::new("Company", "A").with("n_Jones", Action::InsertOrReplace(properties))])
            .await
            .unwrap();
        assert_eq!(of_lists(&db.verify().await.unwrap()), [format!("Stale in Company at (A, n_Jones): {told}")]);
    }
    db.store().commit(&[Batch::new("Company", "A").with("n_Jones", Action::Delete(Condition::Exists))]).await.unwrap();
    assert_eq!(of_lists(&db.verify().await.unwrap()).len(), 1);
}

/// In either mode, whether a deletion leaves a tombstone or nothing.
#[tokio::test]
async fn what_a_batch_took_away_or_made_anew_it_cannot_go_on_with_as_it_was_read() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = database(mode).await;
        let read = db.insert(&worker(1)).await.unwrap();
        let before = rows_in(&*db.store(), "Company").await;
        let conflicts = async |batch: tablemodel::WriteBatch<'_>, told: &str| {
            let error = batch.commit().await.expect_err(told);
            assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{mode:?}, {told}: {error}");
            assert_eq!(rows_in(&*db.store(), "Company").await, before, "{mode:?}, {told}");
        };
        let mut changed = Stored::clone(&read);
        changed.age += 1;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(read.clone()).save(&mut changed);
        conflicts(batch, "saved after it was deleted").await;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(read.clone()).delete(read.clone());
        conflicts(batch, "deleted twice").await;
        let (mut moved, mut changed) = (read.clone(), read.clone());
        moved.id = 2;
        changed.age += 1;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.save(&mut moved).save(&mut changed);
        conflicts(batch, "saved after it was moved").await;
        let mut changed = read.clone();
        changed.age += 1;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(read.clone()).insert(&worker(1)).save(&mut changed);
        conflicts(batch, "saved over one that was inserted").await;
        let mut changed = read.clone();
        changed.age += 1;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(read.clone()).upsert(&worker(1)).save(&mut changed);
        conflicts(batch, "saved over one that was upserted").await;
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.delete(read).insert(&worker(1)).upsert(&Worker { age: 31, ..worker(1) });
        batch.commit().await.expect("these ask for nothing that was read");
        assert_exact(&db, "made anew").await;
    }
}
