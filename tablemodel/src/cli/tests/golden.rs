//! Golden rows are read as far as a program reads them: into the struct.

use std::fs;

use serde_json::json;

use super::Folder;
use crate::testing::golden_rows;

/// A release whose tags are of this type, and whose grade is one of these.
macro_rules! release {
    ($name:ident, $tag:ty, $($grade:ident),+) => {
        mod $name {
            use crate::prelude::*;

            #[derive(Property)]
            pub(super) enum Grade {
                $($grade),+
            }

            #[derive(TableEntity)]
            #[table(name = "Things", entity_type = "Thing", partition = "{p}", row = "{id}")]
            pub(super) struct Thing {
                pub(super) p: String,
                pub(super) id: u32,
                #[table(json)]
                pub(super) tags: Vec<$tag>,
                pub(super) grade: Grade,
            }

            #[derive(TableModel)]
            pub(super) enum Model {
                Thing(Thing),
            }
        }
    };
}

release!(then, String, A, B);
release!(more, String, A, B, C);
release!(fewer, String, B);
release!(others, u32, A, B);

#[test]
fn a_shape_that_no_constant_shows_is_found_by_a_golden_row() {
    let folder = Folder::new();
    assert_eq!(folder.run::<then::Model>("init"), 0);
    let thing = then::Thing { p: "a".into(), id: 1, tags: vec!["red".into()], grade: then::Grade::A };
    let unused = then::Thing { p: "a".into(), id: 2, tags: Vec::new(), grade: then::Grade::B };
    let golden = golden_rows(&[thing, unused]).unwrap();
    fs::create_dir_all(folder.path("tablemodel/golden")).unwrap();
    fs::write(folder.path("tablemodel/golden/thing_v1.jsonl"), golden).unwrap();

    assert_eq!(folder.answer::<then::Model>(&["check"]).data["golden"]["Thing@1"], 2);
    assert_eq!(folder.run::<more::Model>("check"), 0);
    let told = |outcome: crate::cli::outcome::Outcome| {
        assert_eq!(outcome.code, 2);
        outcome.lines.join("\n")
    };
    let fewer = told(folder.answer::<fewer::Model>(&["check"]));
    assert!(fewer.contains("golden/thing_v1.jsonl") && fewer.contains("Grade"), "{fewer}");
    let others = told(folder.answer::<others::Model>(&["check"]));
    assert!(others.contains("golden/thing_v1.jsonl") && others.contains("Tags"), "{others}");
}

#[test]
fn a_folder_that_cannot_be_listed_is_not_an_empty_one() {
    for name in ["tablemodel/golden", "tablemodel/migrations"] {
        let folder = Folder::new();
        assert_eq!(folder.run::<then::Model>("init"), 0);
        let path = folder.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "no folder").unwrap();
        let outcome = folder.answer::<then::Model>(&["check"]);
        assert_eq!(outcome.code, 1, "{name}: {outcome:?}");
        assert!(outcome.lines.join("\n").contains("cannot list"), "{name}: {outcome:?}");
    }
}

/// A thing that moves to other keys; one of them cannot.
pub(super) mod moved {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
    pub(in crate::cli::tests) struct ThingV1 {
        pub(in crate::cli::tests) p: String,
        pub(in crate::cli::tests) id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Others", version = 2, moved_from = ThingV1, partition = "{id}", row = "t_{p}")]
    pub(in crate::cli::tests) struct Thing {
        id: u32,
        p: String,
    }

    impl Upgrade<ThingV1> for Thing {
        fn upgrade(ThingV1 { p, id }: ThingV1) -> Result<Self, UpgradeError> {
            if id == 9 { Err(UpgradeError::new("nobody wants it")) } else { Ok(Self { id, p }) }
        }
    }

    #[derive(TableModel)]
    pub(in crate::cli::tests) enum Model {
        Thing(Thing),
    }
}

/// A later release, which needs the old form no more.
mod settled {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Others", version = 2, partition = "{id}", row = "t_{p}")]
    pub(super) struct Thing {
        pub(super) id: u32,
        pub(super) p: String,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Thing(Thing),
    }
}

#[test]
fn golden_rows_of_the_form_that_an_entity_moves_from_are_read_and_passed_over_once_nothing_names_it() {
    let folder = Folder::new();
    assert_eq!(folder.run::<moved::Model>("init"), 0);
    let write = |name: &str, rows: String| fs::write(folder.path("tablemodel/golden").join(name), rows).unwrap();
    let old = |id| moved::ThingV1 { p: "a".into(), id };
    fs::create_dir_all(folder.path("tablemodel/golden")).unwrap();
    write("thing_v1.jsonl", golden_rows(&[old(1), old(2)]).unwrap());
    write("thing_v2.jsonl", golden_rows(&[settled::Thing { id: 3, p: "a".into() }]).unwrap());

    let checked = folder.answer::<moved::Model>(&["check"]);
    let both = json!({ "Thing@1": 2, "Thing@2": 1 });
    assert_eq!((checked.code, &checked.data["golden"], &checked.data["passed_over"]), (0, &both, &json!({})));
    let checked = folder.answer::<settled::Model>(&["check"]);
    assert_eq!((checked.code, &checked.data["golden"]), (0, &json!({ "Thing@2": 1 })), "{:?}", checked.lines);
    assert_eq!(checked.data["passed_over"], json!({ "Thing@1": 2 }));
    assert!(checked.lines[0].contains("does not name any more: 2 of Thing@1"), "{:?}", checked.lines);

    write("thing_v1.jsonl", golden_rows(&[old(9)]).unwrap());
    let checked = folder.answer::<moved::Model>(&["check"]);
    assert!(checked.code == 2 && checked.lines[0].contains("nobody wants it"), "{:?}", checked.lines);
}
