//! The store as a program sees it over a network: requests are slow, fail, or are carried out although nobody hears of it.
//!
//! What becomes of a request is the world's to say.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tablemodel::{
    Row, RowKey,
    store::{
        Batch, Capabilities, MemoryStore, Page, Query, Receipts, StoreError, StoreErrorKind, TableStore, clock::Sleep,
    },
};
use tokio::sync::oneshot;

use super::world::World;

/// Within this time a request that was sent is carried out, or never.
const LONGEST: u64 = 29_000;

pub(super) struct Wire {
    pub(super) world: World,
    pub(super) store: Arc<MemoryStore>,
    pub(super) number: u64,
    /// One of so many requests meets each fault.
    pub(super) fault: u64,
}

impl Wire {
    async fn read<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.world.turn().await;
        if self.world.once_in(self.fault) {
            return Err(busy());
        }
        let result = call.await;
        self.world.turn().await;
        if self.world.once_in(self.fault) {
            self.world.sleep(Duration::from_secs(20 + self.world.roll(20))).await;
        }
        result
    }
}

fn busy() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the store is busy")
}

#[async_trait]
impl TableStore for Wire {
    fn capabilities(&self) -> Capabilities {
        Capabilities { may_lose_reply: true, ..self.store.capabilities() }
    }

    async fn create_table(&self, name: &str) -> Result<(), StoreError> {
        self.read(self.store.create_table(name)).await
    }

    async fn delete_table(&self, name: &str) -> Result<(), StoreError> {
        self.read(self.store.delete_table(name)).await
    }

    async fn list_tables(&self) -> Result<Vec<String>, StoreError> {
        self.read(self.store.list_tables()).await
    }

    async fn get(&self, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.read(self.store.get(table, key)).await
    }

    async fn query(&self, query: &Query) -> Result<Page, StoreError> {
        self.read(self.store.query(query)).await
    }

    /// Goes on its way even where who asks for it dies.
    async fn commit(&self, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.world.turn().await;
        if self.world.once_in(self.fault) {
            return Err(busy());
        }
        let (reply, answer) = oneshot::channel();
        let slow = if self.world.once_in(self.fault) { self.world.roll(LONGEST) } else { 0 };
        let is_lost = self.world.once_in(self.fault);
        let number = self.number;
        let (world, store, batches) = (self.world.clone(), Arc::clone(&self.store), batches.to_vec());
        self.world.begin(async move {
            world.turn().await;
            world.sleep(Duration::from_millis(slow)).await;
            let result = store.commit(&batches).await;
            if std::env::var("TRACE").is_ok() {
                eprintln!("{} COMMIT by {}", world.clock_now(), number);
                for batch in &batches {
                    for op in &batch.operations {
                        eprintln!("   {} {} {:?}", batch.table, batch.partition, op);
                    }
                }
                eprintln!("   => {:?}", result.as_ref().map(|_| "ok").map_err(|e| e.to_string()));
            }
            world.turn().await;
            if is_lost {
                // The connection breaks at once, or only when who waits has lost patience.
                world.sleep(Duration::from_secs(world.roll(2) * 60)).await;
            } else {
                let _ = reply.send(result);
            }
        });
        answer.await.unwrap_or_else(|_| Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "the reply was lost")))
    }
}
