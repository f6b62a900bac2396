//! Many tasks of one program, which take turns where they meet, while time passes elsewhere.
//!
//! No test stands here.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tablemodel::{
    prelude::*,
    store::{TableStore, clock::Sleep},
    testing::TestDatabase,
};

use crate::{dropped::Slow, migrate::Passing};

/// Time passes where somebody sleeps; the second that a turn is waited for, after others have had many turns of their own.
struct Patient(Passing);

#[async_trait]
impl Sleep for Patient {
    async fn sleep(&self, time: Duration) {
        let turns = if time == Duration::from_secs(1) { 1_000 } else { 0 };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        self.0.sleep(time).await;
    }
}

/// A program over the store, of which every request, and every answer, lets others go first.
pub(crate) async fn program<M: TableModel>(db: &TestDatabase) -> Database {
    let store: Arc<dyn TableStore> = Slow::over(db.store());
    let builder = Database::builder().consistency(db.consistency()).clock(Arc::new(db.clock().clone()));
    let sleep = Arc::new(Patient(Passing(db.clock().clone())));
    builder.sleep(sleep).deadline(Duration::MAX).with_store::<M>(store).await.expect("opened")
}
