//! Who is read first, a source or who follows it, where both are written in one batch since both follow another.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tablemodel::{
    Row, RowKey, ValueRef,
    prelude::*,
    store::{Action, Batch, Operation, Receipts, StoreError, TableStore},
};

use super::settle;
use crate::{
    between::{Around, Between},
    migrate::{MODES, program, program_over, store_of},
};

/// Is copied, and copies.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Crew", partition = "{ship}", row = "captain")]
struct Captain {
    ship: String,
    name: String,
    fleet: String,
    #[table(copy_of(Fleet, key(fleet = fleet)))]
    of: Option<Flag>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Crew", partition = "{ship}", row = "s_{id:01}")]
struct Sailor {
    ship: String,
    id: u32,
    fleet: String,
    #[table(copy_of(Captain, key(ship = ship)))]
    under: Option<Name>,
    #[table(copy_of(Fleet, key(fleet = fleet)))]
    of: Option<Flag>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Fleets", partition = "{fleet}", row = "fleet")]
pub(super) struct Fleet {
    pub(super) fleet: String,
    pub(super) flag: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Captain)]
struct Name {
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Fleet)]
pub(super) struct Flag {
    pub(super) flag: String,
}

#[derive(TableModel)]
enum Model {
    Captain(Captain),
    Sailor(Sailor),
    Fleet(Fleet),
}

fn sailor(id: u32) -> Sailor {
    Sailor { ship: "A".into(), id, fleet: "F".into(), under: None, of: None }
}

/// Right before one looks at the first sailor, another program changes the fleet, which that follows.
struct Midway {
    other: Database,
    is_done: AtomicBool,
    went_back: AtomicBool,
}

#[async_trait]
impl Between for Midway {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        if key.row == "s_1" && !self.is_done.swap(true, Ordering::SeqCst) {
            self.other.patch(Fleet::find().fleet("F"), Fleet::FLAG.set("blue")).await.expect("patched");
            self.other.relay().drain().await.expect("drained");
        }
        inner.get(table, key).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let receipts = inner.commit(batches).await;
        let is_red = |write: &Operation| {
            let (Action::Replace(properties, _) | Action::Merge(properties, _)) = &write.action else { return false };
            write.row == "s_1" && properties.get("Of_Flag") == Some(ValueRef::String("red"))
        };
        let went_back = receipts.is_ok() && batches.iter().flat_map(|batch| &batch.operations).any(is_red);
        self.went_back.fetch_or(went_back && self.is_done.load(Ordering::SeqCst), Ordering::SeqCst);
        receipts
    }
}

/// One who comes copies the fleet, and one follows the captain, in one batch.
#[tokio::test]
async fn who_follows_is_read_before_its_other_sources_though_one_beside_it_copies_them_too() {
    for mode in MODES {
        let db = store_of::<Model>(mode).await;
        db.insert(&Fleet { fleet: "F".into(), flag: "red".into() }).await.unwrap();
        // Not of that fleet: the batch would be refused, and all be read again.
        let captain = Captain { ship: "A".into(), name: "old".into(), fleet: "G".into(), of: None };
        db.insert(&captain).await.unwrap();
        db.insert(&sailor(1)).await.unwrap();
        let midway = Midway {
            other: program::<Model>(&db).await,
            is_done: AtomicBool::new(false),
            went_back: AtomicBool::new(false),
        };
        let around = Around::over(db.store(), midway);
        let program = program_over::<Model>(&db, around.clone()).await;
        let mut batch = program.batch(Captain::in_partition("A"));
        batch.insert(&sailor(2)).patch(Captain::find().ship("A"), Captain::NAME.set("new"));
        batch.commit().await.unwrap();
        assert!(around.is_done.load(Ordering::SeqCst), "{mode:?}: the sailor was looked at");
        assert!(!around.went_back.load(Ordering::SeqCst), "{mode:?}: nobody saw the former flag again");
        settle(&db).await;
        for id in [1, 2] {
            let sailor = Sailor::find().ship("A").id(id).one(&db).await.unwrap().unwrap();
            assert_eq!(sailor.of.as_ref().map(|of| of.flag.as_str()), Some("blue"), "{mode:?}, {id}");
            assert_eq!(sailor.under.as_ref().map(|under| under.name.as_str()), Some("new"), "{mode:?}, {id}");
        }
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}
