//! Programs of an older version, beside or after a newer one that has an index, a total or a copy otherwise under its name: they answer
//! that it is not complete, and never with less than there is.

use std::time::Duration;

use tablemodel::{Consistency, Error, ErrorKind, RowKey, prelude::*, testing::TestDatabase};

use super::{MODES, assert_clean, next, program, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "shop")]
struct Shop {
    shop: String,
    #[table(aggregate)]
    items: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Owners", partition = "{id:03}", row = "owner")]
struct Owner {
    id: u32,
    name: String,
    city: String,
}

mod one {
    use tablemodel::prelude::*;

    use super::{Owner, Shop};

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Owner)]
    pub(super) struct Card {
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Stock", partition = "{shop}", row = "item_{id:06}")]
    #[table(index(by_tag, table = "Tags", partition = "{tag}", row = "{shop}_{id:06}", keys_only))]
    #[table(index(by_title, row = "title_{title}_{id:06}", when = active, keys_only))]
    #[table(index(by_owner, row = "owner_{owner:06}_{id:06}", keys_only))]
    #[table(count(Shop, key(shop = shop), into = items))]
    pub(super) struct Item {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) tag: String,
        pub(super) title: String,
        pub(super) active: bool,
        pub(super) owner: u32,
        #[table(copy_of(Owner, key(id = owner), on_delete = clear))]
        pub(super) card: Option<Card>,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Shop(Shop),
        Owner(Owner),
        Item(Item),
    }
}

mod two {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::{Owner, Shop};

    /// As `diff` writes it: without the copy.
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Stock", entity_type = "Item", frozen, partition = "{shop}", row = "item_{id:06}")]
    #[table(index(by_tag, table = "Tags", partition = "{tag}", row = "{shop}_{id:06}", keys_only))]
    #[table(index(by_title, row = "title_{title}_{id:06}", when = active, keys_only))]
    #[table(index(by_owner, row = "owner_{owner:06}_{id:06}", keys_only))]
    #[table(count(Shop, key(shop = shop), into = items))]
    pub(super) struct ItemV1 {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) tag: String,
        pub(super) title: String,
        pub(super) active: bool,
        pub(super) owner: u32,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Owner)]
    pub(super) struct Card {
        pub(super) name: String,
        pub(super) city: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Stock", version = 2, previous = ItemV1, partition = "{shop}", row = "item_{id:06}")]
    #[table(index(by_tag, table = "Tags2", partition = "{tag}", row = "{shop}_{id:06}", keys_only))]
    #[table(index(by_title, row = "title_{title}_{id:06}", when = !active, keys_only))]
    #[table(index(by_owner, row = "owner_{owner:06}_{id:06}", keys_only))]
    #[table(count(Shop, key(shop = shop), into = items, when = active))]
    pub(super) struct Item {
        pub(super) shop: String,
        pub(super) id: u32,
        pub(super) tag: String,
        pub(super) title: String,
        pub(super) active: bool,
        pub(super) owner: u32,
        #[table(copy_of(Owner, key(id = owner), on_delete = clear))]
        pub(super) card: Option<Card>,
    }

    impl Upgrade<ItemV1> for Item {
        fn upgrade(old: ItemV1) -> Result<Self, UpgradeError> {
            let ItemV1 { shop, id, tag, title, active, owner } = old;
            Ok(Self { shop, id, tag, title, active, owner, card: None })
        }
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Shop(Shop),
        Owner(Owner),
        Item(Item),
    }
}

fn old(id: u32) -> one::Item {
    one::Item {
        shop: "A".into(),
        id,
        tag: "t".into(),
        title: "x".into(),
        active: id.is_multiple_of(2),
        owner: 1,
        card: None,
    }
}

fn new(id: u32) -> two::Item {
    let one::Item { shop, id, tag, title, active, owner, .. } = old(id);
    two::Item { shop, id, tag, title, active, owner, card: None }
}

/// An owner, a shop and 300 items, as the first release wrote them; it has ended.
async fn filled(mode: Consistency) -> TestDatabase {
    let db = store_of::<one::Model>(mode).await;
    db.insert(&Owner { id: 1, name: "Ann".into(), city: "Oslo".into() }).await.expect("inserted");
    db.insert(&Shop { shop: "A".into(), items: 0 }).await.expect("inserted");
    let report = db.bulk().insert_all(futures_util::stream::iter((0..300).map(old))).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    db.relay().drain().await.expect("drained");
    db.clock().advance(Duration::from_secs(130));
    db
}

fn is_not_ready<T: std::fmt::Debug>(answer: Result<T, Error>) -> bool {
    match answer {
        Err(error) => matches!(error.kind(), ErrorKind::IndexNotReady { .. }),
        Ok(_) => false,
    }
}

/// Whether the program of release 1 is refused what newer rows may be missing from; what has not changed it reads.
async fn is_overtaken(db: &Database) -> bool {
    assert!(!is_not_ready(one::Item::by_owner().shop("A").owner(1).count(db).await), "it is as it was");
    let refused = [
        is_not_ready(one::Item::by_tag().tag("t").all(db).await),
        is_not_ready(one::Item::by_title().shop("A").title("x").all(db).await),
        is_not_ready(db.total(Shop::find().shop("A"), Shop::ITEMS).await),
    ];
    assert!(refused.iter().all(|is| *is == refused[0]), "{refused:?}");
    refused[0]
}

#[tokio::test]
async fn an_older_program_does_not_read_what_a_newer_one_that_writes_has_otherwise() {
    for mode in MODES {
        let store = filled(mode).await;
        let older = program::<one::Model>(&store).await;
        assert!(!is_overtaken(&older).await, "{mode:?}: nothing is newer");
        let newer = next::<two::Model>(&store).await;
        assert!(!is_overtaken(&older).await, "{mode:?}: it has written nothing");
        newer.insert(&new(900)).await.expect("inserted");
        store.clock().advance(Duration::from_secs(61));
        if mode == Consistency::Azure {
            assert!(is_overtaken(&older).await, "it looks at the states once a minute");
        }
        assert!(is_overtaken(&program::<one::Model>(&store).await).await, "{mode:?}: nor one that starts");
        drop((older, newer));
        store.clock().advance(Duration::from_secs(130));
        let newer = next::<two::Model>(&store).await;
        assert!(newer.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        assert_eq!(two::Item::by_tag().tag("t").count(&newer).await.expect("readable"), 301, "{mode:?}");
        assert_clean(&newer, &format!("{mode:?}")).await;
        assert!(is_overtaken(&program::<one::Model>(&store).await).await, "{mode:?}: nor once all is rewritten");
    }
}

#[tokio::test]
async fn a_newer_program_that_was_taken_back_and_left_no_row_is_forgotten_by_apply() {
    for mode in MODES {
        let store = filled(mode).await;
        let newer = next::<two::Model>(&store).await;
        newer.patch(Owner::find().id(1), Owner::NAME.set("Eve")).await.expect("patched");
        drop(newer);
        store.clock().advance(Duration::from_secs(130));
        let older = program::<one::Model>(&store).await;
        // What copies the owner was written as new.
        let is_any_new = older
            .store()
            .get("Stock", &RowKey::new("A", "item_000007"))
            .await
            .expect("read")
            .is_some_and(|row| row.properties.get("EntityType") == Some(tablemodel::ValueRef::String("Item@2")));
        assert!(is_overtaken(&older).await, "{mode:?}");
        let plan = older.migrations().plan().await.expect("planned");
        assert!(plan.newer.iter().any(|newer| newer.index == "by_tag"), "{mode:?}: {plan:?}");
        let sized = older.migrations().apply().dry_run(None).await.map(drop);
        let applied = older.migrations().apply().await.map(drop);
        for outcome in [sized, applied] {
            assert_eq!(outcome.is_err(), is_any_new, "{mode:?}: {outcome:?}");
            if let Err(error) = outcome {
                assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{mode:?}: {error}");
            }
        }
        assert_eq!(is_overtaken(&older).await, is_any_new, "{mode:?}");
    }
}

#[tokio::test]
async fn a_newer_program_that_wrote_no_entity_of_the_changed_type_is_forgotten_by_apply() {
    for mode in MODES {
        let store = filled(mode).await;
        let newer = next::<two::Model>(&store).await;
        newer.insert(&Shop { shop: "B".into(), items: 0 }).await.expect("inserted");
        drop(newer);
        store.clock().advance(Duration::from_secs(130));
        let older = program::<one::Model>(&store).await;
        assert!(is_overtaken(&older).await, "{mode:?}");
        assert!(older.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        assert!(!is_overtaken(&older).await, "{mode:?}");
        let newer = next::<two::Model>(&store).await;
        newer.insert(&new(900)).await.expect("inserted");
        assert!(is_overtaken(&program::<one::Model>(&store).await).await, "{mode:?}: it says so anew");
    }
}

/// What the copy of this item says, and whether all are as their source says.
async fn city(db: &Database, id: u32) -> String {
    let item = two::Item::find().shop("A").id(id).one(db).await.expect("read").expect("there");
    item.card.clone().expect("copied").city
}

#[tokio::test]
async fn a_copy_of_more_lapses_where_an_older_program_writes_the_source() {
    for mode in MODES {
        for is_applied in [false, true] {
            let told = format!("{mode:?}, applied: {is_applied}");
            let store = filled(mode).await;
            let newer = next::<two::Model>(&store).await;
            newer.insert(&new(900)).await.expect("inserted");
            if is_applied {
                assert!(newer.migrations().apply().await.expect("applied").is_complete(), "{told}");
            }
            drop(newer);
            store.clock().advance(Duration::from_secs(130));
            let older = next::<one::Model>(&store).await;
            older.patch(Owner::find().id(1), Owner::CITY.set("Rome")).await.expect("the owner is as it was");
            drop(older);
            store.clock().advance(Duration::from_secs(130));
            let newer = next::<two::Model>(&store).await;
            let plan = newer.migrations().plan().await.expect("planned");
            assert!(plan.steps.iter().any(|step| step.index == "~card"), "{told}: {plan:?}");
            assert!(newer.migrations().apply().await.expect("applied").is_complete(), "{told}");
            assert_eq!(city(&newer, 900).await, "Rome", "{told}");
            assert_clean(&newer, &told).await;
        }
    }
}

#[tokio::test]
async fn an_older_program_that_lives_on_has_a_copy_of_more_lapse_whatever_it_writes_before_it_learns_of_it() {
    let store = filled(Consistency::Azure).await;
    let older = program::<one::Model>(&store).await;
    older.patch(Owner::find().id(1), Owner::NAME.set("Eve")).await.expect("patched");
    let newer = next::<two::Model>(&store).await;
    newer.insert(&new(900)).await.expect("inserted");
    older.patch(Owner::find().id(1), Owner::CITY.set("Rome")).await.expect("patched");
    drop(older);
    store.clock().advance(Duration::from_secs(130));
    assert!(newer.migrations().apply().await.expect("applied").is_complete());
    assert_eq!(city(&newer, 900).await, "Rome");
    assert_clean(&newer, "after all").await;
}

#[tokio::test]
async fn an_older_holder_with_all_that_its_version_copied_is_as_it_should_be() {
    for mode in MODES {
        let store = filled(mode).await;
        store.database().clone().close().await.expect("closed"); // nobody is left who may write less
        let db = next::<two::Model>(&store).await;
        assert_clean(&db, &format!("{mode:?}: less is copied than by now")).await;
        let key = RowKey::new("A", "item_000007");
        let row = store.store().get("Stock", &key).await.expect("read").expect("there");
        let mut drifted = row.properties.clone();
        drifted.insert("Card_Name", "Someone");
        let action = tablemodel::store::Action::Replace(drifted, tablemodel::store::Condition::Match(row.etag));
        let batch = tablemodel::store::Batch::new("Stock", "A").with("item_000007", action);
        store.store().commit(&[batch]).await.expect("planted");
        let found = db.verify().await.expect("verify runs").violations;
        assert!(found.len() == 1 && found[0].key == key, "{mode:?}: {found:?}");
        assert!(db.repair().await.expect("repaired").left.is_empty(), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}: repaired")).await;
    }
}
