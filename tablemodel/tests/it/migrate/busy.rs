//! Partitions that are written while they are walked: what is wrong there is found once they come to rest, and nothing is readable before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, Value, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition, Page, Query, StoreError, TableStore},
    testing::TestDatabase,
};

use crate::{
    between::{Around, Between},
    points::points,
    writes::tombstone,
};

use super::{Club, MODES, Person, all_rows, assert_clean, filled, next, program_over};

/// A store in which somebody writes a row before each of the next so many queries of its table.
struct Busy {
    key: RowKey,
    left: AtomicUsize,
}

impl Busy {
    fn over(db: &TestDatabase, left: usize) -> Arc<Around<Self>> {
        Around::over(db.store(), Self { key: stray(), left: AtomicUsize::new(left) })
    }

    async fn write(&self, inner: &dyn TableStore) {
        let is_left = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left).is_ok() {
            let again = Action::Merge(Properties::new(), Condition::Exists);
            let batch = Batch::new("Club", self.key.partition.clone()).with(self.key.row.clone(), again);
            let _gone = inner.commit(&[batch]).await;
        }
    }
}

#[async_trait::async_trait]
impl Between for Busy {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        if query.table == "Club" {
            self.write(inner).await;
        }
        inner.query(query).await
    }
}

fn stray() -> RowKey {
    RowKey::new("c0", "city_Nowhere_0001")
}

/// An index row that its entity does not want.
async fn plant(db: &TestDatabase) {
    let properties: Properties =
        [("EntityType", "Person.by_city@1".into()), ("_rk", "p_0001".into()), ("_seq", Value::Int64(1))]
            .into_iter()
            .collect();
    let batch = Batch::new("Club", stray().partition).with(stray().row, Action::Insert(properties));
    db.store().commit(&[batch]).await.expect("planted");
}

#[tokio::test]
async fn an_index_is_readable_only_once_what_was_wrong_while_it_was_walked_is_put_right() {
    for mode in MODES {
        let whole = filled(mode, 2, 120).await;
        next::<Club>(&whole).await;
        plant(&whole).await;
        for writes in points(20, 10, &format!("{mode:?}")) {
            let db = whole.fork().expect("in memory");
            let program = program_over::<Club>(&db, Busy::over(&db, writes)).await;
            let applied = program.migrations().apply().await.expect("applied");
            assert!(applied.is_complete(), "{mode:?}, {writes}: {applied:?}");
            let is_left = all_rows(&program, "Club").await.iter().any(|row| row.key == stray());
            assert!(!is_left, "{mode:?}: {writes} writes hid it");
            assert_clean(&program, &format!("{mode:?}, {writes}")).await;
        }
    }
}

/// Something that is wrong there, and no matter of the index, hides nothing.
#[tokio::test]
async fn a_migration_over_a_partition_that_never_rests_asks_to_be_applied_again() {
    for (mode, is_littered) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
        let db = filled(mode, 2, 120).await;
        next::<Club>(&db).await;
        plant(&db).await;
        if is_littered {
            let dead = Action::Insert(tombstone("Person", 1, 1));
            db.store().commit(&[Batch::new("Club", "c0").with("p_0999", dead)]).await.expect("planted");
            db.clock().advance(Duration::from_secs(21 * 60));
        }
        let busy = Busy::over(&db, usize::MAX);
        let program = program_over::<Club>(&db, busy.clone()).await;
        let error = program.migrations().apply().await.expect_err("it cannot be told");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.to_string().contains("1 partitions are written more often than they can be checked"), "{error}");
        busy.left.store(0, Ordering::Relaxed);
        assert!(program.migrations().apply().await.expect("applied").is_complete());
        assert_clean(&program, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn what_is_wrong_in_a_partition_that_is_written_is_reported_once_two_reads_agree_and_counted_while_none_do() {
    let db = filled(Consistency::Azure, 2, 3).await;
    let program = next::<Club>(&db).await;
    program.migrations().apply().await.expect("applied");
    plant(&db).await;
    for (writes, found) in [(0, 1), (2, 1), (4, 1), (usize::MAX, 0)] {
        let program = program_over::<Club>(&db, Busy::over(&db, writes)).await;
        let verified = program.verify().await.expect("verify runs");
        assert_eq!(
            (verified.violations.len(), verified.unsettled),
            (found, 1 - found as u64),
            "{writes}: {verified:?}"
        );
        assert!(verified.violations.iter().all(|of| of.kind == ViolationKind::Dangling && of.key == stray()));
    }
}

/// A store that gives short pages, before each of which a program writes an entity.
struct Hot {
    writer: Database,
}

#[async_trait::async_trait]
impl Between for Hot {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        if query.table != "Club" {
            return inner.query(query).await;
        }
        let path = Person::find().club("c0").id(1);
        self.writer.update(path, |person| Ok(person.visits += 1)).await.expect("written");
        inner.query(&Query { limit: query.limit.min(40), ..query.clone() }).await
    }
}

/// Who writes has learnt of the index, and what he leaves is right, also where it is not as it was read.
#[tokio::test]
async fn a_migration_ends_however_often_an_entity_is_written() {
    let db = filled(Consistency::Azure, 2, 120).await;
    let writer = next::<Club>(&db).await;
    let program = program_over::<Club>(&db, Around::over(db.store(), Hot { writer })).await;
    let applied = program.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{applied:?}");
    drop(program);
    let program = program_over::<Club>(&db, db.store()).await;
    assert_clean(&program, "written all the while").await;
}
