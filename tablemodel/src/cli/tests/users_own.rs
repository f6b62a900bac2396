//! What the user wrote, edited or took away: no plan writes over it, and what is generated fits it.

use super::{
    Folder, RENAMED,
    releases::{by_rack, by_rack_noted, by_shelf},
    second, third,
};
use crate::{
    cli::{frozen, upgrade},
    format::Format,
    prelude::*,
};

const WHOLE: &str = "tablemodel/frozen/item_v1_upgrade.rs";
const BEGUN: &str = "src/upgrades/item_v1_upgrade.rs";

#[test]
fn an_upgrade_that_was_written_in_full_is_the_users_once_he_has_edited_it() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    // As `rustfmt` would, of more renames.
    folder.edit(
        WHOLE,
        "carry(&old, &[(\"Qty\", \"Quantity\")]);",
        "carry(\n&old,\n&[\n(\"Qty\", \"Quantity\"),\n],\n);",
    );
    assert_eq!(folder.run::<second::Model>("diff --amend"), 0);
    assert!(folder.read(WHOLE).contains("&[(\"Qty\", \"Quantity\")]"), "formatting is no edit");

    folder.edit(WHOLE, "let new =", "let mut new =");
    let edited = folder.read(WHOLE);
    let told = folder.answer::<second::Model>(&["diff", "--amend"]);
    assert_eq!((told.code, folder.read(WHOLE)), (0, edited), "{:?}", told.lines);
    let told = told.lines.join("\n");
    assert!(told.contains("it is yours") && told.contains("see whether the upgrade still says all"), "{told}");
    assert!(!folder.path(BEGUN).exists());
}

/// Without the frozen struct, whose rows were all rewritten.
#[test]
fn a_version_that_is_read_no_more_is_no_previous_one() {
    let folder = Folder::new();
    assert_eq!(folder.run::<by_shelf::Model>("init"), 0);
    assert_eq!(folder.run::<by_rack::Model>("diff --rename Shelf=Rack"), 0);
    for gone in ["item_v1.rs", "item_v1_upgrade.rs"] {
        std::fs::remove_file(folder.path(&format!("tablemodel/frozen/{gone}"))).unwrap();
    }
    assert_eq!(folder.run::<by_rack_noted::Model>("diff"), 0);
    let frozen = folder.read("tablemodel/frozen/item_v2.rs");
    assert!(frozen.contains("pub struct ItemV2 {") && !frozen.contains("previous"), "{frozen}");
    assert!(!folder.read("tablemodel/frozen/mod.rs").contains("item_v1"));
}

/// The release after `released`, whose older struct the user wrote by hand.
mod own {
    pub(super) mod released {
        use crate::{Upgrade, UpgradeError, prelude::*};

        #[derive(TableEntity)]
        #[table(name = "Stock", entity_type = "Item", frozen, partition = "{shelf}", row = "{id}", crate = "crate")]
        pub(in super::super) struct Old {
            shelf: String,
            id: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "Stock", version = 2, previous = Old, partition = "{shelf}", row = "{id}", crate = "crate")]
        pub(in super::super) struct Item {
            shelf: String,
            id: u32,
            name: Option<String>,
        }

        impl Upgrade<Old> for Item {
            fn upgrade(Old { shelf, id }: Old) -> Result<Self, UpgradeError> {
                Ok(Self { shelf, id, name: None })
            }
        }

        #[derive(TableModel)]
        #[table(crate = "crate")]
        pub(in super::super) enum Model {
            Item(Item),
        }
    }

    pub(super) mod next {
        use super::released::Old;
        use crate::{Upgrade, UpgradeError, prelude::*};

        #[derive(TableEntity)]
        #[table(name = "Stock", version = 3, previous = Old, partition = "{shelf}", row = "{id}", crate = "crate")]
        pub(in super::super) struct Item {
            shelf: String,
            id: u32,
            name: Option<String>,
            note: Option<String>,
        }

        impl Upgrade<Old> for Item {
            fn upgrade(_: Old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("it is only planned"))
            }
        }

        #[derive(TableModel)]
        #[table(crate = "crate")]
        pub(in super::super) enum Model {
            Item(Item),
        }
    }
}

#[test]
fn an_older_version_that_the_user_wrote_is_named_where_it_is() {
    let folder = Folder::new();
    assert_eq!(folder.run::<own::released::Model>("init"), 0);
    let told = folder.answer::<own::next::Model>(&["diff"]);
    assert_eq!(told.code, 0, "{:?}", told.lines);
    let frozen = folder.read("tablemodel/frozen/item_v2.rs");
    assert!(frozen.contains("previous = crate::cli::tests::users_own::own::released::Old"), "{frozen}");
    let told = told.lines.join("\n");
    assert!(told.contains("released::Old` make a `crate::frozen::ItemV2`"), "{told}");
}

#[test]
fn an_upgrade_of_the_users_that_now_makes_a_frozen_struct_is_told_of() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>("diff --no-rename"), 0);
    let begun = folder.read(BEGUN);
    assert!(begun.contains("compile_error!"), "{begun}");
    let told = folder.answer::<third::Model>(&["diff", "--allow", "TM107=gone"]).lines.join("\n");
    assert!(folder.read(BEGUN).contains("for crate::frozen::ItemV2 {"));
    assert!(told.contains("item_v1_upgrade.rs makes a `crate::frozen::ItemV2` now"), "{told}");
}

/// As git gives it on some machines, or as people write it.
#[test]
fn an_upgrade_is_pointed_elsewhere_whatever_its_lines_end_with() {
    let written = "use x;\n\nimpl tablemodel::Upgrade<ItemV1> for crate::Item {\n    // mine\n}\n";
    let retargeted = |text: &str| upgrade::retargeted(text, "Item", 1, "super::ItemV2");
    let wanted = written.replace("crate::Item", "super::ItemV2");
    assert_eq!(retargeted(written), Some(wanted.clone()));
    assert_eq!(retargeted(&written.replace('\n', "\r\n")), Some(wanted.clone()));
    assert_eq!(retargeted(&written.replace("tablemodel::Upgrade", "Upgrade")), Some(wanted));
    assert_eq!(retargeted("impl Upgrade<ItemV2> for crate::Item {\n}\n"), None);
}

#[test]
fn an_upgrade_whose_brace_stands_elsewhere_is_left_alone() {
    let body = "    fn upgrade(old: ItemV1) -> Result<Self, UpgradeError> {\n        carry(old)\n    }\n}\n";
    for head in
        ["impl Upgrade<ItemV1> for crate::Item\n{\n", "impl Upgrade<ItemV1> for crate::Item { // splits names\n"]
    {
        assert_eq!(upgrade::retargeted(&format!("{head}{body}"), "Item", 1, "crate::frozen::ItemV2"), None, "{head}");
    }
}

/// In JSON and in keys an element may have texts of its own.
#[test]
fn a_list_of_enums_that_an_index_has_rows_for_is_told_of() {
    #[derive(Debug, Clone, PartialEq, Property, KeyPart, serde::Serialize, serde::Deserialize)]
    #[table(rename_all = "kebab-case", crate = "crate")]
    enum Mark {
        OnLeave,
    }

    #[expect(clippy::duplicated_attributes, reason = "each index says for itself what it holds")]
    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Marked", partition = "{id}", row = "marked", crate = "crate")]
    #[table(index(by_mark, row = "mark_{marks}_{id}", each(marks), keys_only))]
    #[table(index(by_tag, row = "tag_{tags}_{id}", each(tags), keys_only))]
    struct Marked {
        id: u32,
        #[table(json)]
        marks: Vec<Mark>,
        #[table(json)]
        tags: Vec<String>,
    }
    let format = Format::of(Marked::SCHEMA).unwrap();
    assert_eq!(frozen::words_in_lists(&format).collect::<Vec<_>>(), ["Marks"]);
}
