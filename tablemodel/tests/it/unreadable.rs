//! Values that no program could read: refused before anything is written; and found where another program wrote them.

use serde::{Deserialize, Serialize};
use tablemodel::{
    Blob, Error, ErrorKind, Properties, Value, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition, observe::CallKind},
    testing::TestDatabase,
};

/// Its JSON lacks `tags` where there are none, and is not read without.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Meta {
    score: f64,
    best: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Property)]
enum Level {
    Low,
    High,
}

#[derive(Debug, TableEntity)]
#[table(name = "Items", partition = "{shelf}", row = "item_{number:04}")]
struct Item {
    shelf: String,
    number: u32,
    small: u8,
    large: u64,
    level: Level,
    code: [u8; 4],
    #[table(json)]
    meta: Meta,
    #[table(json)]
    counts: Vec<u32>,
    #[table(blob)]
    picture: Blob,
}

/// Whose copy is read before its JSON, by the order of names.
#[derive(Debug, TableEntity)]
#[table(name = "Items", partition = "{shelf}", row = "tag_{number:04}")]
struct Tag {
    shelf: String,
    number: u32,
    of: u32,
    #[table(copy_of(Item, key(shelf = shelf, number = of)))]
    at: Card,
    #[table(json)]
    meta: Meta,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Item)]
struct Card {
    small: u8,
}

#[derive(TableModel)]
enum Model {
    Item(Item),
    Tag(Tag),
}

fn meta() -> Meta {
    Meta { score: 1.5, best: None, tags: vec!["new".to_owned()] }
}

fn item(number: u32, meta: Meta) -> Item {
    let (shelf, picture) = ("A".to_owned(), Blob::from(vec![7; 100_000]));
    Item { shelf, number, small: 1, large: 2, level: Level::Low, code: [0; 4], meta, counts: vec![3], picture }
}

fn refused<T>(result: tablemodel::Result<T>, told: &str) -> Error {
    let Err(error) = result else { panic!("{told}: it was written") };
    assert_eq!(error.kind(), &ErrorKind::Invalid, "{told}: {error}");
    assert!(error.to_string().contains("field `meta`"), "{told}: {error}");
    error
}

#[tokio::test]
async fn what_would_not_be_read_back_is_refused_by_every_call_before_anything_is_written() {
    let values = [
        Meta { score: f64::NAN, ..meta() },
        Meta { best: Some(f64::INFINITY), ..meta() },
        Meta { tags: Vec::new(), ..meta() },
    ];
    let words = ["a float is NaN", "a float is inf", "missing field `tags`"];
    let db = TestDatabase::new::<Model>().await.unwrap();
    let item_at = || Item::find().shelf("A").number(1);
    let mut stored = db.insert(&item(1, meta())).await.unwrap();
    let mut keyed = 0;
    for (meta, word) in values.into_iter().zip(words) {
        db.forget_calls();
        let error = refused(db.insert(&item(2, meta.clone())).await, "insert");
        assert!(error.to_string().contains(word), "{error}");
        refused(db.upsert(&item(1, meta.clone())).await, "upsert");
        let before = std::mem::replace(&mut stored.meta, meta.clone());
        refused(db.save(&mut stored).await, "save");
        stored.meta = before;
        refused(db.patch(item_at(), Item::META.set(meta.clone())).await, "patch");
        let mut batch = db.batch(Item::in_partition("A"));
        batch.insert(&item(2, meta.clone()));
        refused(batch.commit().await, "batch");
        let report = db.bulk().insert_all(futures_util::stream::iter([item(2, meta.clone())])).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (0, 1));
        let key = report.failed[0].key();
        assert!(key.is_none_or(|key| *key == tablemodel::RowKey::new("A", "item_0002")), "{report:?}");
        keyed += usize::from(key.is_some());
        refused(report.into_result(), "bulk");
        let writes = db.calls().into_iter().filter(|call| matches!(call.call, CallKind::Commit { .. }));
        assert_eq!(writes.count(), 0, "{:?}", db.calls());
        let update = db.update(item_at(), |item| {
            item.meta = meta.clone();
            Ok(())
        });
        refused(update.await, "update");
    }
    assert!(keyed > 0, "those that can be put together have their keys");
    let all = Item::find().shelf("A").all(&db).await.unwrap();
    assert_eq!(all.iter().map(|item| item.meta.clone()).collect::<Vec<_>>(), [meta()]);
}

#[tokio::test]
async fn a_copy_that_is_not_there_yet_hides_nothing() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&item(1, meta())).await.unwrap();
    let tag = |meta| Tag { shelf: "A".to_owned(), number: 1, of: 1, at: Card { small: 0 }, meta };
    refused(db.insert(&tag(Meta { tags: Vec::new(), ..meta() })).await, "insert");
    let stored = db.insert(&tag(meta())).await.unwrap();
    assert_eq!(stored.at, Card { small: 1 });
    let lost = Properties::from_iter([("EntityType", "Tag@1"), ("Meta", "{}")]);
    let batch = Batch::new("Items", "A").with(stored.key().row.clone(), Action::Merge(lost, Condition::Exists));
    db.store().commit(&[batch]).await.unwrap();
    let found = db.verify().await.unwrap().violations;
    assert!(matches!(&*found, [it] if it.kind == ViolationKind::Corrupt && it.detail.contains("Meta")), "{found:?}");
}

#[tokio::test]
async fn verify_names_every_row_that_cannot_be_read() {
    let text = |text: &str| Value::String(text.to_owned());
    let planted = [
        ("Small", Value::Int32(300)),
        ("Small", Value::Int32(-1)),
        ("Large", text("xyz")),
        ("Level", text("Middle")),
        ("Code", Value::Binary(vec![1, 2, 3])),
        ("Meta", text("{")),
        ("Meta", text("{}")),
        ("Counts", text("[-1]")),
        ("Small", text("1")),
    ];
    for (name, value) in planted {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.insert(&item(1, meta())).await.unwrap();
        let stored = db.insert(&item(2, meta())).await.unwrap();
        assert!(db.verify().await.unwrap().is_clean());
        let set = Properties::from_iter([(name, value.clone())]);
        let batch = Batch::new("Items", "A").with(stored.key().row.clone(), Action::Merge(set, Condition::Exists));
        db.store().commit(&[batch]).await.unwrap();
        let read = Item::find().shelf("A").number(2).one(&db).await.unwrap_err();
        assert_eq!(read.kind(), &ErrorKind::Corrupt, "{name} {value:?}");
        let found = db.verify().await.unwrap();
        let found: Vec<_> = found.violations.iter().map(|it| (it.kind, it.key.row.as_str(), &it.detail)).collect();
        assert!(
            matches!(&*found, [(ViolationKind::Corrupt, "item_0002", detail)] if detail.contains(name)),
            "{name} {value:?}: {found:?}"
        );
    }
}

#[tokio::test]
async fn verify_names_rows_whose_type_is_damaged() {
    for told in ["Item@", "Item@x", "Item@4294967296", "Item@1@1", "Item@01", "Item@+1"] {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.insert(&item(1, meta())).await.unwrap();
        let stored = db.insert(&item(2, meta())).await.unwrap();
        let set = Properties::from_iter([("EntityType", told)]);
        let batch = Batch::new("Items", "A").with(stored.key().row.clone(), Action::Merge(set, Condition::Exists));
        db.store().commit(&[batch]).await.unwrap();
        let reads = [
            Item::find().shelf("A").all(&db).await.map(|found| found.len()),
            Item::find().shelf("A").select::<Card>().all(&db).await.map(|found| found.len()),
            Item::find().shelf("A").number(2).one(&db).await.map(|found| usize::from(found.is_some())),
            Item::find().shelf("A").number(2).select::<Card>().one(&db).await.map(|found| usize::from(found.is_some())),
            db.get::<Item>(stored.key()).await.map(|found| usize::from(found.is_some())),
        ];
        for (at, read) in reads.into_iter().enumerate() {
            assert_eq!(read.unwrap_err().kind(), &ErrorKind::Corrupt, "{told} {at}");
        }
        let found = db.verify().await.unwrap().violations;
        let is_it = |it: &tablemodel::Violation| {
            it.kind == ViolationKind::Corrupt && it.key == *stored.key() && it.detail.contains(told)
        };
        assert!(matches!(&*found, [it] if is_it(it)), "{told}: {found:?}");
    }
}
