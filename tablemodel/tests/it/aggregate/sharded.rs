//! Aggregates in parts: what a write touches, who meets whom, and what their sum is read from.

use futures_util::FutureExt;
use tablemodel::{
    Consistency, ErrorKind, RowKey,
    prelude::*,
    store::{
        Action, Batch, Condition,
        fault::{Call, Fault, Request},
        observe::CallKind,
    },
    testing::TestDatabase,
};

use super::{MODES, part_of, rows_in};
use crate::stall::Program;

/// So many for each page, at times that others have too.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Site", partition = "{site}", row = "visit_{number:06}")]
#[table(count(Page, key(site = site, id = on), into = visits))]
#[table(sum(Page, key(site = site, id = on), of = cents, into = spent))]
struct Visit {
    site: String,
    number: u32,
    on: u8,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Site", partition = "{site}", row = "page_{id:03}", sharded(visits = i64, spent = i64))]
#[table(index(by_title, row = "title_{title}_{id:03}"))]
struct Page {
    site: String,
    id: u8,
    title: String,
}

#[derive(TableModel)]
enum Model {
    Visit(Visit),
    Page(Page),
}

fn visit(number: u32) -> Visit {
    Visit { site: "A".into(), number, on: 1, cents: 5 }
}

fn part(number: u32) -> u64 {
    part_of("A", &format!("visit_{number:06}"))
}

/// The next visit after this one that is counted in the same part, or in another.
fn next(after: u32, same_part: bool) -> u32 {
    (after + 1..).find(|number| (part(*number) == part(after)) == same_part).unwrap()
}

async fn database(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    db.insert(&Page { site: "A".into(), id: 1, title: "Home".into() }).await.unwrap();
    db
}

async fn visits(db: &Database) -> tablemodel::Result<i64> {
    db.total(Page::find().site("A").id(1), Page::VISITS).await
}

#[tokio::test]
async fn a_source_reads_and_writes_its_own_part_and_never_the_target() {
    for mode in MODES {
        let db = database(mode).await;
        let before = rows_in(&db, "Site").await[&("A".to_owned(), "page_001".to_owned())].clone();
        db.forget_calls();
        db.insert(&visit(7)).await.unwrap();
        let parts = ["Spent", "Visits"].map(|name| format!("~~agg|page_001|{name}|{:02}", part(7)));
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for call in db.calls() {
            match call.call {
                CallKind::Get { key, .. } => read.push(key.row),
                CallKind::Commit { batches } => {
                    written.extend(batches.into_iter().flat_map(|batch| batch.operations).map(|(_, row)| row))
                }
                other => panic!("{other:?}"),
            }
        }
        read.sort();
        written.sort();
        assert_eq!(read, parts);
        assert_eq!(written, ["visit_000007", parts[0].as_str(), parts[1].as_str()]);
        assert_eq!(rows_in(&db, "Site").await[&("A".to_owned(), "page_001".to_owned())], before);
    }
}

/// A visit's insertion, with another's just before it commits: how many commits both took.
async fn commits_of_two(first: u32, second: u32) -> usize {
    let db = database(Consistency::Azure).await;
    let other = db.database().clone();
    let meanwhile = async move { drop(other.insert(&visit(second)).await.unwrap()) };
    let program = Program::stalling::<Model>(&db, 2, meanwhile.boxed()).await; // its two parts are read by then
    db.forget_calls();
    let inserted = async || loop {
        match program.db.insert(&visit(first)).await {
            Err(error) if error.is_retryable() => {}
            other => return other,
        }
    };
    inserted().await.unwrap();
    assert!(program.has_stalled());
    assert_eq!(visits(&db).await.unwrap(), 2);
    db.tally().commits
}

#[tokio::test]
async fn writers_of_sources_in_different_parts_do_not_meet() {
    assert_eq!(commits_of_two(1, next(1, false)).await, 2);
    assert_eq!(commits_of_two(1, next(1, true)).await, 3, "in one part, the first commits once more");
}

#[tokio::test]
async fn the_sum_is_that_of_all_parts_however_the_store_pages() {
    for mode in MODES {
        let db = database(mode).await;
        for number in 0..60 {
            db.insert(&visit(number)).await.unwrap();
        }
        db.insert(&Visit { on: 2, ..visit(99) }).await.unwrap(); // of a page that is not there
        for rows in [1, 3, 100] {
            let mut queries = 0;
            db.fail(move |call: &Call<'_>| {
                let Request::Query(_) = call.request else { return None };
                queries += 1;
                Some(if queries % 2 == 1 { Fault::EmptyPage } else { Fault::ShortPage { rows } })
            });
            assert_eq!(visits(&db).await.unwrap(), 60, "{rows} rows a page");
            assert_eq!(db.total(Page::find().site("A").id(2), Page::SPENT).await.unwrap(), 5);
        }
        db.fail(|_: &Call<'_>| None);
        db.forget_calls();
        assert_eq!(visits(&db).await.unwrap(), 60);
        assert_eq!((db.tally().range_queries, db.tally().rows_read), (1, 16));
        let named = Page::by_title().site("A").title("Home").id(1);
        assert_eq!(db.total(named, Page::SPENT).await.unwrap(), 300);
    }
}

#[tokio::test]
async fn what_a_part_cannot_hold_is_refused_and_what_the_sum_cannot_is_told() {
    for mode in MODES {
        let db = database(mode).await;
        let rich = |number| Visit { cents: i64::MAX, ..visit(number) };
        db.insert(&rich(1)).await.unwrap();
        let before = rows_in(&db, "Site").await;
        let error = db.insert(&rich(next(1, true))).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Overflow);
        assert!(error.to_string().contains("aggregate `spent` of `Page` would be beyond its type"), "{error}");
        assert_eq!(rows_in(&db, "Site").await, before);

        let second = db.insert(&rich(next(1, false))).await.unwrap();
        let error = db.total(Page::find().site("A").id(1), Page::SPENT).await.unwrap_err();
        assert_eq!((error.kind(), error.key()), (&ErrorKind::Overflow, Some(&RowKey::new("A", "page_001"))));
        assert_eq!(visits(&db).await.unwrap(), 2, "the others are as they were");
        db.delete(second).await.unwrap();
        assert_eq!(db.total(Page::find().site("A").id(1), Page::SPENT).await.unwrap(), i64::MAX);
    }
}

#[tokio::test]
async fn a_part_that_is_not_as_it_should_be_is_found_mended_and_never_summed() {
    let db = database(Consistency::Azure).await;
    let number = 7;
    db.insert(&visit(number)).await.unwrap();
    let row = format!("~~agg|page_001|Visits|{:02}", part(number));
    let there = rows_in(&db, "Site").await[&("A".to_owned(), row.clone())].clone();
    let put = |row: &str, name: &str, value: Option<i64>| {
        let mut wrong = there.clone();
        match value {
            Some(value) => wrong.insert(name, value),
            None => wrong.insert(name, "x"),
        };
        Batch::new("Site", "A").with(row, Action::InsertOrReplace(wrong))
    };
    db.store().commit(&[put(&row, "_value", Some(5))]).await.unwrap();
    let found: Vec<_> = db.verify().await.unwrap().violations.iter().map(ToString::to_string).collect();
    assert_eq!(found, [format!("Stale in Site at (A, {row}): the cell is not what its sources come to")]);
    assert!(db.repair().await.unwrap().left.is_empty());
    assert_eq!(visits(&db).await.unwrap(), 1);

    db.store().commit(&[put(&row, "_value", None)]).await.unwrap();
    assert_eq!(visits(&db).await.unwrap_err().kind(), &ErrorKind::Corrupt);
    db.store().commit(&[Batch::new("Site", "A").with(&row, Action::Delete(Condition::Exists))]).await.unwrap();
    let jo = Visit::find().site("A").number(number).one(&db).await.unwrap().unwrap();
    assert_eq!(db.delete(jo).await.unwrap_err().kind(), &ErrorKind::Corrupt, "it counts fewer sources than it has");
}

#[tokio::test]
async fn a_part_that_is_mended_leaves_the_target_to_those_who_have_read_it() {
    for mode in MODES {
        let db = database(mode).await;
        for number in 0..20 {
            db.insert(&visit(number)).await.unwrap();
        }
        let mut page = Page::find().site("A").id(1).one(&db).await.unwrap().unwrap();
        let lost = format!("~~agg|page_001|Visits|{:02}", part(7));
        let batch = Batch::new("Site", "A").with(lost, Action::Delete(Condition::Exists));
        db.store().commit(&[batch]).await.unwrap();
        assert!(!db.repair().await.unwrap().found.is_clean(), "{mode:?}: nothing was found");
        assert_eq!(visits(&db).await.unwrap(), 20, "{mode:?}");
        page.title = "Welcome".into();
        db.save(&mut page).await.unwrap();
    }
}
