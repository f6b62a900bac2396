//! Many entities by their keys, or by full paths: what `get` and `one` give of each, in the order asked.

use tablemodel::{
    ErrorKind, RowKey,
    prelude::*,
    store::{Action, Batch, Properties},
    testing::TestDatabase,
};

use crate::{blob, wide};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{team}", row = "p_{id:04}")]
#[table(index(by_code, row = "code_{code}", unique, keys_only))]
#[table(index(by_city, row = "city_{city}_{id:04}"))]
struct Person {
    team: String,
    id: u32,
    code: String,
    city: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{team}", row = "pet_{name}")]
struct Pet {
    team: String,
    name: String,
}

#[derive(TableModel)]
enum Model {
    Person(Person),
    Pet(Pet),
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = Person)]
struct Number {
    id: u32,
}

fn person(team: &str, id: u32) -> Person {
    Person { team: team.into(), id, code: format!("c{id}"), city: "Oslo".into() }
}

/// Persons 1 to 3 of two teams, and a pet.
async fn fill(db: &Database) {
    for team in ["A", "B"] {
        for id in 1..=3 {
            db.insert(&person(team, id)).await.unwrap();
        }
    }
    db.insert(&Pet { team: "A".into(), name: "rex".into() }).await.unwrap();
}

async fn people() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    fill(&db).await;
    db
}

fn keys<const N: usize>(keys: [(&str, &str); N]) -> [RowKey; N] {
    keys.map(|(partition, row)| RowKey::new(partition, row))
}

/// Of several partitions; one twice, one of nobody, one of another type, one of an index.
fn asked() -> [RowKey; 7] {
    keys([
        ("B", "p_0003"),
        ("A", "p_0002"),
        ("A", "p_0009"),
        ("B", "p_0003"),
        ("A", "pet_rex"),
        ("A", "code_c1"),
        ("A", "p_0001"),
    ])
}

fn told() -> [Option<Person>; 7] {
    [Some(person("B", 3)), Some(person("A", 2)), None, Some(person("B", 3)), None, None, Some(person("A", 1))]
}

fn values<T>(found: Vec<Option<Stored<T>>>) -> Vec<Option<T>> {
    found.into_iter().map(|found| found.map(Stored::into_inner)).collect()
}

#[tokio::test]
async fn many_keys_give_their_entities_in_the_order_asked() {
    let db = people().await;
    db.forget_calls();
    let found = db.get_many::<Person>(asked()).await.unwrap();
    assert_eq!((db.tally().point_reads, db.calls().len()), (7, 7), "each is read once");
    for (key, found) in asked().iter().zip(&found) {
        let alone = db.get::<Person>(key).await.unwrap();
        assert_eq!(found.as_ref().map(Stored::etag), alone.as_ref().map(Stored::etag), "{key}");
    }
    assert_eq!(values(found), told());
}

#[tokio::test]
async fn what_was_found_by_its_key_can_be_saved() {
    let db = people().await;
    let mut found = db.get_many::<Person>(keys([("A", "p_0001")])).await.unwrap().remove(0).unwrap();
    found.city = "Rome".into();
    db.save(&mut found).await.unwrap();
    assert_eq!(Person::by_city().team("A").city("Rome").count(&db).await.unwrap(), 1);
}

#[tokio::test]
async fn a_file_and_a_table_with_a_prefix_are_read_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = Database::open::<Model>(folder.path().join("people")).await.unwrap();
    let prefixed = Database::builder().prefix("t1").in_memory::<Model>().await.unwrap();
    for db in [file, prefixed] {
        db.ensure_tables().await.unwrap();
        fill(&db).await;
        assert_eq!(values(db.get_many::<Person>(asked()).await.unwrap()), told());
        let paths = [("B", 3), ("A", 9), ("B", 3)].map(|(team, id): (&str, u32)| Person::find().team(team).id(id));
        assert_eq!(values(db.find_many(paths).await.unwrap()), [Some(person("B", 3)), None, Some(person("B", 3))]);
    }
}

#[tokio::test]
async fn entities_of_several_rows_come_whole() {
    let db = wide::database().await;
    let (document, note) = (wide::document(2, 100_000, Some(1_500_000)), wide::note(3, 100_000));
    db.insert(&wide::stats(1)).await.unwrap();
    db.insert(&document).await.unwrap();
    db.insert(&note).await.unwrap();
    let keys = || keys([("Sales", "note_000003"), ("Sales", "doc_000002"), ("Sales", "stats_000001")]);
    let stats = db.get_many::<wide::Stats>(keys()).await.unwrap();
    assert_eq!(values(stats), [None, None, Some(wide::stats(1))]);
    let documents = db.get_many::<wide::Document>(keys()).await.unwrap();
    assert_eq!(values(documents), [None, Some(document), None]);
    db.forget_calls();
    let notes = db.get_many::<wide::Note>(keys()).await.unwrap();
    assert_eq!(values(notes), [Some(note), None, None]);
    assert_eq!((db.tally().point_reads, db.tally().range_queries), (0, 3), "a range read for each");
}

#[tokio::test]
async fn blobs_are_fetched_where_their_content_is_asked_for() {
    let db = TestDatabase::new::<blob::People>().await.unwrap();
    let (small, large) = (blob::person("small", b"x"), blob::person("large", &[7; 100]));
    db.insert(&small).await.unwrap();
    db.insert(&large).await.unwrap();
    let found = db.get_many::<blob::Person>(keys([("A", "p_large"), ("A", "p_small")])).await.unwrap();
    let mut contents = Vec::new();
    for person in found.iter().flatten() {
        contents.push(person.portrait.bytes(&db).await.unwrap().to_vec());
    }
    assert_eq!(contents, [vec![7; 100], vec![b'x']]);
}

async fn plant(db: &TestDatabase, row: &str, entity_type: &str) {
    let properties = Properties::from_iter([("EntityType", entity_type)]);
    db.store().commit(&[Batch::new("People", "A").with(row, Action::Insert(properties))]).await.unwrap();
}

#[tokio::test]
async fn the_first_row_that_cannot_be_read_is_told_in_the_order_of_the_keys() {
    let db = people().await;
    plant(&db, "p_0004", "Person@9").await;
    plant(&db, "p_0005", "Person@9").await;
    for order in [["p_0001", "p_0004", "p_0005"], ["p_0005", "p_0001", "p_0004"]] {
        let error = db.get_many::<Person>(order.map(|row| RowKey::new("A", row))).await.unwrap_err();
        let first = order.into_iter().find(|row| *row != "p_0001").unwrap();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::UnknownVersion, Some("Person")));
        assert_eq!(error.key(), Some(&RowKey::new("A", first)));
    }
    let error = db.get_many::<wide::Note>(keys([("A", "p_0001")])).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported, "of another model: {error}");
}

#[tokio::test]
async fn nothing_is_read_where_nothing_is_asked_for() {
    let db = people().await;
    db.forget_calls();
    assert_eq!(values(db.get_many::<Person>([]).await.unwrap()), []);
    let none = std::iter::once(Person::find().team("A").id(1)).take(0);
    assert_eq!(values(db.find_many(none).await.unwrap()), []);
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn many_full_paths_give_what_each_gives_alone() {
    let db = people().await;
    let asked = [("B", 3_u32), ("A", 9), ("A", 1), ("B", 3)];
    let paths = || asked.map(|(team, id)| Person::find().team(team).id(id));
    db.forget_calls();
    let found = db.find_many(paths()).await.unwrap();
    assert_eq!((db.tally().point_reads, db.calls().len()), (4, 4));
    assert_eq!(values(found), [Some(person("B", 3)), None, Some(person("A", 1)), Some(person("B", 3))]);

    let numbers = db.find_many(paths().map(Path::select::<Number>)).await.unwrap();
    assert_eq!(numbers, [Some(Number { id: 3 }), None, Some(Number { id: 1 }), Some(Number { id: 3 })]);

    let by_code = [("B", "c2"), ("A", "c9")].map(|(team, code)| Person::by_code().team(team).code(code));
    assert_eq!(values(db.find_many(by_code).await.unwrap()), [Some(person("B", 2)), None]);

    let by_city = || Person::by_city().team("A").city("Oslo").id(1);
    let seen = db.find_many([by_city()]).await.unwrap();
    assert_eq!(seen[0].as_deref(), Some(&person("A", 1)), "an index that is a whole copy shows it");
    let verified = db.find_many([by_city().verified()]).await.unwrap();
    assert_eq!(verified[0].as_deref(), Some(&person("A", 1)));
}

#[tokio::test]
async fn a_value_that_fits_no_key_is_told_before_any_of_many_paths_is_read() {
    let db = people().await;
    db.forget_calls();
    let paths = [1_u32, 10_000, 2].map(|id| Person::find().team("A").id(id));
    let error = db.find_many(paths).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::KeyOverflow, Some("Person")));
    assert_eq!(db.calls(), []);
}
