//! Entities that go, and names that return: of an entity, and by a rename. And what a refusal says to programs.

use std::fs;

use super::releases::{above, back};
use super::{Folder, RENAMED, first, none, second};
use crate::cli::{
    Model,
    args::Arguments,
    check, misread,
    project::{Project, Renamed},
};

#[test]
fn an_entity_that_was_taken_away_returns_above_its_version_or_with_a_reason() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<none::Model>("diff --name gone --allow TM206=dropped"), 0);
    let outcome = folder.answer::<first::Model>(&["diff", "--allow", "TM206=changed our minds"]);
    let told = outcome.lines.join("\n");
    assert!(outcome.code == 2 && told.contains("TM107") && told.contains("plan 0001_gone took"), "{told}");
    assert_eq!(folder.run::<first::Model>("diff --allow TM206=changed --allow TM107=the_rows_are_gone"), 0);
    let plan = folder.read("tablemodel/migrations/0002_change.toml");
    assert!(plan.contains("the_rows_are_gone") && plan.contains("+ entity Item@1"), "{plan}");

    let folder = Folder::begun();
    assert_eq!(folder.run::<none::Model>("diff --name gone --allow TM206=dropped"), 0);
    assert_eq!(folder.run::<above::Model>("diff --allow TM206=changed"), 0);
}

#[test]
fn what_an_entity_leaves_behind_is_named_where_it_goes() {
    const GOLDEN: &str = r#"{"EntityType":"Item@1","Id":1,"Name":"n","PartitionKey":"a","Qty":1,"RowKey":"000001","Shelf":"a","odata.table":"Stock"}"#;
    let folder = Folder::begun();
    let own = ["golden/item_v1.jsonl", "frozen/item_v1.rs", "frozen/item_v1_upgrade.rs"];
    for name in own.iter().chain(&["frozen/items_v1.rs"]) {
        let path = folder.path("tablemodel").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, if name.ends_with(".jsonl") { GOLDEN } else { "" }).unwrap();
    }
    let gone = folder.answer::<none::Model>(&["diff", "--allow", "TM206=dropped"]);
    let next: Vec<_> = gone.lines.iter().filter(|line| line.starts_with("next: delete ")).collect();
    assert!(next.len() == 2 && own.iter().all(|name| next.iter().any(|line| line.contains(name))), "{:?}", gone.lines);
    assert!(!next.iter().any(|line| line.contains("items_v1")), "another entity's: {next:?}");

    let checked = folder.answer::<none::Model>(&["check"]);
    assert!(
        checked.code == 2 && checked.lines[0].contains("delete the file if its entity was taken out"),
        "{checked:?}"
    );
    fs::remove_file(folder.path("tablemodel/golden/item_v1.jsonl")).unwrap();
    assert_eq!(folder.run::<none::Model>("check"), 0);
}

#[test]
fn a_rename_to_a_name_that_was_used_before_is_refused_like_an_addition() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let outcome = folder.answer::<back::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert!(outcome.code == 2 && told.contains("TM107 unsafe    property Quantity -> Qty"), "{told}");
    assert_eq!(folder.run::<back::Model>("diff --allow TM107=it_is_the_same"), 0);
    let upgrade = folder.read("tablemodel/frozen/item_v2_upgrade.rs");
    assert!(upgrade.contains("[(\"Quantity\", \"Qty\")]"), "{upgrade}");
    assert_eq!(folder.run::<back::Model>("diff --amend"), 0, "it is a rename still");
}

#[test]
fn a_rename_that_does_not_fit_has_drifted() {
    let folder = Folder::begun();
    let mut project = Project::of(&folder.package, Model::of::<second::Model>().entities).unwrap();
    let was = |is| Renamed { field: "one of two", was: "Qty", is };
    project.entities[0].renamed = vec![was("Quantity"), was("Note")]; // the derive takes no such struct
    let found = check::compare(&project).unwrap().unwrap_err();
    assert!(found[0].contains("`Qty` cannot have been renamed to `Note`"), "{found:?}");
}

#[test]
fn a_refusal_says_why_to_programs_too() {
    let folder = Folder::begun();
    let refused = folder.answer::<none::Model>(&["diff"]).data;
    assert!(
        refused["error"].as_str().unwrap().contains("TM206") && refused["steps"][0]["code"] == "TM206",
        "{refused}"
    );
    folder.edit("tablemodel.lock", "entity Item@1", "plan 0001_lost 00000000000000000000000000000000\n\nentity Item@1");
    let broken = folder.answer::<first::Model>(&["diff"]).data;
    assert!(broken["error"].as_str().unwrap().contains("TM701"), "{broken}");

    let error = <Arguments as clap::Parser>::try_parse_from(["", "--json", "dif"]).unwrap_err();
    let outcome = misread(&error);
    let said = outcome.data["error"].as_str().unwrap();
    assert!(outcome.code == 1 && said.contains("dif") && !said.starts_with("error"), "{said}");
}
