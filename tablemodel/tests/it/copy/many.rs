//! One source with hundreds of holders: close together in three partitions, in partitions of their own, beside it, and over a thousand in
//! one partition.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use futures_util::stream;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{
        Action, Batch, Condition, Receipts, RowKey, StoreError, StoreErrorKind, TableStore,
        fault::{Call, Request},
        limits,
    },
    testing::{CallKind, Fault, Script, TestDatabase},
};

use super::{
    Department, Desk, Employee, MODES, Model, Note, assert_exact, at, badge, database, department, desk, employee,
    note, rows_in, settle,
};
use crate::between::{Around, Between};

const DESKS: u32 = 330;

async fn crowded(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for id in 1..=2 {
        db.insert(&employee("A", id)).await.unwrap();
    }
    // Every seventh copies another: between those that follow stand some that do not.
    let of = |number: u32| if number.is_multiple_of(7) { 2 } else { 1 };
    let desks = (1..=DESKS).map(|place| desk(place, of(place)));
    db.bulk().insert_all(stream::iter(desks)).await.unwrap().into_result().unwrap();
    let badges = (1..=30).map(|number| badge(number, of(number)));
    db.bulk().insert_all(stream::iter(badges)).await.unwrap().into_result().unwrap();
    let notes = (1..=30).map(|number| note(number, of(number)));
    db.bulk().insert_all(stream::iter(notes)).await.unwrap().into_result().unwrap();
    let departments = (1..=60).map(|number| department("A", number, of(number.into())));
    db.bulk().insert_all(stream::iter(departments)).await.unwrap().into_result().unwrap();
    settle(&db).await;
    assert_exact(&db, "before").await;
    db
}

async fn rename(db: &TestDatabase, name: &str) {
    db.update(at!("A", 1), |e| Ok(e.first_name = name.into())).await.unwrap();
}

#[tokio::test]
async fn hundreds_of_holders_follow_their_source() {
    for mode in MODES {
        let db = crowded(mode).await;
        db.forget_calls();
        rename(&db, "Ann").await;
        let commits = db.calls().iter().filter(|call| matches!(call.call, CallKind::Commit { .. })).count();
        match mode {
            Consistency::Atomic => assert_eq!(commits, 1),
            Consistency::Azure => assert!(commits < 130, "{commits} commits"),
        }
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}: renamed")).await;
        assert_eq!(db.verify().await.unwrap().violations, Vec::new(), "{mode:?}");
        db.patch(at!("A", 1), Employee::FIRST_NAME.set("June")).await.unwrap();
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}: patched")).await;
        let desk = Desk::find().room("r1").place(1).one(&db).await.unwrap().unwrap();
        assert_eq!(desk.who.as_ref().map(|who| who.first_name.as_str()), Some("June"));
        assert_eq!(Note::find().number(1).one(&db).await.unwrap().unwrap().author.as_ref().unwrap().first_name, "June");
    }
}

#[tokio::test]
async fn a_change_that_no_copy_shows_writes_no_holder() {
    for mode in MODES {
        let db = crowded(mode).await;
        let before = rows_in(&*db.store(), "Desks").await;
        db.update(at!("A", 1), |e| Ok(e.age += 1)).await.unwrap();
        settle(&db).await;
        assert_eq!(rows_in(&*db.store(), "Desks").await, before, "{mode:?}");
    }
}

/// Writes a desk anew, as it is, right before some of the commits in which it follows.
struct Busy {
    left: AtomicU32,
}

impl Busy {
    async fn meddle(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<(), StoreError> {
        let is_desk = |batch: &Batch| batch.operations.iter().any(|operation| operation.row == "desk_0004");
        let follows = batches.iter().any(|batch| batch.table == "Desks" && is_desk(batch));
        if !follows || self.left.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.left.fetch_sub(1, Ordering::Relaxed);
        let Some(desk) = inner.get("Desks", &RowKey::new("r1", "desk_0004")).await? else { return Ok(()) };
        let same = Action::Replace(desk.properties, Condition::Exists);
        inner.commit(&[Batch::new("Desks", "r1").with("desk_0004", same)]).await.map(drop)
    }
}

#[async_trait]
impl Between for Busy {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        self.meddle(inner, batches).await?;
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_holder_that_changes_meanwhile_holds_none_up() {
    for mode in MODES {
        let db = crowded(mode).await;
        let busy = Around::over(db.store(), Busy { left: AtomicU32::new(3) });
        let builder = Database::builder().consistency(mode).clock(Arc::new(db.clock().clone()));
        let other = builder.with_store::<Model>(busy.clone()).await.unwrap();
        other.update(at!("A", 1), |e| Ok(e.first_name = "Ann".into())).await.unwrap();
        assert_eq!(busy.left.load(Ordering::Relaxed), 0, "{mode:?}: nothing came between");
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

/// One that cannot be written: a later version of the program wrote it.
#[tokio::test]
async fn a_holder_that_cannot_follow_holds_up_itself_alone() {
    let db = crowded(Consistency::Azure).await;
    let key = ("Desks".to_owned(), "r1".to_owned(), "desk_0004".to_owned());
    let as_it_is = rows_in(&*db.store(), "Desks").await[&key].clone();
    let mut newer = as_it_is.clone();
    newer.insert("EntityType", "Desk@9");
    let put = |properties| Batch::new("Desks", "r1").with("desk_0004", Action::Replace(properties, Condition::Exists));
    db.store().commit(&[put(newer)]).await.unwrap();
    rename(&db, "Ann").await;
    for _ in 0..3 {
        db.clock().advance(std::time::Duration::from_secs(60));
        db.relay().run_once().await.unwrap();
    }
    for place in (1..=DESKS).filter(|place| *place != 4 && !place.is_multiple_of(7)) {
        let found = Desk::find().room(format!("r{}", place % 3)).place(place).one(&db).await.unwrap().unwrap();
        assert_eq!(found.who.as_ref().map(|who| who.first_name.as_str()), Some("Ann"), "{place}");
    }
    let first = Department::find().name("A").number(1).one(&db).await.unwrap().unwrap();
    assert_eq!(first.manager.as_ref().map(|card| card.first_name.as_str()), Some("Ann"));
    db.store().commit(&[put(as_it_is)]).await.unwrap();
    settle(&db).await;
    assert_exact(&db, "it can be read again").await;
}

/// Holders with an index that shows what they copy, so that each is planned.
mod shop {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Products", partition = "{code}", row = "product")]
    pub(super) struct Product {
        pub(super) code: String,
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Product)]
    pub(super) struct Label {
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Orders", partition = "{tenant}", row = "o_{number:05}")]
    #[table(index(by_day, row = "d_{day:03}_{number:05}"))]
    pub(super) struct Order {
        pub(super) tenant: String,
        pub(super) number: u32,
        pub(super) day: u16,
        pub(super) code: String,
        #[table(copy_of(Product, key(code = code)))]
        pub(super) product: Option<Label>,
    }

    #[derive(TableModel)]
    pub(super) enum Shop {
        Product(Product),
        Order(Order),
    }
}

/// Tells for how many operations there is room in the largest batch, and how many a commit has.
#[derive(Default)]
struct Sizes {
    room: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl Between for Sizes {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let room = batches.iter().map(|batch| batch.operations.capacity()).max();
        self.room.fetch_max(room.unwrap_or(0), Ordering::Relaxed);
        self.most.fetch_max(batches.iter().map(|batch| batch.operations.len()).sum(), Ordering::Relaxed);
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_thousand_holders_of_one_partition_follow_in_batches_of_their_own_size() {
    const ORDERS: u32 = 1_200;
    for mode in MODES {
        let db = crate::migrate::store_of::<shop::Shop>(mode).await;
        db.insert(&shop::Product { code: "7".into(), name: "Pen".into() }).await.unwrap();
        let order = |number| {
            let (tenant, code) = ("A".to_owned(), "7".to_owned());
            shop::Order { tenant, number, day: (number % 100) as u16, code, product: None }
        };
        db.bulk().insert_iter((0..ORDERS).map(order)).await.unwrap().into_result().unwrap();
        settle(&db).await;
        let sizes = Around::over(db.store(), Sizes::default());
        let builder = Database::builder().consistency(mode).clock(Arc::new(db.clock().clone()));
        let other = builder.with_store::<shop::Shop>(sizes.clone()).await.unwrap();
        other.update(shop::Product::find().code("7"), |product| Ok(product.name = "Pencil".into())).await.unwrap();
        settle(&db).await;
        let orders = shop::Order::find().tenant("A").all(&db).await.unwrap();
        assert_eq!(orders.len(), ORDERS as usize);
        let is_followed = |order: &shop::Order| order.product.as_ref().is_some_and(|label| label.name == "Pencil");
        assert!(orders.iter().all(|order| is_followed(order)), "{mode:?}");
        assert_eq!(db.verify().await.unwrap().violations, Vec::new(), "{mode:?}");
        let (room, most) = (sizes.room.load(Ordering::Relaxed), sizes.most.load(Ordering::Relaxed));
        assert!(room <= 2 * limits::MAX_BATCH_OPERATIONS, "{mode:?}: a batch with room for {room}");
        if mode == Consistency::Atomic {
            assert_eq!(most, 2 * ORDERS as usize + 1, "each order and its row of the index, and the product");
        }
    }
}

/// While the desks cannot be written, no smaller batch of them can: the caller, whose change is made, is not kept waiting for each.
#[tokio::test]
async fn a_store_that_is_busy_is_not_asked_for_each_holder() {
    let db = crowded(Consistency::Azure).await;
    let tried = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tried);
    db.fail(move |call: &Call<'_>| match call.request {
        Request::Commit(batches) if batches.iter().any(|batch| batch.table == "Desks") => {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(Fault::error(StoreErrorKind::Unavailable))
        }
        _ => None,
    });
    rename(&db, "Ann").await;
    // Of three rooms one batch each, tried eight times.
    assert!(tried.load(Ordering::Relaxed) <= 3 * 8, "{tried:?}");
    db.fail(Script::new());
    settle(&db).await;
    assert_exact(&db, "not busy any more").await;
}
