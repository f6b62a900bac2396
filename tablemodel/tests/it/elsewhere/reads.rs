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
    let rome = || Worker::by_city().city("Rome");
    assert_eq!((rome().count(&db).await.unwrap(), rome().verified().count(&db).await.unwrap()), (3, 2));
    assert_eq!(Worker::by_city().city("Rome").all(&db).await.unwrap().len(), 2, "entities are always checked");
    super::settle(&db).await;
    assert_eq!(at("Rome").all(&db).await.unwrap().len(), 2);
    assert_eq!(at("Oslo").all(&db).await.unwrap().len(), 1);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Articles", partition = "{shelf}", row = "{id:04}")]
#[table(index(by_word, row = "word!{words}!{id:04}", each(words), keys_only))]
struct Article {
    shelf: String,
    id: u32,
    #[table(json)]
    words: Vec<String>,
}

#[derive(TableModel)]
enum Articles {
    Article(Article),
}

/// The rows of the index are what a path over it gives: an entity once for each of its elements in the range.
#[tokio::test]
async fn a_range_over_elements_gives_an_entity_for_each_of_them() {
    let db = TestDatabase::new::<Articles>().await.unwrap();
    let article =
        |id, words: &[&str]| Article { shelf: "s".into(), id, words: words.iter().map(|&word| word.into()).collect() };
    db.insert(&article(1, &["ant", "bee", "ant"])).await.unwrap();
    db.insert(&article(2, &["bee", "cow"])).await.unwrap();
    let range = || Article::by_word().shelf("s").words_between("ant".to_owned().."cow".to_owned());
    let ids = |found: &[Stored<Article>]| found.iter().map(|article| article.id).collect::<Vec<_>>();
    assert_eq!(ids(&range().all(&db).await.unwrap()), [1, 1, 2]);
    assert_eq!(range().count(&db).await.unwrap(), 3);
    assert_eq!(ids(&range().first(2, &db).await.unwrap()), [1, 1]);
    let page = range().page(1, None, &db).await.unwrap();
    let rest = range().page(9, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((ids(&page.items), ids(&rest.items)), (vec![1], vec![1, 2]), "across pages too");
    assert_eq!(ids(&Article::by_word().shelf("s").words("bee").all(&db).await.unwrap()), [1, 2], "one element: once");
    assert_eq!(range().delete_all(&db).await.unwrap(), 2, "each entity is deleted once");
    assert!(db.verify().await.unwrap().is_clean());
}

#[test]
fn the_explanation_names_the_table_and_partition_of_the_index() {
    let explain = Worker::by_city().city("Rome").department("A").explain().to_string();
    assert!(explain.starts_with("range query on Cities by by_city: PartitionKey eq 'Rome' and RowKey ge"), "{explain}");
}
