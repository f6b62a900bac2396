//! What could not be delivered, from the command line: told, tried again, discarded.

use std::time::Duration;

use serde_json::json;

use super::members;
use crate::{
    cli::{
        outcome::{DONE, DRIFTED, Outcome, SET_ASIDE},
        store::{Tool, execute_for_tests},
    },
    prelude::*,
    store::{Action, Batch, Condition, Properties},
    testing::TestDatabase,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{club}_{id:04}", keys_only))]
struct Member {
    club: String,
    id: u32,
    city: String,
}

#[derive(TableModel)]
enum Club {
    Member(Member),
}

async fn run(db: &TestDatabase, code: u8, words: &[&str]) -> Outcome {
    let tool = Tool { db: (**db).clone(), plans: Vec::new(), golden: Default::default(), stop: Default::default() };
    let outcome = execute_for_tests(&tool, words).await;
    assert_eq!(outcome.code, code, "{words:?}: {:?}", outcome.lines);
    members::check(words, &outcome);
    outcome
}

/// Another program's row where that of the member in Rome has to be, put there or taken away.
async fn stand_in_the_way(db: &TestDatabase, action: Action) {
    stand_in_the_way_of(db, "c1", action).await;
}

async fn stand_in_the_way_of(db: &TestDatabase, club: &str, action: Action) {
    db.store().commit(&[Batch::new("Cities", "Rome").with(format!("{club}_0007"), action)]).await.unwrap();
}

fn foreign() -> Action {
    Action::Insert(Properties::from_iter([("Mine", true)]))
}

fn member(club: &str) -> Member {
    Member { club: club.into(), id: 7, city: "Rome".into() }
}

/// Lets the relay try until it gives up.
async fn give_up(db: &TestDatabase) -> Outcome {
    for _ in 0..40 {
        db.clock().advance(Duration::from_secs(600));
        db.relay().run_once().await.unwrap();
    }
    run(db, SET_ASIDE, &["poisoned"]).await
}

#[tokio::test]
async fn what_could_not_be_delivered_is_told_tried_again_and_discarded() {
    let db = TestDatabase::new::<Club>().await.unwrap();
    run(&db, DONE, &["poisoned"]).await;
    stand_in_the_way(&db, foreign()).await;
    db.insert(&member("c1")).await.unwrap();
    let told = give_up(&db).await;
    let row = &told.data["poisoned"][0];
    assert_eq!(row["entity"], json!({ "partition": "c1", "row": "p_0007" }));
    assert!(told.lines[0].contains("(c1, p_0007)") && told.lines[0].contains("by_city"), "{:?}", told.lines);

    assert_eq!(run(&db, SET_ASIDE, &["retry-poisoned"]).await.data, json!({ "retried": 1, "failed": 1 }));
    run(&db, DONE, &["poisoned"]).await; // the relay goes on with it
    give_up(&db).await;
    stand_in_the_way(&db, Action::Delete(Condition::Exists)).await;
    assert_eq!(run(&db, DONE, &["retry-poisoned"]).await.data, json!({ "retried": 1, "failed": 0 }));
    assert_eq!(Member::by_city().city("Rome").count(&db).await.unwrap(), 1);

    let mut member = Member::find().club("c1").id(7).one(&db).await.unwrap().unwrap();
    member.city = "Oslo".into();
    db.store().commit(&[Batch::new("Cities", "Oslo").with("c1_0007", foreign())]).await.unwrap();
    db.save(&mut member).await.unwrap();
    let told = give_up(&db).await;
    let row = told.data["poisoned"][0]["row"].as_str().unwrap().to_owned();
    run(&db, DRIFTED, &["discard-poisoned", "none"]).await;
    let discarded = run(&db, DONE, &["discard-poisoned", &row]).await;
    assert_eq!(discarded.data["discarded"]["row"], row.as_str());
    run(&db, DONE, &["poisoned"]).await;
}

/// Row keys tell entities of one partition apart, and numbers those of one moment do not.
#[tokio::test]
async fn an_outbox_row_is_discarded_only_where_it_is_told_which_it_is() {
    let db = TestDatabase::new::<Club>().await.unwrap();
    for club in ["c1", "c2"] {
        stand_in_the_way_of(&db, club, foreign()).await;
        db.insert(&member(club)).await.unwrap();
    }
    let told = give_up(&db).await;
    let rows = told.data["poisoned"].as_array().unwrap();
    let row = rows[0]["row"].as_str().unwrap();
    assert_eq!((rows.len(), rows[1]["row"].as_str()), (2, Some(row)));

    let refused = run(&db, DRIFTED, &["discard-poisoned", row]).await;
    assert!(refused.lines[0].contains("`--partition"), "{:?}", refused.lines);
    assert_eq!(run(&db, SET_ASIDE, &["poisoned"]).await.data, told.data, "nothing was discarded");
    let discarded = run(&db, DONE, &["discard-poisoned", row, "--partition", "c2", "--table", "club"]).await;
    assert_eq!(discarded.data["discarded"]["partition"], "c2");
    run(&db, DRIFTED, &["discard-poisoned", row, "--partition", "c2"]).await;
    assert_eq!(run(&db, DONE, &["discard-poisoned", row]).await.data["discarded"]["partition"], "c1");
}

#[tokio::test]
async fn what_is_tried_again_is_told_of_alone() {
    let db = TestDatabase::new::<Club>().await.unwrap();
    stand_in_the_way(&db, foreign()).await;
    db.insert(&member("c1")).await.unwrap();
    give_up(&db).await;
    stand_in_the_way(&db, Action::Delete(Condition::Exists)).await;
    stand_in_the_way_of(&db, "c2", foreign()).await;
    db.insert(&member("c2")).await.unwrap(); // fails in the same round
    db.clock().advance(Duration::from_secs(60));
    assert_eq!(run(&db, DONE, &["retry-poisoned"]).await.data, json!({ "retried": 1, "failed": 0 }));
    assert_eq!(Member::by_city().city("Rome").count(&db).await.unwrap(), 1);
}
