//! The store as a program sees it over a network: requests are slow, fail, or are carried out although nobody hears of it.
//!
//! What becomes of a request is the world's to say.

use std::time::Duration;

use async_trait::async_trait;
use tablemodel::{
    Row, RowKey,
    blob::object_store,
    store::{
        Action, Batch, Capabilities, Condition, MemoryStore, Page, Query, Receipts, StoreError, StoreErrorKind,
        TableStore,
        clock::{Clock, Sleep},
    },
};
use tokio::sync::oneshot;

use super::world::World;
use crate::blob::faulty::{Course, down};

/// Within this time a request that was sent is carried out, or never.
const LONGEST: u64 = 29_000;

/// What no store may do: so that it is seen that it would be found out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lie {
    /// Says that it carried out what it did not.
    Forgets,
    /// Leaves out the last operation.
    Tears,
    /// Writes over what another wrote meanwhile.
    IgnoresETags,
}

pub(super) struct Wire {
    pub(super) world: World,
    pub(super) store: MemoryStore,
    /// The program's.
    pub(super) number: u64,
    /// One of so many requests meets each fault.
    pub(super) fault: u64,
    pub(super) lie: Option<Lie>,
    /// Whether some are told that the connection broke while the request goes on, and is carried out later.
    pub(super) breaks: bool,
}

impl Wire {
    /// At times the whole machine does, well under half the fence.
    async fn stand_still(&self) {
        if self.world.once_in(self.fault * 4) {
            self.world.sleep(Duration::from_secs(self.world.roll(120))).await;
        }
    }

    async fn read<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.stand_still().await;
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

/// What the blobs' store does to requests.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) world: World,
    pub(super) fault: u64,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Way")
    }
}

#[async_trait]
impl Course for Way {
    async fn goes_on(&self) -> Result<(), object_store::Error> {
        self.world.turn().await;
        if self.world.once_in(self.fault) { Err(down()) } else { Ok(()) }
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
        self.stand_still().await;
        self.world.turn().await;
        if self.world.once_in(self.fault) {
            return Err(busy());
        }
        let (reply, answer) = oneshot::channel();
        self.world.begin(self.under_way(batches.to_vec(), reply));
        answer.await.unwrap_or_else(|_| Err(StoreError::new(StoreErrorKind::OutcomeUnknown, "the reply was lost")))
    }
}

impl Wire {
    fn under_way(
        &self,
        batches: Vec<Batch>,
        reply: oneshot::Sender<Result<Vec<Receipts>, StoreError>>,
    ) -> impl Future<Output = ()> + use<> {
        let (world, store, number) = (self.world.clone(), self.store.clone(), self.number);
        let slow = if world.once_in(self.fault) { world.roll(LONGEST) } else { 0 };
        let is_lost = world.once_in(self.fault);
        let lie = self.lie.filter(|_| world.once_in(3));
        let breaks = self.breaks && is_lost && world.once_in(2);
        let slow = if breaks { world.roll(LONGEST) } else { slow };
        let mut reply = Some(reply).filter(|_| !breaks);
        async move {
            world.turn().await;
            world.sleep(Duration::from_millis(slow)).await;
            let result = match lie {
                None => store.commit(&batches).await,
                Some(lie) => lie.told(&store, &world, &batches).await,
            };
            trace(&world, number, &batches, &result);
            world.turn().await;
            if is_lost {
                // The connection breaks at once, or only when who waits has lost patience.
                world.sleep(Duration::from_secs(world.roll(2) * 60)).await;
            } else {
                let _ = reply.take().map(|reply| reply.send(result)); // it may be dead
            }
        }
    }
}

impl Lie {
    async fn told(self, store: &MemoryStore, world: &World, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let mut done = batches.to_vec();
        match self {
            Self::Forgets => done.clear(),
            Self::Tears => drop(done.last_mut().and_then(|last| last.operations.pop())),
            Self::IgnoresETags => {
                let all = done.iter_mut().flat_map(|batch| &mut batch.operations);
                all.for_each(|operation| operation.action = unconditional(operation.action.clone()));
            }
        }
        let told = match self {
            Self::IgnoresETags => return store.commit(&done).await,
            Self::Forgets | Self::Tears => store.fork(world.clock().clone()).commit(batches).await?,
        };
        done.retain(|batch| !batch.operations.is_empty());
        if !done.is_empty() {
            store.commit(&done).await?;
        }
        Ok(told)
    }
}

fn unconditional(action: Action) -> Action {
    match action {
        Action::Replace(properties, _) => Action::Replace(properties, Condition::Exists),
        Action::Merge(properties, _) => Action::Merge(properties, Condition::Exists),
        Action::Delete(_) => Action::Delete(Condition::Exists),
        other => other,
    }
}

/// For whoever looks into a seed.
pub(super) fn is_traced() -> bool {
    std::env::var_os("TABLEMODEL_TRACE").is_some()
}

fn trace(world: &World, number: u64, batches: &[Batch], result: &Result<Vec<Receipts>, StoreError>) {
    if !is_traced() {
        return;
    }
    let told = result.as_ref().err().map_or_else(|| "done".to_owned(), ToString::to_string);
    eprintln!("{} program {number}: {told}", world.clock().now());
    for batch in batches {
        for operation in &batch.operations {
            eprintln!("    {} {} {}: {:?}", batch.table, batch.partition, operation.row, operation.action);
        }
    }
}
