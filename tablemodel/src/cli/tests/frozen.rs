//! A frozen struct is written as Rust, and has the very format that it was made from.

use super::{
    super::{Model, Package, frozen, run, upgrade},
    everything_v1::EverythingV1,
};
use crate::{
    DateTime, Uuid,
    format::{Format, Word},
    prelude::*,
};

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
struct Id(u32);

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart, serde::Serialize, serde::Deserialize)]
enum Grade {
    A,
    B,
}

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
enum Unordered {
    Young,
    Old,
}

#[derive(Debug, Property)]
struct Address {
    city: String,
    zip: Option<String>,
}

#[derive(TableEntity)]
#[expect(
    clippy::duplicated_attributes,
    reason = "two indexes keep only keys, which the lint takes for a repeated attribute"
)]
#[table(name = "Everything", partition = "{tenant}", row = "e_{id:06}_{grade}_{age}", wide, adopt)]
#[table(index(by_email, row = "email_{email}", unique, keep(price, active)))]
#[table(index(anywhere, table = "Anywhere", partition = "{email}", row = "{tenant}_{id}_{grade}_{age}", keys_only, when = !active))]
#[table(index(by_tag, row = "tag_{tags}_{id}_{grade}_{age}", each(tags), keys_only))]
#[table(index(by_mark, row = "mark_{marks}_{id}_{grade}_{age}", each(marks), keep(at)))]
#[table(index(newest, row = "new{{_{at:desc}_{id}_{grade}_{age}", keys_only, when = active))]
#[table(index(remarked, row = "remarked_{id}_{grade}_{age}", keys_only, when = remarks))]
#[table(index(r#match, row = "match_{id}_{grade}_{age}", keys_only))]
#[table(index(r#union, row = "union_{id}_{grade}_{age}", keys_only))]
#[table(list(names, row = "names_{r#type}"))]
#[table(list(r#yield, row = "yield_{r#type}"))]
#[table(list(names_anywhere, partition = "{state}", row = "names"))]
struct Everything {
    tenant: String,
    id: Id,
    grade: Grade,
    age: Unordered,
    state: Grade,
    email: Option<String>,
    r#type: String,
    #[table(rename = "count")]
    number: u128,
    price: f64,
    at: DateTime,
    uuid: Option<Uuid>,
    digest: [u8; 32],
    #[table(chunked)]
    body: Vec<u8>,
    #[table(json)]
    skills: Vec<String>,
    #[table(json)]
    tags: Vec<i16>,
    #[table(json)]
    marks: Vec<Grade>,
    #[table(json)]
    remarks: Option<Vec<String>>,
    r#impl: bool,
    #[table(blob)]
    photo: Option<Blob>,
    #[table(blob, rename = "check_sum")]
    sum: Option<Blob>,
    #[table(flatten)]
    address: Address,
    #[table(flatten)]
    hours: [u32; 3],
    #[table(default)]
    active: bool,
}

#[derive(TableModel)]
enum Before {
    Everything(Everything),
}

mod after {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Everything", partition = "{tenant}", row = "{id}", version = 2)]
    pub(super) struct Everything {
        tenant: String,
        id: u32,
    }

    #[derive(TableModel)]
    pub(super) enum After {
        Everything(Everything),
    }
}

/// What `diff` writes when [`Everything`] becomes another; `TABLEMODEL_OVERWRITE=1` writes the file of this test anew.
fn written() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path: &'static str = folder.path().to_str().expect("a path").to_owned().leak();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").expect("a manifest");
    let package = Package { name: "it", folder: path, model: "it::Before" };
    assert_eq!(run(&package, &[Model::of::<Before>()], ["", "init"]), 0);
    assert_eq!(run(&package, &[Model::of::<after::After>()], ["", "diff", "--allow", "TM205=a test"]), 0);
    let text = std::fs::read_to_string(folder.path().join("tablemodel/frozen/everything_v1.rs"));
    said(&text.expect("the frozen struct"))
}

/// The text, when the user has said that the defaults were those of their types.
fn said(text: &str) -> String {
    let (before, asked) = text.split_once("default = compile_error!(").expect("it is not known");
    format!("{before}default{}", asked.split_once("\")").expect("a text").1)
}

#[test]
fn a_frozen_struct_is_written_as_the_file_beside_this_one() {
    let text = written();
    if std::env::var_os("TABLEMODEL_OVERWRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/tests/everything_v1.rs");
        std::fs::write(path, &text).expect("written");
    }
    assert_eq!(text, include_str!("everything_v1.rs"));
}

#[test]
fn a_frozen_struct_has_the_format_that_it_was_made_from() {
    assert_eq!(Format::of(EverythingV1::SCHEMA), Format::of(Everything::SCHEMA));
}

/// The float that a text means is another one as `f32`, and stands under another key.
#[test]
fn a_frozen_struct_asks_which_floats_an_index_has_a_row_for() {
    #[derive(TableEntity)]
    #[table(name = "Everything", entity_type = "Measured", partition = "{id}", row = "measured")]
    #[table(index(by_size, row = "size_{sizes:sortable}_{id}", each(sizes), keys_only))]
    struct Measured {
        id: u32,
        #[table(json)]
        sizes: Vec<f32>,
    }
    let text = frozen::text(&Format::of(Measured::SCHEMA).expect("a format"), None, &[]);
    let asked = r#"pub sizes: Vec<compile_error!("write here the type of a float in Sizes: f32 or f64")>,"#;
    assert!(text.contains(asked), "{text}");
}

/// What the user would have to look up: a frozen struct has the texts of enums, and JSON as it is.
#[test]
fn an_upgrade_that_is_begun_says_how_enums_and_json_go_along() {
    let old = Format::of(EverythingV1::SCHEMA).expect("a format");
    let text = upgrade::begun(&old, &old, "crate::Everything", &["+ property Note".to_owned()]);
    let told: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("// ")).collect();
    assert_eq!(
        told,
        [
            "Yours to say:",
            "+ property Note",
            "What goes along, where the frozen struct has another type:",
            "age: old.age.read()?",
            "grade: old.grade.read()?",
            "marks: old.marks.iter().map(|text| text.read()).collect::<Result<_, _>>()?",
            "remarks: old.remarks.map(tablemodel::format::read_json).transpose()?",
            "skills: tablemodel::format::read_json(old.skills)?",
            "state: old.state.read()?",
        ]
    );
    assert_eq!(Word::<false>("Old".into()).read::<Unordered>().ok(), Some(Unordered::Old));
    assert!(Word::<true>("Older".into()).read::<Unordered>().is_err());
}
