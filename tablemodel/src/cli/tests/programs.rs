//! The programs that are alive, as `plan` and `status` tell them.

use std::time::Duration;

use super::{
    clubs::{new, old},
    store::person,
};
use crate::{
    cli::{
        outcome::{DONE, Outcome},
        store::{Tool, execute_for_tests},
    },
    prelude::*,
    testing::TestDatabase,
};

async fn told(db: &Database, command: &str) -> Outcome {
    let tool = Tool { db: db.clone(), plans: Vec::new(), golden: Default::default(), stop: Default::default() };
    let outcome = execute_for_tests(&tool, &[command]).await;
    assert_eq!(outcome.code, DONE, "{:?}", outcome.lines);
    outcome
}

fn of_programs(outcome: &Outcome) -> Vec<&String> {
    outcome.lines.iter().filter(|line| line.starts_with("program ")).collect()
}

#[tokio::test]
async fn a_program_that_lacks_what_is_to_be_built_is_named_until_it_ends() {
    let first = TestDatabase::new::<old::Club>().await.unwrap();
    first.insert(&person(1, 1)).await.unwrap();
    let second = Database::builder().clock(std::sync::Arc::new(first.clock().clone())).program("shop on host 7");
    let second = second.consistency(first.consistency()).with_store::<new::Club>(first.store()).await.unwrap();
    second.ensure_tables().await.unwrap();
    first.clock().advance(Duration::from_secs(21));
    let old::Person { club, id, city, badge } = person(2, 2);
    second.insert(&new::Person { club, id, city, badge }).await.unwrap();

    let plan = told(&second, "plan").await;
    let lines = of_programs(&plan);
    assert_eq!(lines.len(), 2, "{:?}", plan.lines);
    let lacking: Vec<_> = lines.iter().filter(|line| line.contains("waited for")).collect();
    assert!(matches!(lacking.as_slice(), [line] if line.contains("it does not have Person.by_city, Person.by_badge")));
    assert!(lines.iter().any(|line| line.starts_with("program shop on host 7 (") && !line.contains("waited for")));
    let programs = plan.data["programs"].as_array().unwrap();
    let waited: Vec<bool> = programs.iter().map(|program| program["waited_for"].as_bool().unwrap()).collect();
    assert_eq!(waited.iter().filter(|waited| **waited).count(), 1);
    assert_eq!(of_programs(&told(&second, "status").await).len(), 2);

    first.database().clone().close().await.unwrap();
    let plan = told(&second, "plan").await;
    assert!(matches!(of_programs(&plan).as_slice(), [line] if line.contains("shop on host 7")), "{:?}", plan.lines);
}

#[tokio::test]
async fn where_one_program_owns_the_store_none_is_named() {
    let db = TestDatabase::atomic::<old::Club>().await.unwrap();
    db.insert(&person(1, 1)).await.unwrap();
    assert!(of_programs(&told(db.database(), "plan").await).is_empty());
}
