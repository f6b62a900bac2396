//! Many writers at once: no update is lost, and of those who race for one value one wins.
//!
//! On several threads, over stores in memory and in a file.

use std::sync::Arc;

use tablemodel::{
    ErrorKind,
    prelude::*,
    store::{Durability, EmbeddedStore, MemoryStore, TableStore},
};

use super::{Account, Club, Member, account, assert_clean, member, stored_account};

const TASKS: u32 = 8;
const ROUNDS: u32 = 25;

/// One in memory, and one in a file of the directory.
async fn databases(directory: &tempfile::TempDir) -> [Database; 2] {
    let path = directory.path().join("club.tables");
    let embedded = EmbeddedStore::builder().durability(Durability::Relaxed).open(path).expect("opened");
    let stores: [Arc<dyn TableStore>; 2] = [Arc::new(MemoryStore::new()), Arc::new(embedded)];
    let mut databases = Vec::new();
    for store in stores {
        let db = Database::builder().with_store::<Club>(store).await.expect("opened");
        db.ensure_tables().await.expect("tables");
        databases.push(db);
    }
    databases.try_into().expect("two")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_of_a_counter_is_lost() {
    let directory = tempfile::tempdir().expect("a directory");
    for db in databases(&directory).await {
        db.insert(&Account { balance: 0, ..account("A", 1) }).await.expect("inserted");
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..TASKS {
            let db = db.clone();
            tasks.spawn(async move {
                let mut done = 0;
                while done < ROUNDS {
                    match db.update(Account::find().club("A").id(1), |account| Ok(account.balance += 1)).await {
                        Ok(_) => done += 1,
                        // Its rounds were used up: nothing was written, and it may try again.
                        Err(error) => assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error:?}"),
                    }
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.expect("no task fails");
        }
        let counter = stored_account(&db, "A", 1).await;
        assert_eq!(counter.balance, i64::from(TASKS * ROUNDS));
        assert_clean(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_those_who_race_for_a_unique_value_one_wins() {
    let directory = tempfile::tempdir().expect("a directory");
    for db in databases(&directory).await {
        for round in 0..ROUNDS {
            let mut tasks = tokio::task::JoinSet::new();
            for task in 0..TASKS {
                let db = db.clone();
                let email = Some(format!("{round}@x"));
                tasks.spawn(async move { db.insert(&Member { email, ..member("A", round * TASKS + task) }).await });
            }
            let mut won = 0;
            while let Some(task) = tasks.join_next().await {
                match task.expect("no task fails") {
                    Ok(_) => won += 1,
                    Err(error) => assert!(matches!(error.kind(), ErrorKind::UniqueViolation { .. }), "{error:?}"),
                }
            }
            assert_eq!(won, 1);
        }
        assert_clean(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn upserts_of_one_key_all_succeed_or_say_that_others_kept_writing() {
    let directory = tempfile::tempdir().expect("a directory");
    for db in databases(&directory).await {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            let db = db.clone();
            let city = format!("City{task}");
            tasks.spawn(async move { db.upsert(&Member { city, ..member("A", 1) }).await });
        }
        while let Some(task) = tasks.join_next().await {
            if let Err(error) = task.expect("no task fails") {
                assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
            }
        }
        assert_clean(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_those_who_count_in_what_is_not_there_none_is_lost() {
    let directory = tempfile::tempdir().expect("a directory");
    for db in databases(&directory).await {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS * ROUNDS {
            let db = db.clone();
            tasks.spawn(async move {
                let id = 1 + task % ROUNDS;
                let none = || Account { balance: 0, badge: Some(id), ..account("A", id) };
                let add = |account: &mut Account| Ok(account.balance += 1);
                match task % 2 {
                    0 => db.update_or_insert(Account::find().club("A").id(id), none, add).await,
                    _ => db.update_or_insert(Account::by_badge().club("A").badge(id), none, add).await,
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.expect("no task fails").expect("counted");
        }
        for id in 1..=ROUNDS {
            assert_eq!(stored_account(&db, "A", id).await.balance, i64::from(TASKS));
        }
        assert_clean(&db).await;
    }
}
