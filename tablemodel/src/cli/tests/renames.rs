//! Names that were others: on a field the program says so itself; a stored name of an entity does not change.

use super::{Folder, first, none};

/// A second release that says what a property was called, in version `$version`.
macro_rules! release {
    ($name:ident, $version:literal, $was:literal) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", crate = "crate")]
            #[table(index(by_name, row = "name_{name}_{id:06}", keys_only), version = $version)]
            pub(super) struct Item {
                shelf: String,
                id: u32,
                name: String,
                #[table(was = $was)]
                quantity: u32,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Item(Item),
            }
        }
    };
}

release!(changed, 1, "Qty");
release!(planned, 2, "Qty");
release!(misspelt, 1, "Qtty");
release!(taken, 1, "Nam");

#[test]
fn a_field_that_says_what_it_was_needs_neither_a_flag_nor_an_answer() {
    let folder = Folder::begun();
    let outcome = folder.answer::<changed::Model>(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.lines.iter().any(|line| line.contains("TM104")), "{:?}", outcome.lines);
    assert_eq!(folder.run::<changed::Model>("diff --name quantity"), 0);
    let plan = folder.read("tablemodel/migrations/0001_quantity.toml");
    assert!(plan.contains("property Qty -> Quantity") && !plan.contains("TM103") && !plan.contains("TM102"), "{plan}");
    let upgrade = folder.read("tablemodel/frozen/item_v1_upgrade.rs");
    assert!(upgrade.contains("[(\"Qty\", \"Quantity\")]"), "{upgrade}");
    // It may stay once the change is planned, and says nothing any more.
    assert_eq!(folder.run::<planned::Model>("check"), 0);
    assert_eq!(folder.run::<planned::Model>("diff"), 0);
    assert_eq!(folder.read("tablemodel/migrations/0001_quantity.toml"), plan);
    assert!(!folder.path("tablemodel/migrations/0002_change.toml").exists());
}

/// A release whose index and list are of a property of this name, which may say what it was, beside these.
macro_rules! mailed {
    ($name:ident, $mail:ident $(was $was:literal)?, $row:literal, $list:literal $(, $more:ident)*) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id:06}", crate = "crate")]
            #[table(index(by_mail, row = $row), index(by_shelf, row = "shelf_{shelf}_{id:06}"), list(mails, row = $list))]
            pub(super) struct Item {
                shelf: String,
                id: u32,
                $(#[table(was = $was)])?
                $mail: String,
                $($more: Option<String>),*
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Item(Item),
            }
        }
    };
}

mailed!(mail, mail, "mail_{mail}_{id:06}", "mails_{mail}");
mailed!(email, email, "mail_{email}_{id:06}", "mails_{email}", phone);
mailed!(said, email was "Mail", "mail_{email}_{id:06}", "mails_{email}", phone);

#[test]
fn a_rename_that_an_index_is_made_of_is_to_be_written_on_the_field() {
    let begun = || {
        let folder = Folder::new();
        assert_eq!(folder.run::<mail::Model>("init"), 0);
        folder
    };
    let told = begun().answer::<email::Model>(&["diff", "--rename", "Mail=Email"]).lines.join("\n");
    assert!(told.contains("next: write `was = \"Mail\"` on `") && told.contains("::email::Item::email`"), "{told}");
    assert!(told.contains("rows of version 1 ") && told.contains("without it `by_mail`, `mails` may be"), "{told}");
    let outcome = begun().answer::<said::Model>(&["diff"]);
    assert!(outcome.code == 0 && !outcome.lines.iter().any(|line| line.contains("was =")), "{:?}", outcome.lines);
    let other = Folder::begun().answer::<super::second::Model>(&["diff", "--rename", "Qty=Quantity"]);
    assert!(other.code == 0 && !other.lines.iter().any(|line| line.contains("was =")), "{:?}", other.lines);
}

#[test]
fn a_flag_may_say_the_same_once_more_and_nothing_else() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<changed::Model>("diff --rename Name=Quantity"), 1);
    assert_eq!(folder.run::<changed::Model>("diff --rename Item.Qty=Quantity"), 0);
}

#[test]
fn a_name_that_no_locked_version_has_is_an_error_that_names_those_there_are() {
    let folder = Folder::begun();
    let before = folder.files();
    let told = folder.answer::<misspelt::Model>(&["diff"]);
    assert_eq!(told.code, 1);
    let told = told.lines.join("\n");
    for words in ["`was = \"Qtty\"`", "Item::quantity`", "(Id, Name, Qty, Shelf)", "take `was` away"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(folder.run::<misspelt::Model>("check"), 2);
    assert_eq!(folder.run::<taken::Model>("diff"), 1);
    assert_eq!(folder.files(), before);
    let folder = Folder::new();
    assert_eq!(folder.run::<none::Model>("init"), 0);
    assert_eq!(
        folder.run::<changed::Model>("diff --allow TM206=it_is_another"),
        1,
        "an entity that is new was nothing"
    );
}

#[test]
fn an_entity_keeps_its_stored_name_and_the_struct_to_write_it_on_is_named() {
    let folder = Folder::begun();
    let before = folder.files();
    let refused = folder.answer::<none::Model>(&["diff", "--rename", "Item=Thing"]);
    assert_eq!(refused.code, 2);
    let told = refused.lines.join("\n");
    assert!(told.contains("TM201") && told.contains("write `entity_type = \"Item\"` on `"), "{told}");
    assert!(told.contains("none::Thing`"), "{told}");
    assert_eq!(folder.files(), before);
    let gone = folder.answer::<none::Model>(&["diff"]).lines.join("\n");
    assert!(gone.contains("was the struct renamed?"), "{gone}");
    assert_eq!(folder.run::<first::Model>("check"), 0);
}

/// Two entities, and a member of one of them by the name of its property: `Department` or `Team`.
macro_rules! staffed {
    ($name:ident, $of:ident) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Departments", partition = "{name}", row = "department", crate = "crate")]
            pub(super) struct Department {
                name: String,
            }

            #[derive(TableEntity)]
            #[table(name = "Teams", partition = "{name}", row = "team", crate = "crate")]
            pub(super) struct Team {
                name: String,
            }

            #[derive(TableEntity)]
            #[table(name = "Members", partition = "{id}", row = "member", crate = "crate")]
            pub(super) struct Member {
                id: u32,
                $of: String,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Department(Department),
                Team(Team),
                Member(Member),
            }
        }
    };
}

staffed!(in_departments, department);
staffed!(in_teams, team);

#[test]
fn a_property_that_is_called_as_an_entity_is_renamed_as_any_other() {
    for rename in ["Department=Team", "Member.Department=Team"] {
        let folder = Folder::new();
        assert_eq!(folder.run::<in_departments::Model>("init"), 0);
        let outcome = folder.answer::<in_teams::Model>(&["diff", "--rename", rename]);
        assert_eq!(outcome.code, 0, "{rename}: {:?}", outcome.lines);
        let plan = folder.read("tablemodel/migrations/0001_change.toml");
        assert!(plan.contains("property Department -> Team"), "{rename}: {plan}");
    }
}
