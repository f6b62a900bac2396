//! Leases of programs that ended without a word: whoever takes one takes old ones away, and whose was taken away learns of the states as
//! after any other lease that was over.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, ErrorKind, Value,
    prelude::*,
    store::{Action, Batch, Condition, Receipts, StoreError, TableStore},
    testing::{CallKind, TestDatabase},
};

use super::{Club, Person, all_rows, assert_built, filled, first, next, program, program_over, store_of};
use crate::between::{Around, Between};

const HOUR: Duration = Duration::from_secs(60 * 60);

async fn leases(store: &TestDatabase) -> usize {
    let rows = all_rows(store, "tmschema").await;
    rows.iter().filter(|row| row.key.row.starts_with("app|")).count()
}

/// Programs that write once and are gone.
async fn short_lived(store: &TestDatabase, ids: std::ops::Range<u32>) {
    for id in ids {
        let db = program::<first::Club>(store).await;
        db.insert(&first::person("c1", id)).await.expect("written");
    }
}

#[tokio::test]
async fn leases_that_are_a_day_older_than_a_new_one_are_taken_away() {
    let store = filled(Consistency::Azure, 1, 3).await;
    short_lived(&store, 0..150).await;
    assert_eq!(leases(&store).await, 151, "and that of who filled it");
    store.clock().advance(20 * HOUR);
    short_lived(&store, 150..155).await;
    assert_eq!(leases(&store).await, 156, "none is a day old");
    store.clock().advance(5 * HOUR);
    short_lived(&store, 155..156).await;
    assert_eq!(leases(&store).await, 57, "a batch of them");
    short_lived(&store, 156..157).await;
    assert_eq!(leases(&store).await, 7, "those of the last hours");
}

/// Whose program comes back between the look at it and its end.
struct Woken {
    came: AtomicBool,
}

#[async_trait]
impl Between for Woken {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        for batch in batches.iter().filter(|batch| batch.table == "tmschema") {
            for operation in batch.operations.iter().filter(|of| matches!(of.action, Action::Delete(_))) {
                let refreshed = Action::Replace([("Epoch", Value::Int64(7))].into_iter().collect(), Condition::Exists);
                inner.commit(&[Batch::new("tmschema", "s").with(operation.row.clone(), refreshed)]).await?;
                self.came.store(true, SeqCst);
            }
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_lease_that_is_refreshed_meanwhile_stays_and_nobody_is_told_of_it() {
    let store = filled(Consistency::Azure, 1, 3).await;
    store.clock().advance(48 * HOUR);
    let woken = Around::over(store.store(), Woken { came: AtomicBool::new(false) });
    let db = program_over::<first::Club>(&store, woken.clone()).await;
    db.insert(&first::person("c0", 100)).await.expect("written");
    assert!(woken.came.load(SeqCst));
    assert_eq!(leases(&store).await, 2);
}

#[tokio::test]
async fn a_program_whose_lease_was_taken_away_learns_of_the_states_before_it_writes() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let idle = next::<Club>(&store).await;
    let mut read = Person::find().club("c0").id(1).one(&idle).await.expect("read").expect("there");
    read.name = "other".into();
    idle.save(&mut read).await.expect("with a lease");
    store.clock().advance(48 * HOUR);
    let db = program::<Club>(&store).await;
    assert_eq!(leases(&store).await, 1, "its own");
    db.migrations().apply().await.expect("applied");
    read.city = "Paris".into();
    idle.save(&mut read).await.expect_err("it was touched meanwhile");
    assert_eq!(leases(&store).await, 2, "migrations see it again");
    let mut read = Person::find().club("c0").id(1).one(&idle).await.expect("read").expect("there");
    read.city = "Paris".into();
    idle.save(&mut read).await.expect("saved");
    assert_built(&db, "by the states as they are").await;
    idle.close().await.expect("closed");
    assert_eq!(leases(&store).await, 1);
}

#[tokio::test]
async fn a_program_without_the_index_whose_lease_was_taken_away_lets_it_lapse_when_it_writes() {
    let store = filled(Consistency::Azure, 1, 20).await;
    let old = program::<first::Club>(&store).await;
    old.insert(&first::person("c0", 100)).await.expect("with a lease");
    store.clock().advance(48 * HOUR);
    let db = next::<Club>(&store).await;
    assert_eq!(leases(&store).await, 1, "its own");
    db.migrations().apply().await.expect("nobody is waited for");
    assert_built(&db, "built").await;
    old.insert(&first::person("c0", 101)).await.expect("with a new lease");
    store.clock().advance(Duration::from_secs(61));
    let error = Person::by_city().club("c0").city("Oslo").all(&db).await.expect_err("it lapsed");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{error}");
    old.close().await.expect("closed");
    db.migrations().apply().await.expect("applied");
    assert_built(&db, "built anew").await;
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Ones", partition = "{id:02}", row = "one")]
struct One {
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Twos", partition = "{id:02}", row = "two")]
struct Two {
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Threes", partition = "{id:02}", row = "three")]
struct Three {
    id: u32,
}

#[derive(TableModel)]
enum Model {
    One(One),
    Two(Two),
    Three(Three),
}

#[tokio::test]
async fn a_program_that_starts_reads_the_states_no_oftener_for_many_entities() {
    let store = store_of::<Model>(Consistency::Azure).await;
    let db = program::<Model>(&store).await;
    store.forget_calls();
    db.ensure_tables().await.expect("ensured");
    let is_of_states = |call: &CallKind| matches!(call, CallKind::Query { table, .. } if table == "tmschema");
    let reads = store.calls().iter().filter(|call| is_of_states(&call.call)).count();
    assert_eq!(reads, 2, "{:?}", store.calls());
}
