//! Golden rows: text beside the program that every later version must be able to read.

use tablemodel::{
    ErrorKind, TableEntity,
    testing::{golden_rows, read_golden, upgrade_is_pure},
};

use super::{person, programs, v1, v2, v3};

/// As it was written when version 1 was frozen.
const V1: &str = include_str!("employee_v1.jsonl");

#[test]
fn golden_rows_of_each_frozen_version_are_read_by_every_later_one() {
    assert_eq!(golden_rows(&[person(1).v1(), person(2).v1()]).unwrap(), V1);
    assert_eq!(read_golden::<v1::Employee>(V1).unwrap(), [person(1).v1(), person(2).v1()]);
    assert_eq!(read_golden::<v2::Employee>(V1).unwrap(), [person(1).v2(), person(2).v2()]);
    assert_eq!(read_golden::<v3::Employee>(V1).unwrap(), [person(1).v3(), person(2).v3()]);
}

#[test]
fn upgrades_of_golden_rows_are_pure() {
    upgrade_is_pure::<v1::Employee, v2::Employee>(V1);
    upgrade_is_pure::<v2::Employee, v3::Employee>(&golden_rows(&[person(1).v2()]).unwrap());
}

#[tokio::test]
async fn an_export_is_a_file_of_golden_rows() {
    let all = programs(tablemodel::Consistency::Azure).await;
    all.v1.insert(&person(1).v1()).await.unwrap();
    let mut exported = Vec::new();
    all.v1.export(&mut exported).await.unwrap();
    let exported = String::from_utf8(exported).unwrap();
    assert_eq!(read_golden::<v3::Employee>(&exported).unwrap(), [person(1).v3()]);
}

#[test]
fn what_is_no_golden_row_is_told_by_its_line() {
    let error = read_golden::<v3::Employee>("\n{\"odata.table\":1}").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("line 2"), "{error}");
    let newer = V1.replace("Employee@1", "Employee@9");
    assert_eq!(*read_golden::<v3::Employee>(&newer).unwrap_err().kind(), ErrorKind::UnknownVersion);
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Shelves", wide, partition = "{room}", row = "{id}")]
struct Shelf {
    room: String,
    id: u32,
    #[table(part = "books")]
    books: Option<u32>,
}

#[test]
fn parts_of_entities_with_one_row_key_are_told_apart_by_their_partitions() {
    let shelf = |room: &str, books| Shelf { room: room.to_owned(), id: 1, books };
    let shelves = [shelf("a", Some(1)), shelf("b", Some(2)), shelf("c", None)];
    assert_eq!(read_golden::<Shelf>(&golden_rows(&shelves).unwrap()).unwrap(), shelves);
}
