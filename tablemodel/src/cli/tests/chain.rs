//! The chain of frozen structs: it holds whatever fields and structs are called, and keeps what the user wrote into it.

use std::fs;

use super::releases::{by_rack, by_rack_noted, by_shelf, rated, scored, second_raised};
use super::{Folder, first, second, third};

#[test]
fn a_key_whose_fields_have_other_names_and_wider_integers_is_the_same_key() {
    let folder = Folder::new();
    assert_eq!(folder.run::<by_shelf::Model>("init"), 0);
    let outcome = folder.answer::<by_rack::Model>(&["diff", "--rename", "Shelf=Rack"]);
    assert_eq!(outcome.code, 0, "{:?}", outcome.lines);
    assert_eq!(folder.run::<by_rack_noted::Model>("diff"), 0);
    // The struct is called otherwise by now, which nothing stored is.
    let frozen = folder.read("tablemodel/frozen/item_v2.rs");
    assert!(frozen.contains("pub struct ItemV2 {"), "{frozen}");
    assert!(frozen.contains("previous = super::item_v1::ItemV1"), "rows of version 1 are there: {frozen}");
    let upgrade = folder.read("tablemodel/frozen/item_v1_upgrade.rs");
    assert!(upgrade.contains("Upgrade<ItemV1> for crate::frozen::ItemV2 {"), "{upgrade}");
    let upgrade = folder.read("tablemodel/frozen/item_v2_upgrade.rs");
    assert!(upgrade.contains("Upgrade<ItemV2> for crate::") && upgrade.contains("::Article {"), "{upgrade}");
}

#[test]
fn a_default_is_said_by_the_user_and_stays_as_it_was_said() {
    const FROZEN: &str = "tablemodel/frozen/item_v1.rs";
    let folder = Folder::new();
    assert_eq!(folder.run::<rated::Model>("init"), 0);
    let told = folder.answer::<scored::Model>(&["diff", "--rename", "Stars=Score"]).lines.join("\n");
    assert!(told.contains("next: say the default of Stars in ") && told.contains("item_v1.rs"), "{told}");
    let frozen = folder.read(FROZEN);
    let asked = frozen.lines().find(|line| line.contains("default = ")).unwrap();
    assert!(asked.contains("default = compile_error!(\"say what Stars was read as in version 1"), "{asked}");

    folder.edit(FROZEN, asked.trim(), "#[table(default = 3)]");
    let said = folder.read(FROZEN);
    let told = folder.answer::<scored::Model>(&["diff", "--amend"]).lines.join("\n");
    assert_eq!(folder.read(FROZEN), said);
    assert!(told.contains("kept  ") && !told.contains("say the default"), "{told}");
}

#[test]
fn a_file_of_another_entity_is_not_written_over() {
    let folder = Folder::begun();
    fs::create_dir_all(folder.path("tablemodel/frozen")).unwrap();
    let other = "#[table(entity_type = \"item\", version = 1, frozen)]\nstruct ItemV1 {}\n";
    fs::write(folder.path("tablemodel/frozen/item_v1.rs"), other).unwrap();
    let before = folder.files();
    let outcome = folder.answer::<second::Model>(&["diff", "--rename", "Qty=Quantity"]);
    assert!(outcome.code == 1 && outcome.lines[0].contains("is not the struct of `Item@1`"), "{:?}", outcome.lines);
    assert_eq!(folder.files(), before);
}

#[test]
fn a_list_of_upgrades_that_is_the_users_is_told_what_to_declare() {
    for (list, has) in [("src/upgrades/mod.rs", "mod more;\n"), ("src/upgrades.rs", "mod more;\n")] {
        let folder = Folder::begun();
        fs::create_dir_all(folder.path("src/upgrades")).unwrap();
        fs::write(folder.path(list), has).unwrap();
        let told = folder.answer::<second::Model>(&["diff"]).lines.join("\n");
        assert_eq!(folder.read(list), has);
        assert!(told.contains("`mod item_v1_upgrade;` in ") && told.contains(list), "{told}");
        assert!(list.ends_with("mod.rs") || !folder.path("src/upgrades/mod.rs").exists());
    }
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>("diff"), 0);
    assert_eq!(folder.run::<third::Model>("diff --allow TM107=gone"), 0);
    assert!(folder.read("src/upgrades/mod.rs").ends_with("mod item_v1_upgrade;\nmod item_v2_upgrade;\n"));
}

mod chained {
    use crate::{Upgrade, UpgradeError, prelude::*};

    /// An older version, and one before it.
    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", version = 2, frozen, previous = Older, crate = "crate")]
    #[table(partition = "{shelf}", row = "{id}")]
    struct Old {
        shelf: String,
        id: u32,
        name: Option<String>,
    }

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id}", crate = "crate")]
    struct Older {
        shelf: String,
        id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", version = 4, previous = Old, crate = "crate")]
    #[table(partition = "{shelf}", row = "{id}")]
    pub(super) struct Item {
        shelf: String,
        id: u32,
    }

    impl Upgrade<Older> for Old {
        fn upgrade(Older { shelf, id }: Older) -> Result<Self, UpgradeError> {
            Ok(Self { shelf, id, name: None })
        }
    }

    impl Upgrade<Old> for Item {
        fn upgrade(Old { shelf, id, .. }: Old) -> Result<Self, UpgradeError> {
            Ok(Self { shelf, id })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

#[test]
fn every_version_that_a_program_reads_is_locked_with_its_entity() {
    let is_locked = |folder: &Folder| {
        let lock = folder.read("tablemodel.lock");
        ["Item@1 ", "Item@2 ", "Item@4 "].iter().all(|head| lock.contains(&format!("entity {head}")))
    };
    let folder = Folder::new();
    let told = folder.answer::<chained::Model>(&["init"]).lines.join("\n");
    assert!(is_locked(&folder), "by `init`");
    assert!(
        told.contains("write `frozen` on `") && told.contains("chained::Older`") && !told.contains("::Old`"),
        "{told}"
    );
    assert_eq!(folder.run::<chained::Model>("check"), 0);

    let folder = Folder::new();
    assert_eq!(folder.run::<super::none::Model>("init"), 0);
    assert_eq!(folder.run::<chained::Model>("diff --allow TM206=gone"), 0);
    assert!(is_locked(&folder), "by `diff`, of an entity that is new to the lock");
}

#[test]
fn all_versions_move_with_their_crate_and_any_crate_stays_any() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(super::RENAMED), 0);
    let crates = |folder: &Folder| {
        let lock = folder.read("tablemodel.lock");
        let heads = lock.lines().filter_map(|line| line.strip_prefix("entity Item@"));
        heads.map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (found, left) in [("before", "tablemodel"), ("*", "*")] {
        let lock = folder.read("tablemodel.lock");
        let was = crates(&folder)[0].clone();
        fs::write(folder.path("tablemodel.lock"), lock.replace(&format!(" {was} "), &format!(" {found} "))).unwrap();
        assert_eq!(crates(&folder), [found, found]);
        assert_eq!(folder.run::<second_raised::Model>("diff"), 0);
        assert_eq!(crates(&folder), [left, left]);
    }
    assert_eq!(folder.run::<first::Model>("check"), 2);
}
