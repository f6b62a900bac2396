//! Pages and counts of scans: what `all` gives, cut; with a cursor that is good for its own scan alone.

use std::fmt::Debug;

use tablemodel::{
    Cursor, ErrorKind, Scan,
    prelude::*,
    store::{Action, Batch, Properties},
    testing::TestDatabase,
};

use super::fixture::{PAGINGS, plain};
use crate::wide;

/// Every page of at most `n`, one behind the other.
pub(super) async fn walk<E: TableEntity>(db: &TestDatabase, scan: impl Fn() -> Scan<E>, n: usize) -> Vec<Stored<E>> {
    let (mut walked, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let page = scan().page(n, cursor.as_ref(), db).await.unwrap();
        assert!(page.items.len() <= n);
        assert!(page.cursor.is_none() || page.items.len() == n, "a page of {n} is not full");
        walked.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            return walked;
        }
    }
}

async fn assert_cut<E>(db: &TestDatabase, scan: impl Fn() -> Scan<E>, expected: &[E])
where
    E: TableEntity + Clone + PartialEq + Debug,
{
    for paging in PAGINGS {
        paging.apply(db);
        assert_eq!(plain(scan().all(db).await.unwrap()), expected, "{paging:?}");
        assert_eq!(scan().count(db).await.unwrap(), expected.len() as u64, "{paging:?}");
        for n in [1, 2, 1_000] {
            assert_eq!(plain(walk(db, &scan, n).await), expected, "pages of {n}, {paging:?}");
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stays", partition = "{house}", row = "s_{id:04}", allow_scan)]
struct Stay {
    house: String,
    id: u32,
    nights: u32,
}

/// In the same table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stays", partition = "{house}", row = "bill_{id:04}")]
struct Bill {
    house: String,
    id: u32,
}

#[derive(TableModel)]
enum Model {
    Stay(Stay),
    Bill(Bill),
}

fn stay(house: &str, id: u32) -> Stay {
    Stay { house: house.into(), id, nights: id % 3 }
}

/// Six stays in each of two houses, and as many bills.
async fn houses() -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    for house in ["a", "b"] {
        for id in 1..=6 {
            db.insert(&stay(house, id)).await.unwrap();
            db.insert(&Bill { house: house.into(), id }).await.unwrap();
        }
    }
    db
}

fn stays(house: &str) -> Vec<Stay> {
    (1..=6).map(|id| stay(house, id)).collect()
}

#[tokio::test]
async fn pages_and_counts_are_cut_from_the_scan() {
    let db = houses().await;
    let all = [stays("a"), stays("b")].concat();
    assert_cut(&db, Stay::scan_table, &all).await;
    assert_cut(&db, || Stay::scan_partition("b"), &stays("b")).await;
    assert_cut(&db, || Stay::scan_partition("c"), &[]).await;
    let short: Vec<_> = all.iter().filter(|stay| stay.nights < 2).cloned().collect();
    assert_cut(&db, || Stay::scan_table().matching(Stay::NIGHTS.lt(2)), &short).await;
    let late: Vec<_> = short.iter().filter(|stay| stay.id >= 3).cloned().collect();
    let scan = || Stay::scan_table().matching(Stay::NIGHTS.lt(2)).matching(Stay::ID.ge(3_u32));
    assert_cut(&db, scan, &late).await;
}

#[tokio::test]
async fn entities_of_several_rows_are_whole_in_pages_of_a_table() {
    let db = wide::database().await;
    let mut all = Vec::new();
    for department in ["Legal", "Sales"] {
        for id in 1..=3 {
            let stats = wide::Stats { department: department.into(), ..wide::stats(id) };
            db.insert(&stats).await.unwrap();
            all.push(stats);
        }
        db.insert(&wide::Note { department: department.into(), ..wide::note(1, 100_000) }).await.unwrap();
    }
    assert_cut(&db, wide::Stats::scan_table, &all).await;
    assert_cut(&db, || wide::Stats::scan_partition("Sales"), &all[3..]).await;
    let last = || wide::Stats::DAY.at(364).unwrap().ge(2_000_u32);
    let some: Vec<_> = all.iter().filter(|stats| stats.id > 1).cloned().collect();
    assert_cut(&db, || wide::Stats::scan_table().matching(last()), &some).await;
}

#[tokio::test]
async fn without_a_condition_no_more_rows_are_read_than_a_page_takes() {
    let db = houses().await;
    db.forget_calls();
    let page = Stay::scan_table().page(4, None, &db).await.unwrap();
    assert_eq!((page.items.len(), db.calls().len(), db.tally().rows_read), (4, 1, 5));
    db.forget_calls();
    assert_eq!(Stay::scan_table().page(4, page.cursor.as_ref(), &db).await.unwrap().items.len(), 4);
    assert_eq!((db.calls().len(), db.tally().rows_read), (1, 5));
    db.forget_calls();
    assert_eq!(Stay::scan_partition("a").first(3, &db).await.unwrap().len(), 3);
    assert_eq!((db.calls().len(), db.tally().rows_read), (1, 3));
}

#[tokio::test]
async fn where_the_store_tests_the_condition_no_more_rows_travel_than_a_page_takes() {
    let db = houses().await;
    let scan = || Stay::scan_table().matching(Stay::NIGHTS.ge(1));
    db.forget_calls();
    assert_eq!(scan().page(2, None, &db).await.unwrap().items.len(), 2);
    assert!(db.tally().rows_read <= 3, "{:?}", db.calls());
    db.forget_calls();
    assert_eq!(scan().first(3, &db).await.unwrap().len(), 3);
    assert!(db.tally().rows_read <= 3, "{:?}", db.calls());
    // A part of the condition is tested after reading: pages grow, and all is found.
    db.forget_calls();
    assert!(scan().matching(Stay::ID.ge(6_u32)).first(2, &db).await.unwrap().is_empty());
    assert!(db.calls().len() <= 5, "{:?}", db.calls());
}

#[tokio::test]
async fn a_cursor_goes_on_behind_the_entity_it_names_whatever_happens_to_the_rows() {
    let db = houses().await;
    let page = Stay::scan_table().page(6, None, &db).await.unwrap();
    let cursor = Cursor::from(page.cursor.unwrap().as_str());
    db.delete(page.items.into_iter().last().unwrap()).await.unwrap();
    db.insert(&stay("a", 0)).await.unwrap();
    db.insert(&stay("a", 9)).await.unwrap();
    db.insert(&stay("b", 0)).await.unwrap();
    let reopened = db.reopen::<Model>().await.unwrap();
    let rest = Stay::scan_table().page(20, Some(&cursor), &reopened).await.unwrap();
    let told: Vec<_> = rest.items.iter().map(|stay| (stay.house.as_str(), stay.id)).collect();
    assert_eq!(told, [("a", 9), ("b", 0), ("b", 1), ("b", 2), ("b", 3), ("b", 4), ("b", 5), ("b", 6)]);
    assert_eq!(rest.cursor, None);
}

#[tokio::test]
async fn a_cursor_of_another_scan_is_invalid_before_any_call() {
    let db = houses().await;
    let short = || Stay::scan_table().matching(Stay::NIGHTS.lt(2));
    let cursor = short().page(2, None, &db).await.unwrap().cursor.unwrap();
    let of_table = Stay::scan_table().page(2, None, &db).await.unwrap().cursor.unwrap();
    let of_partition = Stay::scan_partition("a").page(2, None, &db).await.unwrap().cursor.unwrap();
    let of_path = Stay::find().house("a").page(2, None, &db).await.unwrap().cursor.unwrap();
    db.forget_calls();
    let refused = [
        Stay::scan_table().page(2, Some(&cursor), &db).await,
        short().page(2, Some(&of_table), &db).await,
        short().matching(Stay::ID.ge(1_u32)).page(2, Some(&cursor), &db).await,
        Stay::scan_table().matching(Stay::NIGHTS.lt(3)).page(2, Some(&cursor), &db).await,
        Stay::scan_table().matching(Stay::NIGHTS.le(2)).page(2, Some(&cursor), &db).await,
        Stay::scan_table().matching(!Stay::NIGHTS.lt(2)).page(2, Some(&cursor), &db).await,
        Stay::scan_partition("a").page(2, Some(&of_table), &db).await,
        Stay::scan_partition("b").page(2, Some(&of_partition), &db).await,
        Stay::scan_partition("a").page(2, Some(&of_path), &db).await,
        Stay::find().house("a").page(2, Some(&of_partition), &db).await,
        short().page(2, Some(&Cursor::from("garbage")), &db).await,
        short().page(0, None, &db).await,
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        let error = refused.map(drop).expect_err(&number.to_string());
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Invalid, Some("Stay")), "{number}: {error}");
    }
    assert_eq!(db.calls(), []);
    assert_eq!(short().page(2, Some(&cursor), &db).await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn the_last_page_is_empty_where_a_condition_holds_of_nothing_that_follows() {
    let db = houses().await;
    // What the keys hold is tested after reading.
    let scan = || Stay::scan_partition("a").matching(Stay::ID.le(3_u32));
    let page = scan().page(3, None, &db).await.unwrap();
    assert_eq!(page.items.len(), 3);
    let last = scan().page(3, page.cursor.as_ref(), &db).await.unwrap();
    assert!(page.cursor.is_some() && last.items.is_empty() && last.cursor.is_none());
}

#[tokio::test]
async fn a_row_that_cannot_be_read_counts_where_it_is_not_looked_into() {
    let db = houses().await;
    let newer = Properties::from_iter([("EntityType", "Stay@9")]);
    db.store().commit(&[Batch::new("Stays", "a").with("s_0007", Action::Insert(newer))]).await.unwrap();
    assert_eq!(Stay::scan_partition("a").count(&db).await.unwrap(), 7);
    assert_eq!(Stay::find().house("a").count(&db).await.unwrap(), 7, "as a path counts it");
    let error = Stay::scan_partition("a").matching(Stay::NIGHTS.lt(9)).count(&db).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnknownVersion);
}
