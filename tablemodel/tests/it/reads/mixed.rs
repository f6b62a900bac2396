//! Several types in one key range: a query gives its own type only, and a query over the model gives each as itself.

use futures_util::{StreamExt, TryStreamExt};
use tablemodel::{
    ErrorKind, Properties,
    prelude::*,
    store::{Action, Batch},
    testing::TestDatabase,
};

use super::fixture::{Paging, plain};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", entity_type = "Employee", partition = "{department}", row = "empid_{id:06}", allow_scan)]
#[table(index(by_name, row = "name_{name}_{id:06}"))]
pub(super) struct Employee {
    department: String,
    id: u32,
    pub(super) name: String,
}

/// Between two employees lie their reviews.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", entity_type = "EmployeeReview", version = 10)]
#[table(partition = "{department}", row = "empid_{id:06}_{year:04}", allow_scan)]
pub(super) struct Review {
    department: String,
    id: u32,
    pub(super) year: u16,
}

#[derive(Debug, PartialEq, TableModel)]
pub(super) enum Company {
    Employee(Employee),
    Review(Review),
    #[table(other)]
    Other(Row),
}

#[derive(Debug, TableModel)]
pub(super) enum Closed {
    Employee(Employee),
    Review(Review),
}

pub(super) fn employee(id: u32) -> Employee {
    Employee { department: "Sales".into(), id, name: format!("n{id}") }
}

async fn plant(db: &TestDatabase, row: &str, entity_type: Option<&str>) {
    let mut properties = Properties::new();
    if let Some(entity_type) = entity_type {
        properties.insert("EntityType", entity_type);
    }
    properties.insert("Name", "planted");
    let batch = Batch::new("Company", "Sales").with(row, Action::Insert(properties));
    db.store().commit(&[batch]).await.unwrap();
}

/// Three employees, two reviews of each, and rows of others at keys within theirs.
pub(super) async fn company() -> TestDatabase {
    let db = TestDatabase::new::<Company>().await.unwrap();
    for id in [1, 2, 3] {
        db.insert(&employee(id)).await.unwrap();
        for year in [2012, 2013] {
            db.insert(&Review { department: "Sales".into(), id, year }).await.unwrap();
        }
    }
    plant(&db, "empid_000001x", Some("Employe@1")).await;
    plant(&db, "empid_000001y", Some("EmployeeA@1")).await;
    plant(&db, "empid_000002x", None).await;
    plant(&db, "empid_000007", Some("Employee.~dead@1")).await;
    plant(&db, "empid_000008", Some("Employee")).await;
    db
}

#[tokio::test]
async fn rows_of_other_types_in_the_range_do_not_come_and_do_not_count() {
    let db = company().await;
    let expected = vec![employee(1), employee(2), employee(3)];
    assert_gives!(&db, Employee::find().department("Sales"), expected.clone());
    assert_gives!(&db, Employee::find().department("Sales").id_between(1..9), expected.clone());
    assert_eq!(plain(Employee::scan_partition("Sales").all(&db).await.unwrap()), expected);
    assert_eq!(plain(Employee::scan_table().first(2, &db).await.unwrap()), expected[..2]);
    assert_eq!(Review::find().department("Sales").id(2).count(&db).await.unwrap(), 2);
    assert!(!Employee::find().department("Sales").id(7).exists(&db).await.unwrap(), "a tombstone is no entity");
    assert!(Employee::find().department("Sales").id(8).one(&db).await.unwrap().is_none(), "no type of ours");
}

#[tokio::test]
async fn one_type_whose_name_begins_anothers_and_versions_one_and_ten_stay_apart() {
    let db = TestDatabase::new::<Prefixes>().await.unwrap();
    for id in 0..3 {
        db.insert(&A { part: "p".into(), id }).await.unwrap();
        db.insert(&Ab { part: "p".into(), id }).await.unwrap();
    }
    assert_eq!(A::find().part("p").count(&db).await.unwrap(), 3);
    assert_eq!(Ab::find().part("p").count(&db).await.unwrap(), 3);
    assert_eq!(A::scan_partition("p").all(&db).await.unwrap().len(), 3);
    assert_eq!(Ab::scan_partition("p").all(&db).await.unwrap().len(), 3);
    // A row of version 10 is of the same type, and never taken for version 1.
    let mut properties = Properties::new();
    properties.insert("EntityType", "A@10");
    let batch = Batch::new("Prefixes", "p").with("a_000009", Action::Insert(properties));
    db.store().commit(&[batch]).await.unwrap();
    for error in [
        A::find().part("p").all(&db).await.unwrap_err(),
        A::find().part("p").id(9).one(&db).await.unwrap_err(),
        A::find().part("p").select::<Id>().all(&db).await.unwrap_err(),
        A::scan_partition("p").all(&db).await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::UnknownVersion, Some("A")));
        assert!(error.key().is_some() && error.to_string().contains("version 10"), "{error}");
    }
    assert!(A::find().part("p").id(9).exists(&db).await.unwrap());
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Prefixes", entity_type = "A", partition = "{part}", row = "a_{id:06}", allow_scan)]
struct A {
    part: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Prefixes", entity_type = "AB", version = 10, partition = "{part}", row = "a_{id:06}_b", allow_scan)]
struct Ab {
    part: String,
    id: u32,
}

#[derive(Debug, Projection)]
#[table(of = A)]
struct Id {
    #[expect(dead_code, reason = "only its errors are looked at")]
    id: u32,
}

#[derive(TableModel)]
enum Prefixes {
    A(A),
    Ab(Ab),
}

#[tokio::test]
async fn a_query_over_the_model_gives_each_row_as_its_type_in_key_order() {
    let db = company().await;
    for paging in [Paging::AsAsked, Paging::OneByOne, Paging::TwoByTwo] {
        paging.apply(&db);
        let rows = Company::rows(Employee::in_partition("Sales")).all(&db).await.unwrap();
        let streamed: Vec<_> = Company::rows(Employee::in_partition("Sales")).stream(&db).try_collect().await.unwrap();
        assert_eq!(streamed, rows);
        let told = rows.iter().map(|row| match row {
            Company::Employee(employee) => format!("employee {}", employee.id),
            Company::Review(review) => format!("review {} {}", review.id, review.year),
            Company::Other(row) => format!("other {}", row.key.row),
        });
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                "employee 1",
                "review 1 2012",
                "review 1 2013",
                "other empid_000001x",
                "other empid_000001y",
                "employee 2",
                "review 2 2012",
                "review 2 2013",
                "other empid_000002x",
                "employee 3",
                "review 3 2012",
                "review 3 2013",
                "other empid_000008",
            ],
            "derived rows and tombstones are left out"
        );
        let some = Company::rows(Employee::in_partition("Sales")).row_starts_with("empid_000002").all(&db).await;
        assert_eq!(some.unwrap().len(), 4);
        let range = "empid_000002".to_owned().."empid_000003".to_owned();
        let some = || Company::rows(Employee::in_partition("Sales")).row_between(range.clone());
        assert_eq!(some().all(&db).await.unwrap().len(), 4);
        // Each condition is one more.
        let more = [(some().row_starts_with("empid_000002x"), 1), (some().row_starts_with("empid_000003"), 0)];
        for (rows, count) in more {
            assert_eq!(rows.all(&db).await.unwrap().len(), count);
        }
        let others = some().row_between("empid_".to_owned()..).row_between(.."empid_000002x".to_owned());
        assert_eq!(others.all(&db).await.unwrap().len(), 3);
        assert_eq!(some().row_between(..="empid_000002x".to_owned()).all(&db).await.unwrap().len(), 4);
    }
}

#[tokio::test]
async fn an_unknown_row_survives_as_it_is_and_is_an_error_where_the_model_has_no_place_for_it() {
    let db = company().await;
    let rows = Company::rows(Employee::in_partition("Sales")).row_starts_with("empid_000001y").all(&db).await.unwrap();
    let [Company::Other(row)] = rows.as_slice() else { panic!("one other row") };
    assert_eq!(row.properties.get("Name"), Some(tablemodel::ValueRef::String("planted")));
    let streamed: Vec<_> = Closed::rows(Employee::in_partition("Sales")).stream(&db).collect().await;
    assert_eq!(streamed.len(), 1, "it ends with the error: {streamed:?}");
    let error = Closed::rows(Employee::in_partition("Sales")).all(&db).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.key().map(|key| key.row.as_str()), Some("empid_000001x"));
    assert!(error.to_string().contains("Employe@1") && error.to_string().contains("#[table(other)]"), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Spaced", partition = "{team}", row = "{name:raw}")]
struct Spaced {
    team: String,
    name: String,
}

#[derive(TableModel)]
enum Spaces {
    Spaced(Spaced),
}

/// A key may go on behind another one with a space, as those of parts do.
#[tokio::test]
async fn rows_between_two_keys_are_those_alone() {
    let db = tablemodel::testing::TestDatabase::new::<Spaces>().await.unwrap();
    for name in ["Jones", "Jones Jr", "Smith"] {
        db.insert(&Spaced { team: "t".into(), name: name.into() }).await.unwrap();
    }
    let names = async |range: (std::ops::Bound<&str>, std::ops::Bound<&str>)| {
        let range = (range.0.map(str::to_owned), range.1.map(str::to_owned));
        let found = Spaces::rows(Spaced::in_partition("t")).row_between(range).all(&db).await.unwrap();
        found.into_iter().map(|Spaces::Spaced(found)| found.name.clone()).collect::<Vec<_>>()
    };
    use std::ops::Bound::{Excluded, Included, Unbounded};
    assert_eq!(names((Unbounded, Included("Jones"))).await, ["Jones"]);
    assert_eq!(names((Excluded("Jones"), Unbounded)).await, ["Jones Jr", "Smith"]);
    assert_eq!(names((Included("Jones"), Excluded("Smith"))).await, ["Jones", "Jones Jr"]);
}
