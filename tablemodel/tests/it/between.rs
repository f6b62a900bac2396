//! Stores around a store, in which something happens between a program's call and what is done.
//!
//! No test stands here.

use std::{ops::Deref, sync::Arc};

use async_trait::async_trait;
use tablemodel::{
    Row, RowKey,
    store::{Batch, Capabilities, Page, Query, Receipts, StoreError, TableStore},
};

/// What stands between a program and its store; what is not said goes on as it is.
#[async_trait]
pub(crate) trait Between: Send + Sync + 'static {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        inner
    }

    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        inner.commit(batches).await
    }
}

/// The store that a program has then. It shows no rows, so that every read is a call.
pub(crate) struct Around<B> {
    pub(crate) inner: Arc<dyn TableStore>,
    between: B,
}

impl<B> Around<B> {
    pub(crate) fn over(inner: Arc<dyn TableStore>, between: B) -> Arc<Self> {
        Arc::new(Self { inner, between })
    }
}

impl<B> Deref for Around<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.between
    }
}

#[async_trait]
impl<B: Between> TableStore for Around<B> {
    fn capabilities(&self) -> Capabilities {
        self.between.capabilities(self.inner.capabilities())
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.inner.create_table(name).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete_table(name).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.inner.list_tables().await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.between.get(&*self.inner, table, key).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.between.query(&*self.inner, query).await
    }

    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.between.commit(&*self.inner, batches).await
    }
}
