//! The commands over a package in a temporary folder, as they are run by their words.

mod added;
mod amended;
mod backup;
mod chain;
mod chapter;
mod clubs;
mod coming;
mod copies;
mod cut_off;
mod everything_v1;
mod faults;
mod frozen;
mod generated;
mod golden;
mod kill;
mod lint;
mod members;
mod moved;
mod places;
mod plans;
mod poisoned;
mod programs;
mod releases;
mod renames;
mod returned;
mod store;
mod taken;
mod tied;
mod together;
mod tried;
mod users_own;

use std::{fs, path::Path};

use clap::Parser;

use super::{Package, answer, args::Arguments, outcome::Outcome, run};
use crate::prelude::*;

mod first {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
    pub(super) struct Item {
        shelf: String,
        id: u32,
        name: String,
        qty: u16,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

/// The same, with a property renamed and widened, and one more.
mod second {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
    pub(super) struct Item {
        shelf: String,
        id: u32,
        name: String,
        quantity: u32,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

/// Another property, which old rows lack; and the one that was removed returns.
mod third {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", version = 3, crate = "crate")]
    pub(super) struct Item {
        shelf: String,
        id: u32,
        name: String,
        quantity: u32,
        note: Option<String>,
        #[table(default)]
        qty: u16,
        price: f64,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

mod none {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Other", entity_type = "Thing", partition = "{shelf}", row = "{id:06}", crate = "crate")]
    pub(super) struct Thing {
        shelf: String,
        id: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Thing(Thing),
    }
}

struct Folder {
    folder: tempfile::TempDir,
    package: Package,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"stock\"\n[workspace]\n").unwrap();
        let path: &'static str = folder.path().to_str().unwrap().to_owned().leak();
        Self { folder, package: Package { name: "stock", folder: path, model: "stock::Model" } }
    }

    /// With the first model's lock.
    fn begun() -> Self {
        let folder = Self::new();
        assert_eq!(folder.run::<first::Model>("init"), 0);
        folder
    }

    fn run<M: TableModel>(&self, words: &str) -> u8 {
        let words = std::iter::once("cargo tablemodel").chain(["--json"]).chain(words.split_terminator(' '));
        run(&self.package, &[super::Model::of::<M>()], words)
    }

    /// The outcome itself.
    fn answer<M: TableModel>(&self, words: &[&str]) -> Outcome {
        self.answer_of(&[super::Model::of::<M>()], words)
    }

    fn answer_of(&self, models: &[super::Model], words: &[&str]) -> Outcome {
        let arguments = Arguments::try_parse_from(std::iter::once(&"cargo tablemodel").chain(words)).unwrap();
        let outcome = answer(&self.package, models, arguments);
        members::check(words, &outcome);
        outcome
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{text}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    /// Names and texts of all files.
    fn files(&self) -> Vec<(String, String)> {
        fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, found),
                    false => found.push((path.display().to_string(), fs::read_to_string(&path).unwrap())),
                }
            }
        }
        let mut found = Vec::new();
        walk(self.folder.path(), &mut found);
        found.sort();
        found
    }
}

const RENAMED: &str = "diff --name quantity --rename Qty=Quantity";

#[test]
fn init_names_the_line_by_which_cargo_run_knows_which_program_is_meant() {
    let folder = Folder::new();
    let hint = || folder.answer::<first::Model>(&["init"]).lines.iter().any(|line| line.contains("`default-run = "));
    let manifest = folder.folder.path().join("Cargo.toml");
    fs::write(&manifest, "[package]\nname = \"stock\"\n").unwrap();
    assert!(!hint(), "there is no other program");
    fs::create_dir_all(folder.folder.path().join("src")).unwrap();
    fs::write(folder.folder.path().join("src/main.rs"), "fn main() {}\n").unwrap();
    assert!(hint());
    fs::write(&manifest, "[package]\nname = \"stock\"\ndefault-run = \"stock\"\n").unwrap();
    assert!(!hint());
}

#[test]
fn init_writes_what_is_missing_and_leaves_what_is_there() {
    let folder = Folder::begun();
    assert_eq!(folder.read("src/bin/tablemodel.rs").lines().last(), Some("tablemodel::cli!(stock::Model);"));
    let alias = folder.read(".cargo/config.toml");
    assert!(alias.contains("--package stock --features tablemodel/cli,tablemodel/ungated"), "{alias}");
    let before = folder.files();
    assert_eq!(folder.run::<second::Model>("init"), 0);
    assert_eq!(folder.files(), before);
    assert_eq!(folder.run::<first::Model>("check"), 0);
}

#[test]
fn an_alias_goes_among_the_others() {
    let with = |text: &str| super::init::with_alias(text, "stock");
    let written = |text: &str| with(text).unwrap().unwrap();
    assert!(written("[alias]\nb = \"build\"\n").starts_with("[alias]\ntablemodel = \"run"));
    assert!(written("[net]\noffline = true\n").contains("\n\n[alias]\ntablemodel"));
    assert_eq!(with("[alias]\ntablemodel = \"mine\"\n"), Ok(None));
    assert!(written("[patch.crates-io]\ntablemodel = { path = \"..\" }\n").contains("\n\n[alias]\ntablemodel = \"run"));
    let of = |package| super::init::with_alias("", package).unwrap().unwrap();
    assert_eq!(with(&of("stock")), Ok(None));
    let beside = with(&of("other")).unwrap_err();
    assert!(beside.starts_with("tablemodel-of-stock = \"run") && beside.contains("--package stock"), "{beside}");
    let both = format!("{}{beside}\n", of("other"));
    assert_eq!((with(&both), super::init::with_alias(&both, "other")), (Ok(None), Ok(None)), "it was added");
    assert!(with(&format!("{}# {beside}\n", of("other"))).is_err(), "a comment is none");
    assert!(written("[ alias ] # mine\nb = \"build\"\n").starts_with("[ alias ] # mine\ntablemodel = \"run"));
    for inline in ["alias = { b = \"build\" }\n", "alias.b = \"build\"\n"] {
        assert!(with(inline).unwrap_err().starts_with("tablemodel = \"run"), "a second table would not be read");
    }
}

#[test]
fn a_change_is_planned_frozen_and_locked() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>("check"), 2);
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let plan = folder.read("tablemodel/migrations/0001_quantity.toml");
    for words in ["id = \"0001_quantity\"", "parent = \"\"", "code = \"TM104\"", "code = \"TM105\"", "code = \"TM101\""]
    {
        assert!(plan.contains(words), "{plan}");
    }
    let lock = folder.read("tablemodel.lock");
    assert!(lock.contains("entity Item@1 ") && lock.contains("entity Item@2 "), "{lock}");
    assert!(folder.read("tablemodel/frozen/item_v1.rs").contains("pub struct ItemV1 {"));
    let upgrade = folder.read("tablemodel/frozen/item_v1_upgrade.rs");
    assert!(upgrade.contains("[(\"Qty\", \"Quantity\")]"), "{upgrade}");
    assert_eq!(folder.run::<second::Model>("check"), 2, "the struct has to say `version = 2` first");
    assert_eq!(folder.run::<second::Model>("diff"), 1);
}

#[test]
fn nothing_is_planned_where_nothing_changed() {
    let folder = Folder::begun();
    let before = folder.files();
    assert_eq!(folder.run::<first::Model>("diff"), 0);
    assert_eq!(folder.files(), before);
}

#[test]
fn what_may_be_a_rename_is_refused_until_it_is_said_where_values_would_be_lost() {
    use releases::{rated, scored};
    let folder = Folder::new();
    assert_eq!(folder.run::<rated::Model>("init"), 0);
    let before = folder.files();
    let told = folder.answer::<scored::Model>(&["diff"]);
    assert_eq!(told.code, 2, "{:?}", told.lines);
    let lines = told.lines.join("\n");
    assert!(lines.contains("--rename Item.Stars=Score") && lines.contains("--no-rename"), "{lines}");
    assert_eq!(folder.files(), before);
    assert_eq!(folder.run::<scored::Model>("diff --no-rename"), 0);
    let plan = folder.read("tablemodel/migrations/0001_change.toml");
    assert!(plan.contains("TM103") && plan.contains("TM101"), "{plan}");
    let folder = Folder::new();
    assert_eq!(folder.run::<rated::Model>("init"), 0);
    assert_eq!(folder.run::<scored::Model>("diff --rename Item.Stars=Score --no-rename"), 0);
    let plan = folder.read("tablemodel/migrations/0001_change.toml");
    assert!(plan.contains("TM104") && !plan.contains("TM103"), "{plan}");
}

/// It has to be computed: whoever writes the upgrade sees what is gone.
#[test]
fn a_rename_that_is_not_said_is_a_removal_and_an_addition() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>("diff"), 0);
    let plan = folder.read("tablemodel/migrations/0001_change.toml");
    assert!(plan.contains("TM103") && plan.contains("TM102"), "{plan}");
    let begun = folder.read("src/upgrades/item_v1_upgrade.rs");
    assert!(begun.contains("compile_error!") && begun.contains("+ property Quantity"), "{begun}");
}

#[test]
fn a_rename_that_is_none_is_an_error_and_writes_nothing() {
    let folder = Folder::begun();
    let before = folder.files();
    for rename in ["Qty=Name", "Qty=Nothing", "Nothing=Quantity", "Item.Name=Quantity", "Other.Qty=Quantity", "Qty"] {
        assert_eq!(folder.run::<second::Model>(&format!("diff --rename {rename}")), 1, "{rename}");
    }
    assert_eq!(folder.run::<second::Model>("diff --name Two"), 1);
    assert_eq!(folder.files(), before);
}

#[test]
fn what_may_lose_data_is_refused_until_it_is_allowed_with_a_reason() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let before = folder.files();
    assert_eq!(folder.run::<third::Model>("diff --name price"), 2, "TM107: `Qty` returns");
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM106=wrong_one"), 2);
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107="), 1);
    assert_eq!(folder.files(), before);
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old_rows_are_gone"), 0);
    let plan = folder.read("tablemodel/migrations/0002_price.toml");
    assert!(plan.contains("reason = \"old_rows_are_gone\"") && plan.contains("parent = \"0001_quantity "), "{plan}");
    assert_eq!(folder.run::<third::Model>("check"), 0);
    let upgrade = folder.read("tablemodel/frozen/item_v1_upgrade.rs");
    assert!(upgrade.contains("for crate::frozen::ItemV2 {"), "{upgrade}");
    assert!(folder.read("tablemodel/frozen/item_v2.rs").contains("previous = super::item_v1::ItemV1"));
}

#[test]
fn an_entity_that_is_gone_is_refused_and_one_that_is_new_is_locked() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<none::Model>("check"), 2);
    assert_eq!(folder.run::<none::Model>("diff"), 2);
    assert_eq!(folder.run::<none::Model>("diff --allow TM206=dropped"), 0);
    assert_eq!(folder.run::<none::Model>("check"), 0);
    assert!(!folder.read("tablemodel.lock").contains("Item@1"));
}

#[test]
fn an_edited_lost_or_reordered_plan_is_found() {
    let damage: [fn(&Folder); 5] = [
        |folder| folder.edit("tablemodel/migrations/0001_quantity.toml", "lazy-safe", "no-op"),
        |folder| folder.edit("tablemodel/migrations/0002_price.toml", "old", "new"),
        |folder| fs::remove_file(folder.path("tablemodel/migrations/0001_quantity.toml")).unwrap(),
        |folder| fs::remove_file(folder.path("tablemodel/migrations/0002_price.toml")).unwrap(),
        |folder| {
            fs::rename(
                folder.path("tablemodel/migrations/0001_quantity.toml"),
                folder.path("tablemodel/migrations/0003_x.toml"),
            )
            .unwrap()
        },
    ];
    for (number, damage) in damage.iter().enumerate() {
        let folder = Folder::begun();
        assert_eq!(folder.run::<second::Model>(RENAMED), 0);
        assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
        assert_eq!(folder.run::<third::Model>("check"), 0);
        damage(&folder);
        assert_eq!(folder.run::<third::Model>("check"), 2, "{number}");
        assert_eq!(folder.run::<third::Model>("diff"), 2, "{number}");
    }
}

#[test]
fn a_damaged_or_absent_lock_stops_every_command() {
    let folder = Folder::new();
    assert_eq!(folder.run::<first::Model>("diff"), 1);
    assert_eq!(folder.run::<first::Model>("check"), 2);
    let folder = Folder::begun();
    folder.edit("tablemodel.lock", "as u16", "as u32");
    let before = folder.files();
    for command in ["init", "diff", "check"] {
        assert_eq!(folder.run::<first::Model>(command), 1, "{command}");
    }
    assert_eq!(folder.files(), before);
}

#[test]
fn words_that_are_not_understood_are_errors_and_help_is_none() {
    let folder = Folder::new();
    assert_eq!(folder.run::<first::Model>("dif"), 1);
    assert_eq!(folder.run::<first::Model>("--help"), 0);
    assert_eq!(folder.run::<first::Model>("show"), 0);
}

#[test]
fn several_models_share_a_lock_unless_they_share_a_name() {
    let folder = Folder::new();
    let run = |models: &[super::Model]| run(&folder.package, models, ["", "init"]);
    assert_eq!(run(&[super::Model::of::<first::Model>(), super::Model::of::<second::Model>()]), 1);
    assert_eq!(run(&[super::Model::of::<first::Model>(), super::Model::of::<none::Model>()]), 0);
    let lock = folder.read("tablemodel.lock");
    assert!(lock.contains("entity Item@1 ") && lock.contains("entity Thing@1 "), "{lock}");
}
