//! Calls whose futures are dropped before they have ended, as by a timeout; their program goes on.
//!
//! No test stands here.

use std::{pin::pin, sync::Arc, task::Poll};

use async_trait::async_trait;
use futures_util::future::poll_fn;
use tablemodel::{
    Row, RowKey,
    store::{Batch, Page, Query, Receipts, StoreError, TableStore},
};
use tokio::task::yield_now;

use crate::between::{Around, Between};

/// A way to a store whose every request, and every answer, lets others go first.
pub(crate) struct Slow;

impl Slow {
    pub(crate) fn over(store: Arc<dyn TableStore>) -> Arc<Around<Self>> {
        Around::over(store, Self)
    }
}

#[async_trait]
impl Between for Slow {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        yield_now().await;
        let row = inner.get(table, key).await;
        yield_now().await;
        row
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        yield_now().await;
        let page = inner.query(query).await;
        yield_now().await;
        page
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        yield_now().await;
        let receipts = inner.commit(batches).await;
        yield_now().await;
        receipts
    }
}

/// What the call gives, unless it is dropped after so many turns; and how many it took.
pub(crate) async fn dropped_after<T>(turns: usize, call: impl Future<Output = T>) -> (Option<T>, usize) {
    let (mut call, mut taken) = (pin!(call), 0);
    let done = poll_fn(|context| {
        if taken == turns {
            return Poll::Ready(None);
        }
        taken += 1;
        call.as_mut().poll(context).map(Some)
    });
    (done.await, taken)
}
