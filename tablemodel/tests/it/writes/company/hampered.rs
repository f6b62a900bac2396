//! Tasks that are written together, and another program that changes what they meet in each time they try.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{Action, Batch, Receipts, StoreError, TableStore},
};

use super::{super::turns::Steps, Model, assert_exact, pet, store, visit};
use crate::{
    between::{Around, Between},
    dropped::Slow,
    migrate::MODES,
};

/// Changes the shop and the town right before each commit that writes several entities.
struct Hampering {
    db: Database,
    times: AtomicUsize,
}

#[async_trait]
impl Between for Hampering {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let writes = batches.iter().flat_map(|batch| &batch.operations);
        let is_entity = |row: &str| row.starts_with("v_") || row == "pet";
        if writes.filter(|write| is_entity(&write.row) && matches!(write.action, Action::Insert(_))).count() > 1 {
            let number = 50 + self.times.fetch_add(1, Ordering::SeqCst) as u32;
            self.db.insert(&visit(number)).await.expect("inserted");
            self.db.insert(&super::Pet { town: 0, ..pet(number) }).await.expect("inserted");
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn those_whom_another_program_keeps_from_going_together_go_alone_and_soon() {
    const TASKS: u32 = 16;
    for mode in MODES {
        for is_abroad in [false, true] {
            let db = store(mode).await;
            let between = Hampering { db: (*db).clone(), times: AtomicUsize::new(0) };
            let slow = Around::over(Slow::over(db.store()), between);
            let builder = Database::builder().consistency(mode).clock(Arc::new(db.clock().clone()));
            let program = builder.sleep(Arc::new(Steps)).with_store::<Model>(slow.clone()).await.unwrap();
            let insert = async |id: u32| match is_abroad {
                false => program.insert(&visit(id)).await.map(drop),
                true => program.insert(&super::Pet { town: 0, ..pet(id) }).await.map(drop),
            };
            let told = format!("{mode:?}, {is_abroad}");
            for inserted in join_all((0..TASKS).map(insert)).await {
                inserted.unwrap_or_else(|error| panic!("{told}: {error}"));
            }
            let times = slow.times.load(Ordering::SeqCst);
            // Attempts, and not as many for each half of them.
            assert!(times <= 40, "{told}: {times} attempts in vain");
            assert_eq!(times > 0, !is_abroad || mode == Consistency::Atomic, "{told}: they do go together");
            let (pets, visits) = assert_exact(&db, &told).await;
            let own = if is_abroad {
                pets.iter().filter(|pet| pet.id < TASKS).count()
            } else {
                visits.iter().filter(|visit| visit.id < TASKS).count()
            };
            assert_eq!(own, TASKS as usize, "{told}");
        }
    }
}
