//! A switch whose request lands after whoever made it has given it up.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tablemodel::{
    ErrorKind,
    store::{Batch, Page, Query, Receipts, StoreError, StoreErrorKind, TableStore},
    testing::TestDatabase,
};

use super::{MODES, assert_clean, filled, new_flights, next, old_rows, second};
use crate::{
    between::{Around, Between},
    migrate::program_over,
};

/// How often a batch is tried.
const ATTEMPTS: usize = 8;

/// A store that answers nothing to a switch, and carries the first request of it out before the so-manieth look at the states after
/// the last.
#[derive(Default)]
struct Late {
    held: Mutex<Option<Vec<Batch>>>,
    attempts: AtomicUsize,
    looks: AtomicUsize,
    lands_before: usize,
}

impl Late {
    fn over(db: &TestDatabase, lands_before: usize) -> Arc<Around<Self>> {
        Around::over(db.store(), Self { lands_before, ..Self::default() })
    }

    async fn look(&self, inner: &dyn TableStore) {
        if self.attempts.load(Ordering::Relaxed) < ATTEMPTS {
            return;
        }
        if self.looks.fetch_add(1, Ordering::Relaxed) == self.lands_before {
            let held = self.held.lock().unwrap().take();
            let _other_by_now = inner.commit(&held.expect("it was held")).await;
        }
    }
}

#[async_trait::async_trait]
impl Between for Late {
    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        if query.table == "tmschema" {
            self.look(inner).await;
        }
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let mut operations = batches.iter().flat_map(|batch| &batch.operations);
        if !operations.any(|operation| operation.row == "entity|Flight") {
            return inner.commit(batches).await;
        }
        if self.attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.held.lock().unwrap() = Some(batches.to_vec());
        }
        Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "no reply within the deadline"))
    }
}

#[tokio::test]
async fn a_switch_that_lands_once_it_was_given_up_is_gone_on_with() {
    for mode in MODES {
        let mut landed = 0;
        for lands_before in 0..8 {
            let told = format!("{mode:?}, before look {lands_before}");
            let store = filled(mode, 1, 4).await;
            let db = next::<second::Model>(&store).await;
            db.migrations().apply().await.expect("applied");
            let flights = new_flights(&db, 1).await.expect("complete");
            let late = Late::over(&store, lands_before);
            let slow = program_over::<second::Model>(&store, late.clone()).await;
            let error = slow.migrations().contract().await.expect_err("nothing is answered");
            assert_eq!(*error.kind(), ErrorKind::Unavailable, "{told}: {error:?}");
            drop(slow);
            landed += usize::from(late.held.lock().unwrap().is_none());
            store.clock().advance(std::time::Duration::from_secs(130));
            db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_eq!(new_flights(&db, 1).await.expect("complete"), flights, "{told}");
            assert!(old_rows(&db).await.is_empty(), "{told}");
            assert_clean(&db, &told).await;
            let plan = db.migrations().plan().await.expect("planned");
            assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
        }
        assert!(landed >= 3, "{mode:?}: {landed}");
    }
}
