//! A store in which a request is on its way for long: nobody hears of it, and it is carried out when a test says so.
//!
//! No test stands here.

use std::sync::{Arc, Mutex};

use tablemodel::{
    store::{Batch, Capabilities, Operation, Receipts, StoreError, StoreErrorKind, TableStore},
    testing::TestDatabase,
};

use crate::between::{Around, Between};

/// Whether a commit with this operation in this table is held.
type IsHeld = Box<dyn Fn(&str, &Operation) -> bool + Send + Sync>;

/// Holds the first commit that it is to, and answers nothing to it.
pub(crate) struct Held {
    is_held: IsHeld,
    held: Mutex<Way>,
    /// Whether others like it are refused, or carried out.
    refuses: bool,
}

/// What became of it.
enum Way {
    Before,
    OnIt(Vec<Batch>),
    Landed,
}

impl Held {
    pub(crate) fn over(
        db: &TestDatabase,
        refuses: bool,
        is_held: impl Fn(&str, &Operation) -> bool + Send + Sync + 'static,
    ) -> Arc<Around<Self>> {
        Around::over(db.store(), Self { is_held: Box::new(is_held), held: Mutex::new(Way::Before), refuses })
    }

    pub(crate) fn is_on_its_way(&self) -> bool {
        matches!(*self.held.lock().unwrap(), Way::OnIt(_))
    }

    /// The error for a commit that is not carried out now.
    fn stopped(&self, batches: &[Batch]) -> Option<StoreError> {
        let mut operations = batches.iter().flat_map(|batch| batch.operations.iter().map(|of| (&batch.table, of)));
        if !operations.any(|(table, operation)| (self.is_held)(table, operation)) {
            return None;
        }
        let mut held = self.held.lock().unwrap();
        match &*held {
            Way::Before => {
                *held = Way::OnIt(batches.to_vec());
                Some(StoreError::new(StoreErrorKind::OutcomeUnknown, "no reply within the deadline"))
            }
            Way::OnIt(_) if self.refuses => Some(StoreError::new(StoreErrorKind::Unavailable, "it is busy")),
            Way::OnIt(_) | Way::Landed => None,
        }
    }
}

impl Around<Held> {
    /// Carries it out, if that can be done by now.
    pub(crate) async fn land(&self) {
        let held = std::mem::replace(&mut *self.held.lock().unwrap(), Way::Landed);
        let Way::OnIt(batches) = held else { panic!("nothing is on its way") };
        let _refused_by_now = self.inner.commit(&batches).await;
    }
}

#[async_trait::async_trait]
impl Between for Held {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        Capabilities { may_lose_reply: true, ..inner }
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        match self.stopped(batches) {
            Some(error) => Err(error),
            None => inner.commit(batches).await,
        }
    }
}
