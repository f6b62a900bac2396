//! A spread partition key: reads fan out over the buckets and come back as one, in row key order.

use proptest::prelude::*;
use tablemodel::{CostClass, Cursor, prelude::*, testing::TestDatabase};

use super::fixture::{PAGINGS, folded, plain, run, text, utf16};

/// Spread over four buckets by a name whose case the row key forgets: two buckets may hold one row key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Requests", partition = "{day}_{name:shard(4)}", row = "{name:lower}")]
#[table(index(by_path, row = "path!{path}!{name:lower}"))]
struct Request {
    day: String,
    name: String,
    path: String,
}

/// Spread by a number that stands in the row key as it is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Known", partition = "{day}_{id:shard(4)}", row = "{at}_{id}")]
struct Known {
    day: String,
    at: u32,
    id: u64,
}

#[derive(TableModel)]
enum Spread {
    Request(Request),
    Known(Known),
}

async fn database(requests: &[Request]) -> TestDatabase {
    let db = TestDatabase::new::<Spread>().await.unwrap();
    for request in requests {
        db.upsert(request).await.unwrap();
    }
    db
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reads_over_all_buckets_equal_reads_of_an_unspread_list(
        requests in prop::collection::vec((prop_oneof![text(), "[aAbB]{1,3}"], text()), 0..24),
        prefix in prop_oneof![text(), "[aAbB]"],
    ) {
        run(check(requests, &prefix));
    }
}

async fn check(requests: Vec<(String, String)>, prefix: &str) {
    let requests: Vec<_> = requests.into_iter().map(|(name, path)| Request { day: "d".into(), name, path }).collect();
    let db = &database(&requests).await;
    // One row of a bucket and folded name: the last written.
    let mut kept: Vec<(String, Request)> = Vec::new();
    for request in requests {
        let bucket = bucket(&request);
        kept.retain(|(other, kept)| *other != bucket || folded(&kept.name) != folded(&request.name));
        kept.push((bucket, request));
    }
    let by_name = |(p, a): &(String, Request), (q, b): &(String, Request)| {
        utf16(&folded(&a.name), &folded(&b.name)).then_with(|| p.cmp(q))
    };
    kept.sort_by(by_name);
    let all: Vec<_> = kept.iter().map(|(_, request)| request.clone()).collect();
    assert_gives!(db, Request::find().day("d"), all.clone());
    let some = all.iter().filter(|request| folded(&request.name).starts_with(&folded(prefix))).cloned();
    assert_gives!(db, Request::find().day("d").name_starts_with(prefix), some.collect());
    kept.sort_by(|a, b| utf16(&a.1.path, &b.1.path).then_with(|| by_name(a, b)));
    assert_gives!(db, Request::by_path().day("d"), kept.iter().map(|(_, request)| request.clone()).collect());
    for request in &all {
        let one = Request::find().day("d").name(request.name.as_str()).one(db).await.unwrap();
        assert_eq!(one.as_deref(), Some(request));
    }
}

/// The partition that the request's bucket has.
fn bucket(request: &Request) -> String {
    let key = Request::find().day(request.day.as_str()).name(request.name.as_str()).explain().keys.remove(0);
    key.split('\'').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_full_key_is_one_point_read_of_its_bucket() {
    let db = database(&[]).await;
    for id in 0..20 {
        db.insert(&Known { day: "d".into(), at: id as u32 / 2, id }).await.unwrap();
    }
    db.forget_calls();
    let found = Known::find().day("d").at(3).id(7).one(&db).await.unwrap().unwrap();
    assert_eq!((found.id, db.tally().point_reads, db.calls().len()), (7, 1, 1));
    assert_eq!(Known::find().day("d").at(3).id(7).explain().class, CostClass::Point);
    db.forget_calls();
    let found = plain(Known::find().day("d").at(3).all(&db).await.unwrap());
    assert_eq!(found.iter().map(|known| known.id).collect::<Vec<_>>(), [6, 7]);
    assert_eq!(db.tally().range_queries, 4, "one query a bucket");
}

#[tokio::test]
async fn an_entity_moves_to_no_other_bucket_unnoticed() {
    let db = database(&[Request { day: "d".into(), name: "a".into(), path: String::new() }]).await;
    let mut found = Request::find().day("d").all(&db).await.unwrap().remove(0);
    let named = |name: &str| bucket(&Request { name: name.into(), ..(*found).clone() });
    let other = ["b", "c", "d", "e", "f"].into_iter().find(|name| named(name) != named("a")).unwrap();
    found.name = other.into();
    let error = db.save(&mut found).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::KeyChanged);
}

#[tokio::test]
async fn a_cursor_between_two_buckets_that_hold_one_row_key_loses_neither_row() {
    let names = ["abcd", "Abcd", "aBcd", "abCd", "abcD", "ABcd", "AbCd", "AbcD"];
    let requests: Vec<_> =
        names.map(|name| Request { day: "d".into(), name: name.into(), path: String::new() }).to_vec();
    let db = database(&requests).await;
    let all = plain(Request::find().day("d").all(&db).await.unwrap());
    assert!(all.len() > 1, "several buckets hold a row at the same row key");
    for paging in PAGINGS {
        paging.apply(&db);
        let (mut walked, mut cursor) = (Vec::new(), None::<Cursor>);
        loop {
            let page = Request::find().day("d").page(1, cursor.as_ref(), &db).await.unwrap();
            walked.extend(plain(page.items));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(walked, all);
    }
}
