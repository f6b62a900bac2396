//! Golden rows are read as far as a program reads them: into the struct.

use std::fs;

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
