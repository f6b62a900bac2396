//! Golden rows are read as far as a program reads them: into the struct.

use std::fs;

use serde_json::json;

use super::{Folder, store::within};
use crate::{
    prelude::*,
    store::{Action, Batch},
    testing::{golden_rows, read_golden, upgrade_is_pure},
};

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
pub(super) mod settled {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Others", version = 2, partition = "{id}", row = "t_{p}")]
    pub(in crate::cli::tests) struct Thing {
        pub(super) id: u32,
        pub(super) p: String,
    }

    #[derive(TableModel)]
    pub(in crate::cli::tests) enum Model {
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

/// A note whose body is a blob.
mod noted {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Notes", entity_type = "Note", partition = "{p}", row = "{id}")]
    pub(super) struct NoteV1 {
        pub(super) p: String,
        pub(super) id: u32,
        #[table(blob)]
        pub(super) body: Blob,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(NoteV1),
    }

    pub(super) fn note(id: u32, bytes: usize) -> NoteV1 {
        NoteV1 { p: "a".into(), id, body: Blob::from(vec![7; bytes]) }
    }
}

/// The same, of which the next release looks into the blob.
mod looked_into {
    use super::noted::NoteV1;
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, PartialEq, TableEntity)]
    #[table(name = "Notes", version = 2, previous = NoteV1, partition = "{p}", row = "{id}")]
    pub(super) struct Note {
        pub(super) p: String,
        pub(super) id: u32,
        pub(super) body: Vec<u8>,
    }

    impl Upgrade<NoteV1> for Note {
        fn upgrade(NoteV1 { p, id, body }: NoteV1) -> Result<Self, UpgradeError> {
            Ok(Self { p, id, body: body.content()?.to_vec() })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
    }
}

#[test]
fn rows_whose_upgrade_asks_for_what_they_link_are_told_apart_and_are_no_drift() {
    let folder = Folder::new();
    let path = folder.path("notes.tablemodel");
    within(async {
        let db = Database::open::<noted::Model>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&noted::note(1, 9_000)).await.unwrap();
        db.insert(&noted::note(2, 3)).await.unwrap(); // in the row
        db.close().await.unwrap();
    });
    assert_eq!(folder.run::<looked_into::Model>("init"), 0);
    let taken = folder.answer::<noted::Model>(&["golden", "--store", path.to_str().unwrap()]);
    assert_eq!(taken.code, 0, "{:?}", taken.lines);

    let checked = folder.answer::<looked_into::Model>(&["check"]);
    let one = json!({ "Note@1": 1 });
    let told = (checked.code, &checked.data["golden"], &checked.data["unchecked"], &checked.data["passed_over"]);
    assert_eq!(told, (0, &one, &one, &json!({})), "{:?}", checked.lines);
    let line =
        "golden rows not checked, since their upgrade asks for the content of a blob that they link: 1 of Note@1";
    assert!(checked.lines[0].contains(line), "{:?}", checked.lines);
}

#[test]
fn golden_rows_hold_the_contents_that_an_upgrade_asks_for_and_rows_of_a_store_do_not() {
    let made = golden_rows(&[noted::note(1, 70_000), noted::note(2, 3)]).unwrap();
    upgrade_is_pure::<noted::NoteV1, looked_into::Note>(&made);
    let note = |id, bytes| looked_into::Note { p: "a".into(), id, body: vec![7; bytes] };
    assert_eq!(read_golden::<looked_into::Note>(&made).unwrap(), [note(1, 70_000), note(2, 3)]);
    assert_eq!(read_golden::<noted::NoteV1>(&made).unwrap()[0].body, noted::note(1, 70_000).body);

    let linked = r#"{"odata.table":"Notes","PartitionKey":"a","RowKey":"0000000003","EntityType":"Note@1","Body":"notes/x",
        "Body_length@odata.type":"Edm.Int64","Body_length":"9000","Body_sum@odata.type":"Edm.Int64","Body_sum":"1"}"#;
    let linked = linked.replace('\n', "");
    let error = read_golden::<looked_into::Note>(&linked).unwrap_err().to_string();
    assert!(error.contains("blob `notes/x`") && error.contains("those of `golden_rows` do"), "{error}");
    upgrade_is_pure::<noted::NoteV1, looked_into::Note>(&format!("{linked}\n{made}"));
    let alone = std::panic::catch_unwind(|| upgrade_is_pure::<noted::NoteV1, looked_into::Note>(&linked));
    let told = alone.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("every golden row of `Note@1` links a blob"), "{told}");
    assert_eq!(read_golden::<noted::NoteV1>(&linked).unwrap()[0].body.length(), Some(9_000));

    let stream = Blob::from_stream::<_, Vec<u8>, std::io::Error>(futures_util::stream::empty());
    let error = golden_rows(&[noted::NoteV1 { body: stream, ..noted::note(4, 0) }]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
}

/// A note of several rows, and the next release, which looks into its blob.
mod paged {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Notes", entity_type = "Note", partition = "{p}", row = "{id}")]
    pub(super) struct NoteV1 {
        pub(super) p: String,
        pub(super) id: u32,
        #[table(blob)]
        pub(super) body: Blob,
        #[table(chunked)]
        pub(super) text: String,
    }

    #[derive(Debug, PartialEq, TableEntity)]
    #[table(name = "Notes", version = 2, previous = NoteV1, partition = "{p}", row = "{id}")]
    pub(super) struct Note {
        pub(super) p: String,
        pub(super) id: u32,
        pub(super) body: Vec<u8>,
        #[table(chunked)]
        pub(super) text: String,
    }

    impl Upgrade<NoteV1> for Note {
        fn upgrade(NoteV1 { p, id, body, text }: NoteV1) -> Result<Self, UpgradeError> {
            Ok(Self { p, id, body: body.content()?.to_vec(), text })
        }
    }
}

#[test]
fn golden_rows_of_an_entity_of_several_rows_hold_long_contents_too() {
    // In one property, in none, and in no row.
    for (bytes, chars) in [(9_000, 3), (70_000, 3), (70_000, 700_000), (1_200_000, 700_000)] {
        let (body, text) = (vec![7_u8; bytes], "é".repeat(chars));
        let note = paged::NoteV1 { p: "a".into(), id: 1, body: Blob::from(body.clone()), text: text.clone() };
        let made = golden_rows(std::slice::from_ref(&note)).unwrap_or_else(|error| panic!("{bytes}: {error}"));
        assert_eq!(made.lines().count() > 1, chars > 3, "{bytes}: the text has parts of its own");
        upgrade_is_pure::<paged::NoteV1, paged::Note>(&made);
        assert!(read_golden::<paged::NoteV1>(&made).unwrap()[0].body == note.body, "{bytes}");
        let read = read_golden::<paged::Note>(&made).unwrap();
        assert!(read == [paged::Note { p: "a".into(), id: 1, body, text }], "{bytes}");
    }
}

/// A table that another program has filled.
mod adopted {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Legacy", entity_type = "Customer", adopt, frozen, partition = "{region}", row = "c_{id:04}")]
    pub(super) struct CustomerV1 {
        region: String,
        id: u32,
        name: String,
    }

    #[derive(Debug, PartialEq, TableEntity)]
    #[table(name = "Legacy", version = 2, adopt, previous = CustomerV1, partition = "{region}", row = "c_{id:04}")]
    pub(super) struct Customer {
        pub(super) region: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) note: Option<String>,
    }

    impl Upgrade<CustomerV1> for Customer {
        fn upgrade(CustomerV1 { region, id, name }: CustomerV1) -> Result<Self, UpgradeError> {
            Ok(Self { region, id, name, note: None })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Legacy {
        Customer(Customer),
    }
}

#[test]
fn rows_of_another_program_in_an_adopted_table_are_golden_rows_of_the_first_version() {
    let folder = Folder::new();
    let path = folder.path("legacy.tablemodel");
    let customer = |id, name: &str| adopted::Customer { region: "eu".into(), id, name: name.into(), note: None };
    within(async {
        let db = Database::open::<adopted::Legacy>(&path).await.unwrap();
        db.ensure_tables().await.unwrap();
        let theirs = |name: &str| Action::Insert([("Name", name)].into_iter().collect());
        let batch = Batch::new("Legacy", "eu").with("c_0001", theirs("Ada")).with("fax_1", theirs("nobody's"));
        db.store().commit(&[batch]).await.unwrap();
        db.insert(&customer(2, "Bea")).await.unwrap();
        db.close().await.unwrap();
    });
    assert_eq!(folder.run::<adopted::Legacy>("init"), 0);
    let taken = folder.answer::<adopted::Legacy>(&["golden", "--store", path.to_str().unwrap()]);
    assert_eq!((taken.code, taken.lines.len()), (0, 2), "{:?}", taken.lines);

    let rows = folder.read("tablemodel/golden/customer_v1.jsonl");
    assert!(rows.lines().count() == 1 && !rows.contains("EntityType"), "{rows}");
    upgrade_is_pure::<adopted::CustomerV1, adopted::Customer>(&rows);
    assert_eq!(read_golden::<adopted::Customer>(&rows).unwrap(), [customer(1, "Ada")]);
    let checked = folder.answer::<adopted::Legacy>(&["check"]);
    let both = json!({ "Customer@1": 1, "Customer@2": 1 });
    assert_eq!((checked.code, &checked.data["golden"]), (0, &both), "{:?}", checked.lines);
    assert!(checked.lines[0].contains("golden rows read: 1 of Customer@1, 1 of Customer@2"), "{:?}", checked.lines);
}
