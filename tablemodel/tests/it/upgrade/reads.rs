//! Every kind of read shows a row of an older version as the program's own.

use futures_util::TryStreamExt;
use tablemodel::{Consistency, ErrorKind, RowKey, prelude::*};

use super::{
    MODES, Programs,
    newer::{new, newer, old, older, two},
    person, programs, row, tell, v1, v3,
};

/// Of version 1, 2 and 3, in this order.
async fn mixed(mode: Consistency) -> Programs {
    let all = programs(mode).await;
    all.v1.insert(&person(1).v1()).await.unwrap();
    all.v2.insert(&person(2).v2()).await.unwrap();
    all.v3.insert(&person(3).v3()).await.unwrap();
    all
}

fn expected() -> Vec<v3::Employee> {
    [1, 2, 3].map(|id| person(id).v3()).to_vec()
}

fn values(found: Vec<Stored<v3::Employee>>) -> Vec<v3::Employee> {
    found.into_iter().map(Stored::into_inner).collect()
}

#[tokio::test]
async fn a_point_query_a_range_a_stream_and_pages_show_the_new_type() {
    for mode in MODES {
        let db = mixed(mode).await.v3;
        let sales = || v3::Employee::find().department("Sales");
        let one = sales().id(1).one(&db).await.unwrap().unwrap();
        assert_eq!((one.version(), &*one), (Some(1), &expected()[0]));
        assert_eq!(values(sales().all(&db).await.unwrap()), expected());
        assert_eq!(values(sales().id_between(1..=2).all(&db).await.unwrap()), expected()[..2]);
        let streamed: Vec<_> = sales().stream(&db).try_collect().await.unwrap();
        assert_eq!(values(streamed), expected());
        let many = sales().get_many([2_u32, 9, 1], &db).await;
        let many: Vec<_> = many.unwrap().into_iter().map(|found| found.map(Stored::into_inner)).collect();
        assert_eq!(many, [Some(expected()[1].clone()), None, Some(expected()[0].clone())]);
        let keys = [2, 9, 1].map(|id| RowKey::new("Sales", format!("empid_{id:06}")));
        let looked_up = db.get_many::<v3::Employee>(keys).await.unwrap();
        assert_eq!(looked_up.into_iter().map(|found| found.map(Stored::into_inner)).collect::<Vec<_>>(), many);
        let page = sales().page(2, None, &db).await.unwrap();
        let rest = sales().page(9, page.cursor.as_ref(), &db).await.unwrap();
        assert_eq!(values(page.items.into_iter().chain(rest.items).collect()), expected());
        assert_eq!(sales().count(&db).await.unwrap(), 3);
    }
}

#[tokio::test]
async fn a_scan_tests_what_the_upgrade_makes_of_a_row() {
    let db = mixed(Consistency::Azure).await.v3;
    let scan = |town: &str| v3::Employee::scan_partition("Sales").matching(v3::Employee::TOWN.eq(town.to_owned()));
    assert_eq!(values(scan("Bonn").all(&db).await.unwrap()), expected()); // version 1 has no such property
    assert_eq!(values(scan("Rome").all(&db).await.unwrap()), []);
    assert_eq!((scan("Bonn").count(&db).await.unwrap(), scan("Rome").count(&db).await.unwrap()), (3, 0));
    let page = scan("Bonn").page(2, None, &db).await.unwrap();
    let rest = scan("Bonn").page(2, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!(values(page.items.into_iter().chain(rest.items).collect()), expected());
    let older = v3::Employee::scan_partition("Sales").matching(v3::Employee::YEARS.gt(40));
    assert_eq!(values(older.all(&db).await.unwrap()), []);
}

#[tokio::test]
async fn mixed_rows_of_a_model_show_the_new_type() {
    let db = mixed(Consistency::Azure).await.v3;
    let rows = v3::Model::rows(v3::Employee::in_partition("Sales")).row_starts_with("empid_").all(&db).await.unwrap();
    let employees: Vec<_> = rows
        .into_iter()
        .map(|row| match row {
            v3::Model::Employee(employee) => employee,
            v3::Model::Department(_) | v3::Model::Other(_) => panic!("no employee"),
        })
        .collect();
    assert_eq!(employees, expected());
    let of = || v3::Model::rows(v3::Employee::in_partition("Sales")).row_starts_with("empid_");
    assert_eq!(of().count(&db).await.unwrap(), 3);
    let page = of().page(2, None, &db).await.unwrap();
    let rest = of().page(2, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((page.items.len(), rest.items.len(), rest.cursor), (2, 1, None));
}

/// Rows of an index that the version of the row knew: those of version 2 keep nothing that version 3 asks for.
#[tokio::test]
async fn an_index_row_of_an_older_version_is_read_through_its_entity() {
    for mode in MODES {
        let all = programs(mode).await;
        all.v2.insert(&person(2).v2()).await.unwrap();
        all.v3.insert(&person(3).v3()).await.unwrap();
        // As where programs of version 1 have ended, and none of its rows is left.
        tell(&all.v3, [("by_last_name", "readable"), ("~@2", "readable")]).await;
        let db = &all.v3.reopen::<v3::Model>().await.unwrap();
        let last = |last: &str| v3::Employee::by_last_name().department("Sales").last_name(last);
        let seen: Vec<_> = last("L2").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect();
        assert_eq!(seen, [person(2).v3()], "by the keys alone in version 2");
        let by_id = last("L2").id(2).select::<v3::Name>().one(db).await.unwrap();
        assert_eq!(by_id, Some(v3::Name { id: 2, first_name: "F2".into() }));
        // By what version 3 makes of its value, the row is not where it is looked for until it is written.
        let by_email = |email: &str| v3::Employee::by_email().department("Sales").email(email);
        assert_eq!(by_email("E2@X").one(db).await.unwrap().map(Stored::into_inner), None);
        let mut two = v3::Employee::find().department("Sales").id(2).one(db).await.unwrap().unwrap();
        assert!(db.upgrade(&mut two).await.unwrap());
        assert_eq!(by_email("e2@x").one(db).await.unwrap().map(Stored::into_inner), Some(person(2).v3()));
        assert_eq!(by_email("e2@x").select::<v3::Name>().all(db).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_projection_of_an_older_row_is_read_from_the_whole_of_it() {
    for mode in MODES {
        let db = mixed(mode).await.v3;
        let sales = || v3::Employee::find().department("Sales");
        let town = |town: &str| v3::Town { town: town.into() };
        assert_eq!(sales().id(1).select::<v3::Town>().one(&db).await.unwrap(), Some(town("Bonn")));
        let towns = sales().select::<v3::Town>().all(&db).await.unwrap();
        assert_eq!(towns, [town("Bonn"), town("Bonn"), town("Bonn")]);
    }
}

#[tokio::test]
async fn a_list_of_two_versions_gives_the_new_type() {
    let all = programs(Consistency::Azure).await;
    all.v1.insert(&person(1).v1()).await.unwrap();
    let path = || super::v2::Employee::ids_by_city().department("Sales").city("Bonn");
    all.v2.insert(&person(2).v2()).await.unwrap();
    let found: Vec<_> = path().all(&all.v2).await.unwrap().into_iter().map(Stored::into_inner).collect();
    assert_eq!(found, [person(1).v2(), person(2).v2()]);
    assert_eq!(path().count(&all.v2).await.unwrap(), 2);
}

#[tokio::test]
async fn reads_write_nothing() {
    let all = mixed(Consistency::Azure).await;
    let before = row(&all.v3, "empid_000001").await.unwrap();
    v3::Employee::find().department("Sales").all(&all.v3).await.unwrap();
    let after = row(&all.v3, "empid_000001").await.unwrap();
    assert_eq!((before.etag, before.properties), (after.etag, after.properties));
}

#[tokio::test]
async fn a_failing_upgrade_names_entity_key_and_versions() {
    let all = programs(Consistency::Azure).await;
    all.v1.insert(&v1::Employee { name: "Jones".into(), ..person(1).v1() }).await.unwrap();
    let path = || v3::Employee::find().department("Sales").id(1);
    let read = path().one(&all.v3).await.unwrap_err();
    let patched = all.v3.patch(path(), v3::Employee::SKILLS.set(vec![])).await.unwrap_err();
    let upserted = all.v3.upsert(&person(1).v3()).await.unwrap_err();
    for error in [read, patched, upserted] {
        assert_eq!(*error.kind(), ErrorKind::UpgradeFailed { from: 1, to: 2 });
        assert_eq!((error.entity(), error.key().map(|key| key.row.as_str())), (Some("Employee"), Some("empid_000001")));
        let text = error.to_string();
        assert!(text.contains("from version 1 to version 2") && text.contains("a name without a space"), "{text}");
    }
    assert!(row(&all.v3, "empid_000001").await.unwrap().properties.get("Name").is_some(), "as it was");
    let verified = all.v3.verify().await.unwrap();
    assert_eq!(verified.violations.len(), 1, "{:?}", verified.violations);
}

/// A whole copy, of which the older version knows one property less.
mod copied {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, TableEntity)]
    #[table(name = "Items", entity_type = "Item", partition = "{shop}", row = "item_{id:04}")]
    #[table(index(by_kind, row = "kind_{kind}_{id:04}"))]
    #[table(index(anywhere, table = "Kinds", partition = "{kind}", row = "{shop}_{id:04}"))]
    pub(super) struct ItemV1 {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) kind: String,
    }

    #[derive(Debug, PartialEq, TableEntity)]
    #[table(name = "Items", version = 2, previous = ItemV1, readable_by = 1, partition = "{shop}", row = "item_{id:04}")]
    #[table(index(by_kind, row = "kind_{kind}_{id:04}"))]
    #[table(index(anywhere, table = "Kinds", partition = "{kind}", row = "{shop}_{id:04}"))]
    pub(super) struct Item {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) kind: String,
        pub(super) price: u32,
    }

    impl Upgrade<ItemV1> for Item {
        fn upgrade(ItemV1 { shop, id, kind }: ItemV1) -> Result<Self, UpgradeError> {
            Ok(Self { shop, id, kind, price: id * 10 })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Before {
        Item(ItemV1),
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Item(Item),
    }
}

#[tokio::test]
async fn a_whole_copy_of_another_version_is_read_from_its_entity() {
    use copied::{Before, Item, ItemV1, Model};
    let old = tablemodel::testing::TestDatabase::new::<Before>().await.unwrap();
    let new = old.reopen::<Model>().await.unwrap();
    let item = |id: u32| Item { shop: "S".into(), id, kind: "k".into(), price: id * 10 };
    old.insert(&ItemV1 { shop: "S".into(), id: 1, kind: "k".into() }).await.unwrap();
    new.insert(&item(2)).await.unwrap();
    let here: Vec<Seen<Item>> = Item::by_kind().shop("S").kind("k").all(&new).await.unwrap();
    let there: Vec<Seen<Item>> = Item::anywhere().kind("k").all(&new).await.unwrap();
    for seen in [here, there] {
        assert_eq!(seen[0].key().row, "item_0001");
        assert_eq!(seen.into_iter().map(Seen::into_inner).collect::<Vec<_>>(), [item(1), item(2)]);
    }
    // The older program reads the newer copy from its entity too.
    let seen: Vec<Seen<ItemV1>> = ItemV1::by_kind().shop("S").kind("k").all(&old).await.unwrap();
    assert_eq!(seen.iter().map(|item| item.id).collect::<Vec<_>>(), [1, 2]);
    // A copy of this version is read from its own row, in one request.
    new.forget_calls();
    Item::by_kind().shop("S").kind("k").id(2).one(&new).await.unwrap().unwrap();
    assert_eq!(new.calls().len(), 1);
    new.forget_calls();
    Item::by_kind().shop("S").kind("k").id(1).one(&new).await.unwrap().unwrap();
    assert_eq!(new.calls().len(), 2);
    assert!(new.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_program_of_another_version_goes_on_at_a_cursor() {
    for mode in MODES {
        let all = mixed(mode).await;
        let page = v1::Employee::find().department("Sales").page(1, None, &all.v1).await.unwrap();
        assert_eq!(page.items.len(), 1);
        let rest = v3::Employee::find().department("Sales").page(9, page.cursor.as_ref(), &all.v3).await.unwrap();
        assert_eq!(values(rest.items), expected()[1..]);
    }
}

/// A row that lacks what is asked for, as this version has it, is not passed over.
#[tokio::test]
async fn a_scan_with_a_condition_meets_rows_of_a_newer_version_too() {
    let all = programs(Consistency::Azure).await;
    all.v3.insert(&person(1).v3()).await.unwrap();
    for scan in [v1::Employee::scan_partition("Sales"), v1::Employee::scan_table()] {
        let error = scan.matching(v1::Employee::AGE.gt(0)).all(&all.v1).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::UnknownVersion);
    }
    let (old, new) = two(Consistency::Azure).await;
    old.insert(&older(1)).await.unwrap();
    for note in [newer(2), new::Note { body: "three".into(), ..newer(3) }] {
        new.insert(&note).await.unwrap();
    }
    let found = old::Note::scan_table().matching(old::Note::TEXT.eq("one two")).all(&old).await.unwrap();
    assert_eq!(found.into_iter().map(Stored::into_inner).collect::<Vec<_>>(), [older(1), older(2)]);
    let found = old::Note::scan_table().matching(old::Note::TEXT.eq("three")).all(&old).await.unwrap();
    assert_eq!(found.into_iter().map(|note| note.id).collect::<Vec<_>>(), [3]);
}
