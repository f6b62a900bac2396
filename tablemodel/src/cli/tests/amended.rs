//! The newest plan, written anew after a further change.

use super::{
    Folder, RENAMED,
    clubs::{old, unique},
    first, second,
    store::{fill, person, within},
    third,
};
use crate::{cli::outcome::DONE, prelude::*};

/// The second release after a further change: a value that old rows lack.
mod further {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", version = 2, crate = "crate")]
    #[table(index(by_name, row = "name_{name}_{id:06}", keys_only))]
    pub(super) struct Item {
        shelf: String,
        id: u32,
        name: String,
        quantity: u32,
        note: Option<String>,
        price: f64,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Item(Item),
    }
}

/// Releases of two entities that have a property of one name, and then no more.
macro_rules! pair {
    ($name:ident, ($person:literal, $full_name:ident), ($team:literal, $title:ident)) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Clubs", partition = "{club}", row = "p_{id:06}", version = $person, crate = "crate")]
            pub(super) struct Person {
                club: String,
                id: u32,
                $full_name: String,
            }

            #[derive(TableEntity)]
            #[table(name = "Clubs", partition = "{club}", row = "t_{id:06}", version = $team, crate = "crate")]
            pub(super) struct Team {
                club: String,
                id: u32,
                $title: String,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Person(Person),
                Team(Team),
            }
        }
    };
}

pair!(alike, (1, name), (1, name));
pair!(apart, (2, full_name), (1, name));
pair!(both, (2, full_name), (2, title));

#[test]
fn a_rename_of_one_entity_is_not_one_of_another() {
    for said in ["Team.Name=Title", "Team.Name=Title --rename Person.Name=FullName"] {
        let folder = Folder::new();
        assert_eq!(folder.run::<alike::Model>("init"), 0);
        assert_eq!(folder.run::<apart::Model>("diff --name named --rename Person.Name=FullName"), 0);
        assert_eq!(folder.run::<both::Model>(&format!("diff --amend --rename {said}")), 0, "{said}");
        let plan = folder.read("tablemodel/migrations/0001_named.toml");
        for rename in ["property Name -> FullName", "property Name -> Title"] {
            assert!(plan.contains(rename), "{said}: {plan}");
        }
    }
}

const PLAN: &str = "tablemodel/migrations/0001_quantity.toml";
const WHOLE: &str = "tablemodel/frozen/item_v1_upgrade.rs";
const BEGUN: &str = "src/upgrades/item_v1_upgrade.rs";

/// The lines of a section of the lock.
fn section(folder: &Folder, head: &str) -> String {
    let lock = folder.read("tablemodel.lock");
    let at = lock.find(&format!("entity {head} ")).unwrap();
    lock[at..].split("\n\n").next().unwrap().to_owned()
}

#[test]
fn a_further_change_goes_into_the_newest_plan_with_what_was_said_before() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let (plan, frozen) = (folder.read(PLAN), section(&folder, "Item@1"));
    assert_eq!(folder.run::<further::Model>("check"), 2);

    assert_eq!(folder.run::<further::Model>("diff --amend"), 0);
    let amended = folder.read(PLAN);
    assert!(amended.contains("property Qty -> Quantity") && amended.contains("TM102"), "{amended}");
    assert!(amended.contains("id = \"0001_quantity\"") && amended.contains("to = \"Item@2 "), "{amended}");
    assert_ne!(amended, plan);
    assert_eq!(section(&folder, "Item@1"), frozen);
    assert!(section(&folder, "Item@2").contains("property Price"));
    assert_eq!(folder.run::<further::Model>("check"), 0);
    // A value has to be computed now: the upgrade that was written in full is gone, and one is begun.
    assert!(!folder.path(WHOLE).exists() && folder.read(BEGUN).contains("compile_error!"));
    assert!(!folder.read("tablemodel/frozen/mod.rs").contains("item_v1_upgrade"));

    let before = folder.files();
    assert_eq!(folder.run::<further::Model>("diff --amend --name quantity"), 0);
    assert_eq!(folder.files(), before, "the same change is the same plan");
}

#[test]
fn an_upgrade_that_is_the_users_stays_when_no_value_is_computed_any_more() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<further::Model>(RENAMED), 0);
    for (ended, word) in [(false, "delete the upgrade that was begun"), (true, "it is yours")] {
        if ended {
            folder.edit(BEGUN, "compile_error!", "todo!");
        }
        let begun = folder.read(BEGUN);
        let told = folder.answer::<second::Model>(&["diff", "--amend"]);
        assert_eq!(told.code, 0);
        assert!(told.lines.iter().any(|line| line.contains(word)), "{:?}", told.lines);
        assert_eq!(folder.read(BEGUN), begun);
    }
    assert!(!folder.path(WHOLE).exists());
    assert!(!folder.read(PLAN).contains("TM102"));
}

#[test]
fn what_cannot_be_amended_is_refused_with_what_to_do_and_nothing_is_written() {
    let folder = Folder::begun();
    let refused = |folder: &Folder, outcome: crate::cli::outcome::Outcome, words: &str| {
        let told = outcome.lines.join("\n");
        assert!(outcome.code == 2 && told.contains(words), "{told}");
        folder.files()
    };
    let before = folder.files();
    let none = folder.answer::<second::Model>(&["diff", "--amend"]);
    assert_eq!(refused(&folder, none, "without `--amend`"), before);

    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let before = folder.files();
    let back = folder.answer::<first::Model>(&["diff", "--amend"]);
    assert_eq!(refused(&folder, back, "from version control"), before);
    let ahead = folder.answer::<third::Model>(&["diff", "--amend", "--allow", "TM107=old"]);
    assert_eq!(refused(&folder, ahead, "write `version = 2`"), before);
    assert_eq!(folder.run::<second::Model>("diff --store nowhere"), 1, "only `--amend` asks a store");

    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
    let before = folder.files();
    let older = folder.answer::<third::Model>(&["diff", "--amend", "--name", "quantity"]);
    assert_eq!(refused(&folder, older, "is not the newest, which is `0002_price`"), before);
    assert_eq!(folder.run::<third::Model>("diff --amend"), 0);
    assert_eq!(folder.files(), before, "the reason that was given is kept, and so is the plan before");

    folder.edit(PLAN, "lazy-safe", "no-op");
    let edited = folder.answer::<third::Model>(&["diff", "--amend"]);
    refused(&folder, edited, "TM701");
}

#[test]
fn a_plan_that_a_store_has_taken_is_left_as_it_is() {
    let folder = Folder::new();
    assert_eq!(folder.run::<old::Club>("init"), 0);
    assert_eq!(folder.run::<unique::Club>("diff --name badges"), 0);
    let path = folder.path("club.tablemodel");
    fill(&path, 300); // more than are written anew at once
    let amend =
        |folder: &Folder| folder.answer::<unique::Club>(&["diff", "--amend", "--store", path.to_str().unwrap()]);
    let outcome = amend(&folder);
    assert_eq!(outcome.code, DONE, "{:?}", outcome.lines);

    within(async {
        let db = Database::open::<unique::Club>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        let old::Person { club, id, city, badge } = person(900, 900);
        db.insert(&unique::Person { club, id, city, badge }).await.unwrap();
        db.close().await.unwrap();
    });
    let outcome = amend(&folder);
    assert!(outcome.code == 2 && outcome.lines[0].contains("rows of `Person@2`"), "{:?}", outcome.lines);

    let words = ["apply", "--store", path.to_str().unwrap()];
    assert_eq!(folder.answer::<unique::Club>(&words).code, DONE);
    let outcome = amend(&folder);
    let told = &outcome.lines[0];
    assert!(
        outcome.code == 2 && told.contains("0001_badges was applied") && told.contains("without `--amend`"),
        "{told}"
    );
    let missing = folder.answer::<unique::Club>(&["diff", "--amend", "--store", "nowhere"]);
    assert_eq!(missing.code, 1);
}

/// The second release, whose changes were taken out again.
mod withdrawn {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", version = 2, crate = "crate")]
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

#[test]
fn a_plan_of_which_nothing_but_the_version_is_left_says_so() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let told = folder.answer::<withdrawn::Model>(&["diff", "--amend"]);
    assert_eq!(told.code, 0, "{:?}", told.lines);
    let plan = folder.read(PLAN);
    assert!(!plan.contains("Quantity") && !plan.contains("Note"), "{plan}");
    let item = section(&folder, "Item@2");
    let fingerprint = item.split_whitespace().nth(3).unwrap();
    assert!(plan.contains(&format!("Item@2 {fingerprint}")), "{plan}\n{item}");
    assert_eq!(folder.run::<withdrawn::Model>("check"), 0);
}

/// A release whose items have these properties, and whose racks reserve these names.
macro_rules! release {
    ($name:ident, ($($field:ident: $type:ty),+) $(, $reserved:literal)*) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", crate = "crate")]
            pub(super) struct Item {
                shelf: String,
                id: u32,
                $($field: $type),+
            }

            #[derive(TableEntity)]
            #[table(name = "Racks", entity_type = "Rack", partition = "{room}", row = "{id:06}", crate = "crate")]
            $(#[table(reserved($reserved))])*
            pub(super) struct Rack {
                room: String,
                id: u32,
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

release!(noted, (note: Option<String>));
release!(remarked, (remark: Option<String>));
release!(sized, (note: Option<String>, size: Option<u32>));
release!(remarked_sized, (remark: Option<String>, size: Option<u32>));
release!(reserving, (note: Option<String>, size: Option<u32>), "Colour");
release!(reserving_more, (note: Option<String>, size: Option<u32>, weight: Option<u32>), "Colour");

fn noted_folder() -> Folder {
    let folder = Folder::new();
    assert_eq!(folder.run::<noted::Model>("init"), 0);
    folder
}

#[test]
fn what_was_said_to_be_no_rename_is_none_when_the_plan_is_made_anew() {
    let folder = noted_folder();
    assert_eq!(folder.run::<remarked::Model>("diff"), 2);
    assert_eq!(folder.run::<remarked::Model>("diff --name quantity --no-rename"), 0);
    for words in ["diff --amend", "diff --amend --no-rename"] {
        let told = folder.answer::<remarked_sized::Model>(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(told.code, 0, "{words}: {:?}", told.lines);
        let plan = folder.read(PLAN);
        assert!(plan.contains("- property Note ") && plan.contains("+ property Remark "), "{plan}");
    }
    assert_eq!(folder.run::<remarked_sized::Model>("diff --amend --rename Note=Remark"), 0, "unless it is said now");
    assert!(folder.read(PLAN).contains("property Note -> Remark"));
}

#[test]
fn a_pair_that_the_plan_did_not_have_is_asked_about_when_it_is_made_anew() {
    let folder = noted_folder();
    assert_eq!(folder.run::<sized::Model>("diff --name quantity"), 0);
    assert_eq!(folder.run::<remarked_sized::Model>("diff --amend"), 2);
    assert_eq!(folder.run::<remarked_sized::Model>("diff --amend --no-rename"), 0);
}

#[test]
fn a_plan_with_an_entity_whose_version_stays_is_made_anew() {
    let folder = noted_folder();
    assert_eq!(folder.run::<reserving::Model>("diff --name quantity"), 0);
    let told = folder.answer::<reserving_more::Model>(&["diff", "--amend"]);
    assert_eq!(told.code, 0, "{:?}", told.lines);
    let plan = folder.read(PLAN);
    assert!(plan.contains("+ reserved Colour") && plan.contains("+ property Weight "), "{plan}");
    assert!(section(&folder, "Rack@1").contains("reserved Colour"));

    let told = folder.answer::<sized::Model>(&["diff", "--amend"]);
    assert_eq!(told.code, 0, "what was reserved is free again: {:?}", told.lines);
    assert!(!folder.read(PLAN).contains("Colour") && !section(&folder, "Rack@1").contains("Colour"));
}
