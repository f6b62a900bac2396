//! Paths over indexes in other partitions.

use tablemodel::{prelude::*, testing::TestDatabase};

use super::{Model, Worker, at, worker};

#[derive(Debug, PartialEq, Projection)]
#[table(of = Worker)]
struct Card {
    department: String,
    id: u32,
    city: String,
    name: String,
}

async fn database() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    for (department, id) in [("A", 1), ("B", 1), ("A", 2)] {
        db.insert(&worker(department, id)).await.unwrap();
    }
    db
}

fn ids(found: &[Stored<Worker>]) -> Vec<(String, u32)> {
    found.iter().map(|worker| (worker.department.clone(), worker.id)).collect()
}

#[tokio::test]
async fn a_path_over_another_partition_finds_entities_of_every_partition_in_key_order() {
    let db = database().await;
    let found = Worker::by_city().city("Rome").all(&db).await.unwrap();
    assert_eq!(ids(&found), [("A".into(), 1), ("A".into(), 2), ("B".into(), 1)]);
    let some = Worker::by_city().city("Rome").department("A").id_between(2..).all(&db).await.unwrap();
    assert_eq!(ids(&some), [("A".into(), 2)]);
    let cards = Worker::by_city().city("Rome").department("B").select::<Card>().all(&db).await.unwrap();
    assert_eq!(cards, [Card { department: "B".into(), id: 1, city: "Rome".into(), name: "name1".into() }]);
    let seen = Worker::by_badge().badge(7).all(&db).await.unwrap();
    assert_eq!(seen.len(), 3);
    assert_eq!(*seen[0], worker("A", 1));
    assert_eq!(*seen[0].load(&db).await.unwrap(), worker("A", 1));
}

#[tokio::test]
async fn a_row_for_each_element_of_a_list_finds_the_entity_by_any_of_them() {
    let db = database().await;
    db.update(at!("B", 1), |w| Ok(w.skills = vec!["art".into()])).await.unwrap();
    for (skill, count) in [("sql", 2), ("rust", 2), ("art", 1), ("none", 0)] {
        assert_eq!(Worker::by_skill().skills(skill).all(&db).await.unwrap().len(), count, "{skill}");
        assert_eq!(Worker::by_skill().skills(skill).count(&db).await.unwrap(), count as u64, "{skill}");
    }
}

#[tokio::test]
async fn deleted_entities_are_found_by_no_path_though_their_tombstones_stand() {
    let db = database().await;
    let gone = at!("A", 1).one(&db).await.unwrap().unwrap();
    db.delete(gone).await.unwrap();
    assert_eq!(Worker::by_city().city("Rome").count(&db).await.unwrap(), 2);
    assert_eq!(Worker::by_city().city("Rome").select::<Card>().all(&db).await.unwrap().len(), 2);
    assert_eq!(Worker::by_badge().badge(7).first(9, &db).await.unwrap().len(), 2);
    assert!(!Worker::by_city().city("Rome").department("A").id(1).exists(&db).await.unwrap());
    let page = Worker::by_city().city("Rome").page(1, None, &db).await.unwrap();
    assert_eq!((ids(&page.items), page.cursor.is_some()), (vec![("A".into(), 2)], true));
    let rest = Worker::by_city().city("Rome").page(5, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((ids(&rest.items), rest.cursor), (vec![("B".into(), 1)], None));
}

/// The writer dies after its entity is written: the index lags until a relay has run.
#[tokio::test]
async fn a_verified_read_leaves_out_what_the_index_has_not_caught_up_with() {
    use tablemodel::testing::{Fault, Script};
    let db = database().await;
    let mut moved = at!("A", 1).one(&db).await.unwrap().unwrap();
    moved.city = "Oslo".into();
    db.fail(Script::new().at(1, Fault::CrashBefore));
    let _ = db.save(&mut moved).await;
    let db = db.reopen::<Model>().await.unwrap();
    assert_eq!(at!("A", 1).one(&db).await.unwrap().unwrap().city, "Oslo");

    let at = |city: &str| Worker::by_city().city(city).select::<Card>();
    assert_eq!(at("Rome").all(&db).await.unwrap().len(), 3, "eventual: the row still stands");
    assert_eq!(at("Rome").verified().all(&db).await.unwrap().len(), 2);
    assert_eq!(Worker::by_city().city("Rome").all(&db).await.unwrap().len(), 2, "entities are always checked");
    super::settle(&db).await;
    assert_eq!(at("Rome").all(&db).await.unwrap().len(), 2);
    assert_eq!(at("Oslo").all(&db).await.unwrap().len(), 1);
}

#[test]
fn the_explanation_names_the_table_and_partition_of_the_index() {
    let explain = Worker::by_city().city("Rome").department("A").explain().to_string();
    assert!(explain.starts_with("range query on Cities by by_city: PartitionKey eq 'Rome' and RowKey ge"), "{explain}");
}
