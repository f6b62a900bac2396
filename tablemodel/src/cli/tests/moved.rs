//! A changed key: `diff` names the way, and what it writes is what a move takes.

use super::{Folder, first};

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
