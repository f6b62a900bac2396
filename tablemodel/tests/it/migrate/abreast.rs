//! Copies and totals that are added to entities of many partitions: where the store can, hundreds of those are filled by one commit, and
//! one that cannot be is set aside alone.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, RowKey,
    prelude::*,
    store::{Batch, Receipts, StoreError, TableStore},
};

use super::{MODES, assert_clean, next, program_over, store_of};
use crate::between::{Around, Between};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Owners", partition = "{number}", row = "owner")]
struct Owner {
    number: u32,
    name: String,
    #[table(aggregate)]
    pets: i64,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Owner)]
struct Card {
    name: String,
}

mod first {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Owners", entity_type = "Owner", partition = "{number}", row = "owner")]
    pub(super) struct Owner {
        pub(super) number: u32,
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Pets", entity_type = "Pet", partition = "{id:05}", row = "pet")]
    pub(super) struct Pet {
        pub(super) id: u32,
        pub(super) owner: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Pets", entity_type = "Collar", partition = "{pet:05}", row = "collar")]
    pub(super) struct Collar {
        pub(super) pet: u32,
        pub(super) owner: u32,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Owner(Owner),
        Pet(Pet),
        Collar(Collar),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pets", entity_type = "Pet", partition = "{id:05}", row = "pet")]
#[table(count(Owner, key(number = owner), into = pets))]
struct Pet {
    id: u32,
    owner: u32,
    #[table(copy_of(Owner, key(number = owner)))]
    card: Card,
}

/// In the same partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pets", entity_type = "Collar", partition = "{pet:05}", row = "collar")]
struct Collar {
    pet: u32,
    owner: u32,
    #[table(copy_of(Owner, key(number = owner)))]
    card: Option<Card>,
}

#[derive(TableModel)]
enum Model {
    Owner(Owner),
    Pet(Pet),
    Collar(Collar),
}

/// Counts the commits that write pets.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Between for Counting {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.0.fetch_add(usize::from(batches.iter().any(|batch| batch.table == "Pets")), Ordering::Relaxed);
        inner.commit(batches).await
    }
}

const PETS: u32 = 700;

#[tokio::test]
async fn many_partitions_are_filled_by_few_commits_and_who_cannot_be_is_set_aside_alone() {
    for mode in MODES {
        let db = store_of::<first::Model>(mode).await;
        for number in 0..3 {
            db.insert(&first::Owner { number, name: format!("owner {number}") }).await.unwrap();
        }
        let owner_of = |id: u32| if id == 333 { 9 } else { id % 3 }; // one that is not there
        let pets = (0..PETS).map(|id| first::Pet { id, owner: owner_of(id) });
        db.bulk().insert_iter(pets).await.unwrap().into_result().unwrap();
        let collars = (0..PETS).map(|pet| first::Collar { pet, owner: pet % 4 });
        db.bulk().insert_iter(collars).await.unwrap().into_result().unwrap();
        drop(next::<Model>(&db).await);
        let around = Around::over(db.store(), Counting::default());
        let program = program_over::<Model>(&db, Arc::<Around<Counting>>::clone(&around)).await;
        let applied = program.migrations().apply().await.unwrap();
        let told = format!("{mode:?}: {applied:?}");
        assert_eq!((applied.touched, applied.failed), (u64::from(PETS) * 2 - 1, 1), "{told}");
        let failures = program.migrations().failures().await.unwrap();
        assert_eq!(failures[0].key, RowKey::new("00333", "pet"), "{told}");
        let commits = around.0.load(Ordering::Relaxed);
        match mode {
            Consistency::Azure => assert!(commits >= PETS as usize, "{told}: {commits}"),
            _ => assert!(commits <= 40, "{told}: {commits}"),
        }
        program.insert(&Owner { number: 9, name: "owner 9".into(), pets: 0 }).await.unwrap();
        assert_eq!(program.migrations().retry_failures().await.unwrap(), 0, "{told}");
        program.migrations().apply().await.unwrap().into_result().unwrap();
        assert_clean(&program, &told).await;
        for number in [0, 1, 2, 9] {
            let owner = Owner::find().number(number).one(&program).await.unwrap().unwrap();
            let count = (0..PETS).filter(|id| owner_of(*id) == number).count() as i64;
            assert_eq!(owner.pets, count, "{told}: {number}");
        }
        for id in (0..PETS).step_by(37).chain([333]) {
            let pet = Pet::find().id(id).one(&program).await.unwrap().unwrap();
            assert_eq!(pet.card.name, format!("owner {}", owner_of(id)), "{told}");
            let collar = Collar::find().pet(id).one(&program).await.unwrap().unwrap();
            let name = (id % 4 < 3).then(|| format!("owner {}", id % 4));
            assert_eq!(collar.card.as_ref().map(|card| card.name.clone()), name, "{told}");
        }
    }
}
