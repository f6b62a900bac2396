//! Rows of several types from the beginning, in pages, and counted: what `all` gives, cut.

use std::fmt::Debug;

use tablemodel::{
    Cursor, ErrorKind, ModelRows, Properties,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{
    fixture::PAGINGS,
    mixed::{Closed, Company, Employee, Review, company, employee},
};
use crate::wide;

async fn walk<M: TableModel>(db: &TestDatabase, rows: &impl Fn() -> ModelRows<M>, n: usize) -> Vec<M> {
    let (mut walked, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let page = rows().page(n, cursor.as_ref(), db).await.unwrap();
        assert!(page.items.len() <= n);
        assert!(page.cursor.is_none() || page.items.len() == n, "a page of {n} is not full");
        walked.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            return walked;
        }
    }
}

/// Asserts that beginnings, counts and pages of every size are cut from what `all` gives; gives their number.
async fn assert_cut<M: TableModel + PartialEq + Debug>(db: &TestDatabase, rows: impl Fn() -> ModelRows<M>) -> usize {
    let mut count = 0;
    for paging in PAGINGS {
        paging.apply(db);
        let all = rows().all(db).await.unwrap();
        count = all.len();
        assert_eq!(rows().count(db).await.unwrap(), count as u64, "{paging:?}");
        for n in [0, 1, 2, count, count + 1] {
            assert_eq!(rows().first(n, db).await.unwrap(), all[..n.min(count)], "first {n}, {paging:?}");
        }
        for n in [1, 2, 3, 1_000] {
            assert_eq!(walk(db, &rows, n).await, all, "pages of {n}, {paging:?}");
        }
    }
    count
}

fn sales() -> ModelRows<Company> {
    Company::rows(Employee::in_partition("Sales"))
}

/// What the rows are, each in a word.
fn told(rows: &[Company]) -> Vec<String> {
    let told = rows.iter().map(|row| match row {
        Company::Employee(employee) => employee.name.clone(),
        Company::Review(review) => review.year.to_string(),
        Company::Other(row) => row.key.row.clone(),
    });
    told.collect()
}

#[tokio::test]
async fn beginnings_pages_and_counts_are_cut_from_all_rows() {
    let db = company().await;
    assert_eq!(assert_cut(&db, sales).await, 13);
    assert_eq!(assert_cut(&db, || sales().row_starts_with("empid_000002")).await, 4);
    assert_eq!(assert_cut(&db, || sales().row_starts_with("name_")).await, 0, "rows of an index alone");
    let between = || sales().row_between("empid_000001x".to_owned()..="empid_000003".to_owned());
    assert_eq!(assert_cut(&db, between).await, 7);
    assert_eq!(assert_cut(&db, || Company::rows(Employee::in_partition("Legal"))).await, 0);
}

#[tokio::test]
async fn a_page_ends_where_the_next_begins_and_costs_no_request_more() {
    let db = company().await;
    db.forget_calls();
    let page = sales().page(4, None, &db).await.unwrap();
    assert_eq!(told(&page.items), ["n1", "2012", "2013", "empid_000001x"]);
    assert_eq!((db.calls().len(), db.tally().rows_read), (1, 5));
    db.forget_calls();
    let page = sales().page(4, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!(told(&page.items), ["empid_000001y", "n2", "2012", "2013"]);
    assert_eq!((db.calls().len(), db.tally().rows_read), (1, 5));
    db.forget_calls();
    assert_eq!(sales().first(0, &db).await.unwrap(), []);
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn rows_that_are_left_out_are_no_reason_for_a_cursor() {
    let db = company().await;
    let most = sales().page(12, None, &db).await.unwrap();
    let last = sales().page(1, most.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((told(&last.items), last.cursor), (vec!["empid_000008".to_owned()], None), "index rows stand behind it");
    let all = sales().page(13, None, &db).await.unwrap();
    assert_eq!((all.items.len(), all.cursor), (13, None));
}

#[tokio::test]
async fn a_cursor_goes_on_behind_the_row_it_names_whatever_happens_to_the_rows() {
    let db = company().await;
    let page = sales().page(4, None, &db).await.unwrap();
    let cursor = Cursor::from(page.cursor.unwrap().as_str());
    let gone = Batch::new("Company", "Sales").with("empid_000001x", Action::Delete(Condition::Exists));
    db.store().commit(&[gone]).await.unwrap();
    let first = Employee::find().department("Sales").id(1).one(&db).await.unwrap().unwrap();
    db.delete(first).await.unwrap();
    db.insert(&employee(0)).await.unwrap();
    db.insert(&employee(4)).await.unwrap();
    let reopened = db.reopen::<Company>().await.unwrap();
    let next = sales().page(20, Some(&cursor), &reopened).await.unwrap();
    let expected = ["empid_000001y", "n2", "2012", "2013", "empid_000002x", "n3", "2012", "2013", "n4", "empid_000008"];
    assert_eq!((told(&next.items), next.cursor), (expected.map(str::to_owned).to_vec(), None));
}

#[tokio::test]
async fn a_cursor_of_another_query_is_invalid_before_any_call() {
    let db = company().await;
    let cursor = sales().page(2, None, &db).await.unwrap().cursor.unwrap();
    let path = || Employee::find().department("Sales");
    let of_path = path().page(1, None, &db).await.unwrap().cursor.unwrap();
    let of_scan = Employee::scan_partition("Sales").page(1, None, &db).await.unwrap().cursor.unwrap();
    db.forget_calls();
    let refused = [
        Company::rows(Employee::in_partition("Legal")).page(2, Some(&cursor), &db).await,
        sales().row_starts_with("empid_").page(2, Some(&cursor), &db).await,
        sales().row_between("empid_000001".to_owned()..).page(2, Some(&cursor), &db).await,
        sales().page(2, Some(&of_path), &db).await,
        sales().page(2, Some(&of_scan), &db).await,
        sales().page(2, Some(&Cursor::from("garbage")), &db).await,
        sales().page(0, None, &db).await,
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Invalid, Some("Employee")), "{error}");
    }
    let scan = Employee::scan_partition("Sales");
    for refused in [path().page(1, Some(&cursor), &db).await, scan.page(1, Some(&cursor), &db).await] {
        assert_eq!(*refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(db.calls(), []);
    let same = Company::rows(Review::in_partition("Sales")).page(2, Some(&cursor), &db).await.unwrap();
    assert_eq!(told(&same.items), ["2013", "empid_000001x"], "the rows are the same, whoever asks for them");
}

#[tokio::test]
async fn a_row_that_the_model_has_no_place_for_is_an_error_where_it_is_reached() {
    let db = company().await;
    let rows = || Closed::rows(Employee::in_partition("Sales"));
    let page = rows().page(3, None, &db).await.unwrap();
    assert_eq!((page.items.len(), rows().first(3, &db).await.unwrap().len()), (3, 3));
    for error in [
        rows().page(1, page.cursor.as_ref(), &db).await.map(drop).unwrap_err(),
        rows().first(4, &db).await.map(drop).unwrap_err(),
        rows().count(&db).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(error.key().map(|key| key.row.as_str()), Some("empid_000001x"));
    }
}

fn shapes() -> ModelRows<wide::Model> {
    wide::Model::rows(wide::Stats::in_partition("Sales"))
}

#[tokio::test]
async fn an_entity_of_several_rows_is_whole_in_pages_of_every_size() {
    let db = wide::database().await;
    for id in 1..=3 {
        db.insert(&wide::stats(id)).await.unwrap();
    }
    db.insert(&wide::document(1, 100_000, Some(300_000))).await.unwrap();
    db.insert(&wide::note(1, 100_000)).await.unwrap();
    // Another program's row between an entity's first row and its others.
    let other =
        Batch::new(wide::TABLE, "Sales").with("stats_000001 x", Action::Insert(Properties::from_iter([("Name", "x")])));
    db.store().commit(&[other]).await.unwrap();
    assert_eq!(assert_cut(&db, shapes).await, 6);
    let all = shapes().all(&db).await.unwrap();
    assert_eq!(all[2], wide::Model::Stats(wide::stats(1)));
    assert!(matches!(&all[3], wide::Model::Other(row) if row.key.row == "stats_000001 x"));
}

#[tokio::test]
async fn a_cursor_goes_on_behind_all_rows_of_an_entity() {
    let db = wide::database().await;
    for id in 1..=4 {
        db.insert(&wide::stats(id)).await.unwrap();
    }
    let cursor = shapes().page(2, None, &db).await.unwrap().cursor.unwrap();
    let third = [wide::Model::Stats(wide::stats(3))];
    assert_eq!(shapes().page(1, Some(&cursor), &db).await.unwrap().items, third);
    db.upsert(&wide::Stats { day: [7; 365], ..wide::stats(2) }).await.unwrap();
    assert_eq!(shapes().page(1, Some(&cursor), &db).await.unwrap().items, third, "it was written anew");
    let second = wide::Stats::find().department("Sales").id(2).one(&db).await.unwrap().unwrap();
    db.delete(second).await.unwrap();
    assert_eq!(shapes().page(1, Some(&cursor), &db).await.unwrap().items, third, "it is gone");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Ledger", partition = "{book}", row = "l_{id:04}", adopt)]
struct Line {
    book: String,
    id: u32,
    amount: i64,
}

#[derive(Debug, PartialEq, TableModel)]
enum Ledger {
    Line(Line),
    #[table(other)]
    Other(Row),
}

#[tokio::test]
async fn rows_of_another_program_are_counted_as_what_takes_them_over() {
    let db = TestDatabase::new::<Ledger>().await.unwrap();
    db.insert(&Line { book: "b".into(), id: 2, amount: 9 }).await.unwrap();
    let theirs = || Action::Insert(Properties::from_iter([("Amount", 5_i64)]));
    let batch = Batch::new("Ledger", "b").with("l_0001", theirs()).with("x", theirs());
    db.store().commit(&[batch]).await.unwrap();
    let rows = || Ledger::rows(Line::in_partition("b"));
    assert_eq!(assert_cut(&db, rows).await, 3);
    let two = rows().first(2, &db).await.unwrap();
    let line = |id, amount| Ledger::Line(Line { book: "b".into(), id, amount });
    assert_eq!(two, [line(1, 5), line(2, 9)]);
}
