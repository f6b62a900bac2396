//! Entities that cannot be read: nothing that belongs to one is judged, taken away or given to another until somebody has mended it.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, Value, ValueRef, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Script, TestDatabase},
};

use crate::{
    migrate::{MODES, store_of},
    tools::{DieInDelivery, Rows, rows_in, settle, unmarked},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{shelf}", row = "thing_{number:04}")]
#[table(index(by_code, row = "code_{code}", unique, keys_only))]
#[table(index(by_badge, table = "Badges", partition = "{badge}", row = "badge", unique, keys_only))]
struct Thing {
    shelf: String,
    number: u32,
    code: u32,
    badge: u32,
    size: u8,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{shelf}", row = "label_{number:04}")]
#[table(index(by_thing, row = "of_{of}_{number:04}", keys_only))]
struct Label {
    shelf: String,
    number: u32,
    of: u32,
    #[table(copy_of(Thing, key(shelf = shelf, number = of), on_delete = clear))]
    at: Option<Card>,
    #[table(copy_of(Shelf, key(shelf = shelf), on_delete = clear))]
    on: Option<Paint>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Thing)]
struct Card {
    code: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{shelf}", row = "shelf")]
struct Shelf {
    shelf: String,
    colour: u32,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Shelf)]
struct Paint {
    colour: u32,
}

#[derive(TableModel)]
enum Model {
    Thing(Thing),
    Label(Label),
    Shelf(Shelf),
}

/// Longer than anything is left alone for.
const LONG: Duration = Duration::from_secs(4_000);

fn thing(number: u32) -> Thing {
    Thing { shelf: "A".into(), number, code: number, badge: number, size: 1 }
}

/// Of the first thing.
fn label() -> Label {
    Label { shelf: "A".into(), number: 5, of: 1, at: None, on: None }
}

fn key(row: &str) -> RowKey {
    RowKey::new("A", row)
}

async fn write(db: &TestDatabase, row: &str, action: Action) {
    db.store().commit(&[Batch::new("Things", "A").with(row, action)]).await.expect("written");
}

async fn set(db: &TestDatabase, row: &str, name: &'static str, value: impl Into<Value>) {
    let value: Value = value.into();
    let changed = Properties::from_iter([(name, value)]);
    write(db, row, Action::Merge(changed, Condition::Exists)).await;
}

/// What stands in the store of the first thing, but for what is under way.
async fn of_first(db: &TestDatabase) -> Rows {
    let mut rows = rows_in(&*db.store(), "Things").await;
    rows.extend(rows_in(&*db.store(), "Badges").await);
    let is_its = |of: &Properties| of.get("_rk") == Some(ValueRef::String("thing_0001"));
    rows.retain(|(_, _, row), of| row == "thing_0001" || (is_its(of) && !row.starts_with("~~out|")));
    rows
}

#[tokio::test]
async fn what_an_entity_has_that_cannot_be_read_stays_its_own() {
    for mode in MODES {
        for (name, value) in [("EntityType", Value::from("Thing@x")), ("Size", Value::from(300))] {
            let told = format!("{mode:?}, {name}");
            let db = store_of::<Model>(mode).await;
            for number in [1, 2] {
                db.insert(&thing(number)).await.unwrap();
            }
            db.insert(&label()).await.unwrap();
            settle(&db).await;
            let whole = of_first(&db).await;
            assert_eq!(whole.len(), 3, "{told}: {whole:?}");
            set(&db, "thing_0001", name, value).await;
            // Past the framework another gets the same values, and its label is to be written once more.
            set(&db, "thing_0002", "Code", 1_i64).await;
            set(&db, "thing_0002", "Badge", 1_i64).await;
            write(&db, "of_0000000001_0005", Action::Delete(Condition::Exists)).await;
            db.clock().advance(LONG);
            let damaged = of_first(&db).await;
            let repaired = db.repair().await.unwrap();
            let first = repaired.left.iter().find(|(of, _)| of.key == key("thing_0001"));
            assert_eq!(first.map(|(of, _)| of.kind), Some(ViolationKind::Corrupt), "{told}: {repaired:?}");
            assert_eq!(of_first(&db).await, damaged, "{told}");
            let label = db.store().get("Things", &key("label_0005")).await.unwrap().unwrap();
            assert_eq!(label.properties.get("At_Code"), Some(ValueRef::Int64(1)), "{told}");

            let head = whole[&("Things".to_owned(), "A".to_owned(), "thing_0001".to_owned())].clone();
            write(&db, "thing_0001", Action::Replace(head, Condition::Exists)).await;
            set(&db, "thing_0002", "Code", 2_i64).await;
            set(&db, "thing_0002", "Badge", 2_i64).await;
            assert_eq!(db.repair().await.unwrap().left, [], "{told}");
            settle(&db).await;
            assert_eq!(db.verify().await.unwrap().violations, [], "{told}");
        }
    }
}

#[tokio::test]
async fn what_is_under_way_of_an_entity_that_cannot_be_read_waits_until_it_can() {
    for mode in MODES {
        let db = store_of::<Model>(Consistency::Azure).await;
        let mut stored = db.insert(&thing(1)).await.unwrap();
        settle(&db).await;
        stored.badge = 7;
        db.fail(DieInDelivery);
        let _unknown = db.save(&mut stored).await;
        db.fail(Script::new());
        let db = unmarked::<Model>(&db.reopen::<Model>().await.unwrap(), mode).await;
        set(&db, "thing_0001", "EntityType", "Thing@x").await;
        let damaged = of_first(&db).await;
        let repaired = db.repair().await.unwrap();
        let left: Vec<_> = repaired.left.iter().map(|(of, _)| of.kind).collect();
        assert_eq!((repaired.repaired, left.len()), (0, 2), "{mode:?}: {left:?}");
        assert!(left.contains(&ViolationKind::Corrupt) && left.contains(&ViolationKind::Undelivered), "{left:?}");
        assert_eq!(db.relay().run_once().await.unwrap().failed, 1, "{mode:?}");
        assert_eq!(of_first(&db).await, damaged, "{mode:?}");

        set(&db, "thing_0001", "EntityType", "Thing@1").await;
        assert_eq!(db.repair().await.unwrap().left, [], "{mode:?}");
        settle(&db).await;
        assert_eq!(db.verify().await.unwrap().violations, [], "{mode:?}");
        assert!(Thing::by_badge().badge(7).exists(&db).await.unwrap(), "{mode:?}");
        assert!(!Thing::by_badge().badge(1).exists(&db).await.unwrap(), "{mode:?}");
    }
}

/// What the label has copied of its thing and of its shelf.
async fn copied(db: &TestDatabase) -> [Option<Value>; 2] {
    let row = db.store().get("Things", &key("label_0005")).await.unwrap().unwrap();
    ["At_Code", "On_Colour"].map(|name| row.properties.get(name).map(|value| value.to_value()))
}

#[tokio::test]
async fn what_copies_an_entity_that_cannot_be_read_follows_its_other_sources() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let db = store_of::<Model>(mode).await;
        db.insert(&thing(1)).await.unwrap();
        db.insert(&Shelf { shelf: "A".into(), colour: 1 }).await.unwrap();
        db.insert(&label()).await.unwrap();
        settle(&db).await;
        let both = |code: i64, colour: Option<i64>| [Some(Value::from(code)), colour.map(Value::from)];
        assert_eq!(copied(&db).await, both(1, Some(1)), "{told}");
        set(&db, "thing_0001", "EntityType", "Thing@x").await;
        db.update(Shelf::find().shelf("A"), |shelf| Ok(shelf.colour = 2)).await.unwrap();
        settle(&db).await;
        assert_eq!(copied(&db).await, both(1, Some(2)), "{told}");
        let shelf = Shelf::find().shelf("A").one(&db).await.unwrap().unwrap();
        db.delete(shelf).await.unwrap();
        settle(&db).await;
        assert_eq!(copied(&db).await, both(1, None), "{told}");
        // Who comes to name it is told.
        let refused = db.insert(&Label { number: 6, ..label() }).await.map(drop).expect_err("its thing is untold");
        assert_eq!(refused.kind(), &ErrorKind::Corrupt, "{told}: {refused}");

        set(&db, "thing_0001", "EntityType", "Thing@1").await;
        settle(&db).await;
        assert_eq!(db.verify().await.unwrap().violations, [], "{told}");
    }
}
