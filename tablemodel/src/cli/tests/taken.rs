//! `diff --amend` over a store: whether that has taken the plan, also of entities that are new with it.

use super::{Folder, first, store::within};
use crate::{
    cli::outcome::{DONE, DRIFTED},
    prelude::*,
};

/// The release after the first: items with a note, and racks, which are new, of these properties.
macro_rules! release {
    ($name:ident $(, $field:ident: $type:ty)*) => {
        mod $name {
            use super::super::first;
            use crate::{Upgrade, UpgradeError, format::carry, prelude::*};

            #[derive(TableEntity)]
            #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", version = 2)]
            #[table(index(by_name, row = "name_{name}_{id:06}", keys_only), previous = first::Item, crate = "crate")]
            pub(super) struct Item {
                shelf: String,
                id: u32,
                name: String,
                qty: u16,
                note: Option<String>,
            }

            impl Upgrade<first::Item> for Item {
                fn upgrade(old: first::Item) -> Result<Self, UpgradeError> {
                    carry(&old, &[]).map_err(|error| UpgradeError::new(error.to_string()))
                }
            }

            #[derive(TableEntity)]
            #[table(name = "Racks", entity_type = "Rack", partition = "{room}", row = "{id:06}", crate = "crate")]
            pub(super) struct Rack {
                pub(super) room: String,
                pub(super) id: u32,
                $(pub(super) $field: $type),*
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Item(Item),
                Rack(Rack),
            }
        }
    };
}

release!(racked);
release!(wider, width: Option<u32>);

/// A folder with the plan, and a store that knows the first release.
fn planned() -> (Folder, std::path::PathBuf) {
    let folder = Folder::begun();
    assert_eq!(folder.run::<racked::Model>("diff --name racks"), 0);
    let path = folder.path("stock.tablemodel");
    within(async {
        let db = Database::open::<first::Model>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.close().await.unwrap();
    });
    (folder, path)
}

#[test]
fn a_plan_of_whose_new_entity_a_store_has_rows_is_left_as_it_is() {
    let (folder, path) = planned();
    let amend = || folder.answer::<wider::Model>(&["diff", "--amend", "--store", path.to_str().unwrap()]);
    let outcome = amend();
    assert_eq!(outcome.code, DONE, "{:?}", outcome.lines);
    assert_eq!(folder.run::<racked::Model>("diff --amend"), 0);
    within(async {
        let db = Database::open::<racked::Model>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&racked::Rack { room: "a".into(), id: 1 }).await.unwrap();
        db.close().await.unwrap();
    });
    let before = folder.read("tablemodel.lock");
    let outcome = amend();
    assert!(outcome.code == DRIFTED && outcome.lines[0].contains("rows of `Rack@1`"), "{:?}", outcome.lines);
    assert_eq!(folder.read("tablemodel.lock"), before);
}

/// As for every command over a store: it may be another's, or the prefix was forgotten.
#[test]
fn a_store_that_knows_none_of_the_entities_says_nothing_of_a_plan() {
    let (folder, path) = planned();
    let words = ["diff", "--amend", "--store", path.to_str().unwrap(), "--prefix", "other"];
    let outcome = folder.answer::<wider::Model>(&words);
    assert!(outcome.code == DRIFTED && outcome.lines[0].contains("none of this program's"), "{:?}", outcome.lines);
}
