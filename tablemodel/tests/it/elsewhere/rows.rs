//! The rows of other partitions follow every operation, in both modes.

use tablemodel::{
    Consistency, ErrorKind, IndexState, Value,
    prelude::*,
    store::{Action, Batch},
    testing::TestDatabase,
};

use super::{Model, Worker, assert_exact, at, leftovers, rows_in, settle, worker, workers};

async fn both() -> [TestDatabase; 2] {
    [TestDatabase::new::<Model>().await.unwrap(), TestDatabase::atomic::<Model>().await.unwrap()]
}

#[tokio::test]
async fn every_operation_leaves_exactly_the_rows_that_its_entities_want() {
    for db in both().await {
        let told = format!("{:?}", db.consistency());
        let mut a = db.insert(&worker("A", 1)).await.unwrap();
        db.insert(&worker("B", 2)).await.unwrap();
        assert_exact(&db, &[worker("A", 1), worker("B", 2)], &told).await;

        a.city = "Oslo".into();
        a.skills = vec!["rust".into(), "art".into()];
        a.badge = None;
        db.save(&mut a).await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;

        db.update(at!("A", 1), |w| Ok((w.badge, w.active, w.name) = (Some(9), true, "Ann".into()))).await.unwrap();
        db.update(at!("B", 2), |w| Ok(w.active = false)).await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;

        db.upsert(&Worker { city: "Bonn".into(), ..worker("B", 2) }).await.unwrap();
        db.upsert(&worker("B", 3)).await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;

        let mut moved = at!("B", 3).one(&db).await.unwrap().unwrap();
        moved.id = 4;
        db.save(&mut moved).await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;

        let a = at!("A", 1).one(&db).await.unwrap().unwrap();
        db.delete(a).await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;
        db.insert(&worker("A", 1)).await.unwrap();
        assert_eq!(workers(&db).await.len(), 3);
        assert_exact(&db, &workers(&db).await, &told).await;
    }
}

#[tokio::test]
async fn a_batch_and_a_bulk_load_take_their_rows_elsewhere_with_them() {
    for db in both().await {
        let told = format!("{:?}", db.consistency());
        let all: Vec<_> = (0..120).map(|id| worker("A", id)).collect();
        let report = db.bulk().insert_all(futures_util::stream::iter(all.clone())).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (120, 0));
        assert_exact(&db, &all, &told).await;

        let mut first = at!("A", 0).one(&db).await.unwrap().unwrap();
        let second = at!("A", 1).one(&db).await.unwrap().unwrap();
        first.city = "Oslo".into();
        let mut batch = db.batch(Worker::in_partition("A"));
        batch.save(&mut first).delete(second).insert(&worker("A", 500)).insert(&worker("A", 501));
        batch.commit().await.unwrap();
        assert_exact(&db, &workers(&db).await, &told).await;
        assert_eq!(workers(&db).await.len(), 121);
    }
}

#[tokio::test]
async fn in_the_atomic_mode_an_entity_and_its_rows_elsewhere_are_one_commit_and_leave_nothing() {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    db.forget_calls();
    let stored = db.insert(&worker("A", 1)).await.unwrap();
    assert_eq!(db.calls().len(), 1, "{:?}", db.calls());
    db.delete(stored).await.unwrap();
    assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new());
}

#[tokio::test]
async fn tombstones_and_markers_are_swept_once_the_fence_has_passed_and_not_before() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let stored = db.insert(&worker("A", 1)).await.unwrap();
    assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new(), "an insert leaves nothing behind");
    db.delete(stored).await.unwrap();
    // The entity's tombstone, its outbox row, and one tombstone for each of four rows elsewhere.
    assert_eq!(leftovers(&db).await.len(), 6);
    db.clock().advance(std::time::Duration::from_secs(599));
    assert_eq!(db.relay().run_once().await.unwrap().fenced, 1);
    assert_eq!(leftovers(&db).await.len(), 6);
    db.clock().advance(std::time::Duration::from_secs(2));
    let report = db.relay().run_once().await.unwrap();
    assert_eq!((report.swept, report.fenced), (1, 0));
    assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new());
    assert_eq!(db.relay().run_once().await.unwrap().partitions, 1);
    assert_eq!(db.relay().run_once().await.unwrap().partitions, 0, "the marker went too");
}

#[tokio::test]
async fn a_life_after_a_tombstone_counts_on_from_it() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let first = db.insert(&worker("A", 1)).await.unwrap();
    let last = first.sequence();
    db.delete(first).await.unwrap();
    assert!(at!("A", 1).one(&db).await.unwrap().is_none());
    db.clock().step_back(std::time::Duration::from_secs(100));
    let again = db.insert(&worker("A", 1)).await.unwrap();
    assert!(again.sequence() > last + 1, "{} after {last}", again.sequence());
    settle(&db).await;
    assert_exact(&db, &[worker("A", 1)], "a new life").await;
}

#[tokio::test]
async fn opening_in_the_atomic_mode_delivers_and_sweeps_what_the_other_mode_left() {
    use tablemodel::testing::{Fault, Script};
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap();
    let second = db.insert(&worker("A", 2)).await.unwrap();
    db.fail(Script::new().at(2, Fault::CrashBefore)); // after the marker is known and the batch is written
    let gone = at!("A", 1).one(&db).await.unwrap().unwrap();
    let _ = db.delete(gone).await;
    let reopened = db.reopen::<Model>().await.unwrap();
    reopened.delete(second).await.unwrap();
    let builder = tablemodel::Database::builder().clock(std::sync::Arc::new(db.clock().clone()));
    let atomic = builder.consistency(Consistency::Atomic).with_store::<Model>(db.store()).await.unwrap();
    assert_exact(&db, &workers(&db).await, "drained").await;
    assert_eq!(leftovers(&db).await, Vec::<(String, String, String)>::new());
    atomic.insert(&worker("A", 3)).await.unwrap();
    assert_exact(&db, &workers(&db).await, "atomic").await;
}

/// A row of an index that is being built may be there or not, also one that a batch writes before it takes it away.
#[tokio::test]
async fn a_batch_that_passes_through_a_value_leaves_no_row_of_an_index_that_is_built() {
    for is_there in [true, false] {
        let db = TestDatabase::atomic::<Model>().await.unwrap();
        let state = if is_there { IndexState::Readable } else { IndexState::Absent };
        for state in [state, IndexState::WriteOnly] {
            let row = [("EntityType", "~index@1".into()), ("_seq", Value::Int64(1)), ("State", state.word().into())];
            let row = Action::InsertOrReplace(row.into_iter().collect());
            db.store().commit(&[Batch::new("tmschema", "s").with("index|Worker|by_city", row)]).await.unwrap();
            let db = db.reopen::<Model>().await.unwrap();
            if state != IndexState::WriteOnly {
                db.insert(&worker("A", 1)).await.unwrap();
                continue;
            }
            let mut batch = db.batch(Worker::in_partition("A"));
            for city in ["Rome", "Oslo"] {
                batch.upsert(&Worker { city: city.into(), ..worker("A", 1) });
            }
            batch.commit().await.unwrap();
        }
        let cities: Vec<_> = rows_in(&*db.store(), "Cities").await.into_keys().map(|(_, city, _)| city).collect();
        assert_eq!(cities, ["Oslo"], "it is there: {is_there}");
    }
}

/// Of each it is only found out by a refusal that something stands there.
#[tokio::test]
async fn a_batch_takes_the_places_of_many_that_were_deleted() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let all: Vec<_> = (1..=30).map(|id| worker("A", id)).collect();
    for worker in &all {
        let inserted = db.insert(worker).await.unwrap();
        db.delete(inserted).await.unwrap();
    }
    let (one, others) = all.split_at(20);
    let mut batch = db.batch(Worker::in_partition("A"));
    for worker in one {
        batch.insert(worker);
    }
    batch.commit().await.unwrap();
    let report = db.bulk().insert_iter(others.to_vec()).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (10, 0), "{:?}", report.failed.first());
    settle(&db).await;
    assert_exact(&db, &all, "inserted anew").await;
    let mut batch = db.batch(Worker::in_partition("A"));
    batch.insert(&worker("A", 31)).insert(&worker("A", 7));
    let error = batch.commit().await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::AlreadyExists, Some(1)));
}

#[tokio::test]
async fn a_row_of_another_owner_at_an_index_rows_key_is_never_overwritten() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let store = db.store();
    let mut foreign = tablemodel::Properties::new();
    foreign.insert("Mine", true);
    let batch = tablemodel::store::Batch::new("Cities", "Rome")
        .with("A_0001", tablemodel::store::Action::Insert(foreign.clone()));
    store.commit(&[batch]).await.unwrap();
    db.insert(&worker("A", 1)).await.unwrap(); // the entity is written; what cannot be delivered is set aside
    for _ in 0..40 {
        db.clock().advance(std::time::Duration::from_secs(600));
        db.relay().run_once().await.unwrap();
    }
    let poisoned = db.relay().poisoned().await.unwrap();
    assert_eq!(poisoned.len(), 1);
    assert!(poisoned[0].error.contains("by_city"), "{}", poisoned[0].error);
    let kept = store.get("Cities", &tablemodel::RowKey::new("Rome", "A_0001")).await.unwrap().unwrap();
    assert_eq!(kept.properties, foreign);

    let delete = tablemodel::store::Action::Delete(tablemodel::store::Condition::Exists);
    store.commit(&[tablemodel::store::Batch::new("Cities", "Rome").with("A_0001", delete)]).await.unwrap();
    db.relay().retry(&poisoned[0]).await.unwrap();
    settle(&db).await;
    assert_exact(&db, &[worker("A", 1)], "retried").await;
    assert_eq!(db.relay().discard(&poisoned[0]).await.unwrap_err().kind(), &ErrorKind::NotFound);
}

/// With a property that can be patched.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "g_{id:04}")]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "g_{department}_{id:04}", keys_only))]
struct Guest {
    department: String,
    id: u32,
    city: String,
    visits: u32,
}

#[derive(TableModel)]
enum Guests {
    Guest(Guest),
}

#[tokio::test]
async fn a_key_that_an_entity_left_in_a_batch_is_free_for_what_comes_after_it() {
    let guest = |city: &str| Guest { department: "A".into(), id: 1, city: city.into(), visits: 3 };
    let at = |id: u32| Guest::find().department("A").id(id);
    let mut cases = Vec::new();
    for third in ["patch", "insert", "upsert"] {
        cases.push((TestDatabase::new::<Guests>().await.unwrap(), third));
        cases.push((TestDatabase::atomic::<Guests>().await.unwrap(), third));
    }
    for (db, third) in cases {
        let told = format!("{:?}, {third}", db.consistency());
        let mut moved = db.insert(&guest("Rome")).await.unwrap();
        moved.id = 9;
        let fresh = guest("Bonn");
        let mut batch = db.batch(Guest::in_partition("A"));
        batch.patch(at(1), Guest::VISITS.set(4_u32)).save(&mut moved);
        match third {
            "patch" => batch.patch(at(1), Guest::VISITS.set(5_u32)),
            "insert" => batch.insert(&fresh),
            _ => batch.upsert(&fresh),
        };
        let committed = batch.commit().await;
        settle(&db).await;
        let found =
            [at(1).one(&db).await.unwrap(), at(9).one(&db).await.unwrap()].map(|found| found.map(Stored::into_inner));
        match committed {
            Ok(()) => assert_eq!(found, [Some(fresh), Some(Guest { id: 9, ..guest("Rome") })], "{told}"),
            Err(error) => {
                let refused = (third, error.kind(), error.operation());
                assert_eq!(refused, ("patch", &ErrorKind::NotFound, Some(2)), "{told}: {error}");
                assert_eq!(found, [Some(guest("Rome")), None], "{told}: {error}");
            }
        }
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
    }
}
