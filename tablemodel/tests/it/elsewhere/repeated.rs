//! One entity twice in a batch, whose plan is made again: what its first change put is gone by its second.

use futures_util::FutureExt;
use tablemodel::{
    prelude::*,
    testing::{Call, Script, TestDatabase},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Tags", partition = "{tag}", row = "tag")]
struct Tag {
    tag: String,
    #[table(aggregate)]
    uses: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:04}")]
#[table(index(by_tag, table = "ByTag", partition = "{tag}", row = "{department}_{id:04}", keys_only))]
#[table(list(of_tag, table = "OfTag", partition = "{tag}", row = "l"))]
#[table(count(Tag, key(tag = tag), into = uses))]
struct Employee {
    department: String,
    id: u32,
    tag: String,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the test reads by path")]
enum Company {
    Tag(Tag),
    Employee(Employee),
}

fn employee(department: &str, tag: &str) -> Employee {
    Employee { department: department.into(), id: 1, tag: tag.into() }
}

/// Has another program count in the tag before the first commit, which then is refused.
async fn met(db: &TestDatabase, tag: &'static str) {
    let other = db.reopen::<Company>().await.expect("opened");
    let write = async move { other.insert(&employee("b", tag)).await.map(drop) };
    let mut between = Some(Box::pin(write));
    db.fail(move |call: &Call<'_>| {
        if let Some(write) = between.take_if(|_| call.request.writes()) {
            write.now_or_never().expect("in memory").expect("written");
        }
        None
    });
}

#[tokio::test]
async fn what_a_change_put_and_the_next_takes_away_is_nowhere_though_another_writes_in_between() {
    for tags in [["x", "y", "y"], ["x", "y", "x"], ["y", "x", "y"]] {
        for first in [None, Some("x"), Some("z")] {
            let (db, told) =
                (TestDatabase::atomic::<Company>().await.expect("a database"), format!("{tags:?} over {first:?}"));
            if let Some(tag) = first {
                db.insert(&employee("a", tag)).await.expect("inserted");
            }
            met(&db, tags[2]).await;
            let mut batch = db.batch(Employee::in_partition("a"));
            for tag in tags {
                batch.upsert(&employee("a", tag));
            }
            batch.commit().await.expect("planned again");
            db.fail(Script::new());
            crate::migrate::assert_clean(&db, &told).await;
            for tag in ["x", "y", "z"] {
                let is_mine = u64::from(tag == tags[2]);
                let found = Employee::by_tag().tag(tag).count(&db).await.expect("read");
                assert_eq!(found, 2 * is_mine, "{told}: `{tag}`");
            }
        }
    }
}
