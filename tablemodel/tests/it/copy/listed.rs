//! Holders that lists keep the keys of.

use tablemodel::{
    prelude::*,
    testing::{CallKind, CallRecord},
};

use super::{
    in_order::{Flag, Fleet},
    settle,
};
use crate::migrate::{MODES, store_of};

/// Its index shows what is copied; its list does not.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Ships", partition = "{port}", row = "s_{id:02}")]
#[table(index(by_name, row = "n_{name}_{id:02}"))]
#[table(list(by_berth, row = "berth_{berth:02}"))]
struct Ship {
    port: String,
    id: u32,
    name: String,
    berth: u32,
    fleet: String,
    #[table(copy_of(Fleet, key(fleet = fleet)))]
    of: Option<Flag>,
}

#[derive(TableModel)]
enum Model {
    Fleet(Fleet),
    Ship(Ship),
}

#[tokio::test]
async fn who_follows_reads_no_list_that_stays_as_it_is() {
    for mode in MODES {
        let db = store_of::<Model>(mode).await;
        db.insert(&Fleet { fleet: "F".into(), flag: "red".into() }).await.unwrap();
        for id in 0..10 {
            let ship = Ship { port: "A".into(), id, name: "Ann".into(), berth: id, fleet: "F".into(), of: None };
            db.insert(&ship).await.unwrap();
        }
        settle(&db).await;
        db.forget_calls();
        db.patch(Fleet::find().fleet("F"), Fleet::FLAG.set("blue")).await.unwrap();
        settle(&db).await;
        let is_list =
            |call: &CallRecord| matches!(&call.call, CallKind::Get { key, .. } if key.row.starts_with("berth_"));
        assert_eq!(db.calls().iter().filter(|call| is_list(call)).count(), 0, "{mode:?}");
        let ships = Ship::by_name().port("A").name("Ann").all(&db).await.unwrap();
        assert!(ships.len() == 10 && ships.iter().all(|ship| ship.of.as_ref().unwrap().flag == "blue"), "{ships:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}
