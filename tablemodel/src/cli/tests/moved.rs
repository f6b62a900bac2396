//! A changed key: `diff` names the way, and what it writes is what a move takes.

use super::{Folder, first, store::within};
use crate::{
    cli::{
        outcome::{DONE, DRIFTED, Outcome},
        store::{Tool, execute_for_tests},
    },
    prelude::*,
    testing::TestDatabase,
};

/// The first entity at other keys, still in its table.
pub(super) mod other {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{name}", row = "item_{shelf}_{id:06}", crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{shelf}_{id:06}", keys_only))]
    pub(in crate::cli::tests) struct Item {
        shelf: String,
        id: u32,
        name: String,
        qty: u16,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Model {
        Item(Item),
    }
}

/// The version after that: it does not move, and the one that it moved from is no version before it.
mod later {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(
        name = "Stock",
        entity_type = "Item",
        partition = "{name}",
        row = "item_{shelf}_{id:06}",
        version = 3,
        crate = "crate"
    )]
    #[table(index(by_name, row = "name_{name}_{shelf}_{id:06}", keys_only))]
    pub(super) struct Item {
        shelf: String,
        id: u32,
        name: String,
        qty: u16,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

#[test]
fn a_changed_key_freezes_the_old_struct_writes_its_upgrade_and_names_the_move() {
    let folder = Folder::begun();
    let outcome = folder.answer::<other::Model>(&["diff", "--name", "keys"]);
    let told = outcome.lines.join("\n");
    assert_eq!(outcome.code, 0, "{told}");
    assert!(told.contains("re-key") && told.contains("moved_from = crate::frozen::ItemV1"), "{told}");
    assert!(told.contains("other tables than `Stock`") && told.contains("moves_to"), "{told}");
    assert!(!told.contains("previous ="), "{told}");
    let upgrade = folder.read("tablemodel/frozen/item_v1_upgrade.rs");
    assert!(upgrade.contains("impl tablemodel::Upgrade<ItemV1> for"), "{upgrade}");
    let lock = folder.read("tablemodel.lock");
    assert!(lock.contains("entity Item@1") && lock.contains("entity Item@2"), "{lock}");

    assert_eq!(folder.run::<later::Model>("diff --name note"), 0);
    let frozen = folder.read("tablemodel/frozen/item_v2.rs");
    assert!(!frozen.contains("previous"), "{frozen}");
    assert_eq!(folder.run::<first::Model>("check"), 2);
}

/// The first entity, which the next release moves.
mod staying {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Things", partition = "{p}", row = "{id}", crate = "crate")]
    pub(super) struct Thing {
        pub(super) p: String,
        pub(super) id: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Thing(Thing),
    }
}

/// Its rows are shadows yet: the store keeps the entity in its old form, in another table.
#[test]
fn a_plan_of_a_move_that_a_store_has_begun_is_left_as_it_is() {
    type Moved = super::golden::moved::Model;
    let folder = Folder::new();
    assert_eq!(folder.run::<staying::Model>("init"), 0);
    assert_eq!(folder.run::<Moved>("diff --name keys"), 0);
    let path = folder.path("things.tablemodel");
    let amend = || folder.answer::<Moved>(&["diff", "--amend", "--store", path.to_str().unwrap()]);
    within(async {
        let db = Database::open::<staying::Model>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&staying::Thing { p: "a".into(), id: 1 }).await.unwrap();
        db.close().await.unwrap();
    });
    let outcome = amend();
    assert_eq!(outcome.code, DONE, "{:?}", outcome.lines);
    within(async {
        let db = Database::open::<Moved>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.migrations().apply().await.unwrap();
        db.close().await.unwrap();
    });
    let outcome = amend();
    assert!(outcome.code == DRIFTED && outcome.lines[0].contains("rows of `Thing@2`"), "{:?}", outcome.lines);
}

/// The store has the entity, which is no reason to look for another store.
#[test]
fn where_the_store_keeps_the_entity_elsewhere_that_is_what_is_told() {
    type Moved = super::golden::moved::Model;
    type Settled = super::golden::settled::Model;
    let folder = Folder::new();
    let path = folder.path("things.tablemodel");
    within(async {
        let db = Database::open::<staying::Model>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.close().await.unwrap();
    });
    for command in ["plan", "apply", "status", "verify", "rollback"] {
        let outcome = folder.answer::<Settled>(&[command, "--store", path.to_str().unwrap()]);
        assert_eq!(outcome.code, DRIFTED, "{command}: {:?}", outcome.lines);
        assert!(outcome.lines[0].contains("keeps this entity in table `Things`"), "{command}: {:?}", outcome.lines);
    }
    within(async {
        let db = Database::open::<Moved>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.migrations().contract().await.unwrap();
        db.close().await.unwrap();
    });
    for command in ["plan", "apply", "status", "verify", "rollback"] {
        let outcome = folder.answer::<staying::Model>(&[command, "--store", path.to_str().unwrap()]);
        assert_eq!(outcome.code, DRIFTED, "{command}: {:?}", outcome.lines);
        assert!(outcome.lines[0].contains("moved to where version 2"), "{command}: {:?}", outcome.lines);
    }
}

#[tokio::test]
async fn a_switch_is_told_as_the_move_that_it_is() {
    let store = TestDatabase::atomic::<staying::Model>().await.unwrap();
    store.insert(&staying::Thing { p: "a".into(), id: 1 }).await.unwrap();
    let db =
        Database::builder().consistency(store.consistency()).with_store::<super::golden::moved::Model>(store.store());
    let db = db.await.unwrap();
    db.ensure_tables().await.unwrap();
    let tool = Tool { db, plans: Vec::new(), golden: Default::default(), stop: Default::default() };
    let told = async |command: &str| -> Outcome {
        let outcome = execute_for_tests(&tool, &[command]).await;
        assert_eq!(outcome.code, DONE, "{:?}", outcome.lines);
        outcome
    };
    let switched = "  Thing -> @2  absent  switched: the new form is the one that is written".to_owned();
    assert!(told("contract").await.lines.contains(&switched));
    let status = told("status").await;
    assert!(status.lines[0].starts_with("migration 0002: switched") && status.lines.contains(&switched), "{status:?}");
    assert_eq!(status.data["steps"][0]["moved"], 2);
}
