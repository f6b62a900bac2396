//! Bulk writing of entities that meet in rows: those of aggregates and lists, and the sources that they copy. Each such row
//! is written once for many of them, none is lost by it, and who cannot be written is named.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::stream;
use tablemodel::{
    BulkReport, Consistency, ErrorKind, RowKey,
    prelude::*,
    store::{
        Action, Batch, Condition, Receipts, StoreError, StoreErrorKind, TableStore,
        fault::{Call, Request},
    },
    testing::{CallKind, Chances, Fault, Script, TestDatabase},
};

use crate::{
    between::{Around, Between},
    bulk::{self, thing},
    points::points,
    stall::NoSleep,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "s_{id:05}")]
#[table(index(by_buyer, table = "Buyers", partition = "{buyer}", row = "{shop}_{id:05}", keys_only))]
#[table(list(of_buyer, row = "of_{buyer}"))]
#[table(count(Day, key(shop = shop, day = day), into = sales))]
#[table(sum(Day, key(shop = shop, day = day), of = amount, into = turnover))]
pub(super) struct Sale {
    shop: String,
    id: u32,
    day: u8,
    amount: i64,
    buyer: u32,
    #[table(copy_of(Buyer, key(number = buyer)))]
    who: Option<Card>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "d_{day:02}")]
pub(super) struct Day {
    shop: String,
    day: u8,
    #[table(aggregate)]
    sales: i64,
    #[table(aggregate)]
    turnover: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{number}", row = "buyer")]
pub(super) struct Buyer {
    number: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Buyer)]
pub(super) struct Card {
    name: String,
}

/// Aggregates alone.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "v_{id:05}")]
#[table(count(Total, key(shop = shop), into = visits))]
pub(super) struct Visit {
    shop: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "total")]
pub(super) struct Total {
    shop: String,
    #[table(aggregate)]
    visits: i64,
}

#[derive(TableModel)]
pub(super) enum Model {
    Sale(Sale),
    Day(Day),
    Buyer(Buyer),
    Visit(Visit),
    Total(Total),
}

const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

pub(super) fn sale(shop: u32, id: u32) -> Sale {
    let (day, amount, buyer) = ((id / 40 % 100) as u8, i64::from(id), id % 7);
    Sale { shop: format!("shop{shop}"), id, day, amount, buyer, who: None }
}

fn visit(id: u32) -> Visit {
    Visit { shop: "A".into(), id }
}

/// With the buyers 0 to 5: the seventh is not there.
async fn database(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    for number in 0..6 {
        db.insert(&Buyer { number, name: format!("buyer {number}") }).await.unwrap();
    }
    for shop in ["shop0", "shop1"] {
        db.insert(&Day { shop: shop.into(), day: 0, sales: 0, turnover: 0 }).await.unwrap();
    }
    db
}

async fn insert<E: TableEntity>(
    db: &TestDatabase,
    entities: impl IntoIterator<Item = E, IntoIter: Send>,
) -> BulkReport {
    db.bulk().insert_all(stream::iter(entities)).await.unwrap()
}

/// Rows of each commit from here on, batch by batch.
fn commits(db: &TestDatabase) -> Vec<Vec<usize>> {
    let sizes = db.calls().into_iter().filter_map(|call| match call.call {
        CallKind::Commit { batches } => Some(batches.iter().map(|batch| batch.operations.len()).collect()),
        _ => None,
    });
    sizes.collect()
}

/// That every sale that is there counts once, is in its list and index, and has its buyer's name; and nothing else is.
async fn assert_exact(db: &TestDatabase, shops: u32, told: &str) {
    db.fail(Script::new());
    for _ in 0..20 {
        db.clock().advance(std::time::Duration::from_secs(60));
        if db.relay().run_once().await.unwrap().is_settled() {
            break;
        }
    }
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
    for shop in (0..shops).map(|shop| format!("shop{shop}")) {
        let sales = Sale::find().shop(&shop).all(db).await.unwrap();
        let mut days: BTreeMap<u8, (i64, i64)> = BTreeMap::new();
        for sale in &sales {
            let day = days.entry(sale.day).or_default();
            (day.0, day.1) = (day.0 + 1, day.1 + sale.amount);
            let name = (sale.buyer < 6).then(|| format!("buyer {}", sale.buyer));
            assert_eq!(sale.who.as_ref().map(|card| card.name.clone()), name, "{told}: {sale:?}");
        }
        for (day, (count, turnover)) in days {
            let at = || Day::find().shop(&shop).day(day);
            assert_eq!(db.total(at(), Day::SALES).await.unwrap(), count, "{told}: {shop}, {day}");
            assert_eq!(db.total(at(), Day::TURNOVER).await.unwrap(), turnover, "{told}: {shop}, {day}");
        }
        for buyer in 0..7 {
            let listed = Sale::of_buyer().shop(&shop).buyer(buyer).count(db).await.unwrap();
            assert_eq!(listed, sales.iter().filter(|sale| sale.buyer == buyer).count() as u64, "{told}: {shop}");
        }
    }
}

#[tokio::test]
async fn a_batch_writes_the_rows_that_its_entities_share_once_and_is_filled_up() {
    let db = database(Consistency::Azure).await;
    db.insert(&Total { shop: "A".into(), visits: 0 }).await.unwrap();
    let before = commits(&db).len();
    let report = insert(&db, (0..500).map(visit)).await;
    assert_eq!((report.written, report.failed.len()), (500, 0));
    // 98 visits, the cell and the total.
    let sizes: Vec<_> = commits(&db).split_off(before).into_iter().flatten().collect();
    assert_eq!(sizes, [100, 100, 100, 100, 100, 12]);
    assert_eq!(Total::find().shop("A").one(&db).await.unwrap().unwrap().visits, 500);
}

#[tokio::test]
async fn where_a_store_commits_several_batches_many_entities_are_one_commit_of_batches_within_the_limits() {
    let db = database(Consistency::Atomic).await;
    db.insert(&Total { shop: "A".into(), visits: 0 }).await.unwrap();
    let before = commits(&db).len();
    let report = insert(&db, (0..5_000).map(visit)).await;
    assert_eq!((report.written, report.failed.len(), report.batches), (5_000, 0, 1));
    let commits = commits(&db).split_off(before);
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert!(commits[0].iter().all(|rows| *rows <= 100), "{commits:?}");
    assert_eq!(commits[0].iter().sum::<usize>(), 5_002);
    assert_eq!(Total::find().shop("A").one(&db).await.unwrap().unwrap().visits, 5_000);
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn entities_of_many_partitions_that_copy_and_count_are_all_written() {
    for mode in MODES {
        let db = database(mode).await;
        // Every commit copies every buyer, and none gives up because another did before.
        let report = insert(&db, (0..1_200).map(|id| sale(id % 12, id / 12))).await;
        assert_eq!((report.written, report.failed.len()), (1_200, 0), "{mode:?}: {:?}", report.failed.first());
        assert_exact(&db, 12, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_source_that_every_partition_copies_is_no_bottleneck_that_fails() {
    for mode in MODES {
        let db = database(mode).await;
        let sales = (0..600).map(|shop| Sale { buyer: 1, ..sale(shop, 1) });
        let report = insert(&db, sales).await;
        assert_eq!((report.written, report.failed.len()), (600, 0), "{mode:?}: {:?}", report.failed.first());
        assert_exact(&db, 2, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn who_is_refused_is_named_and_the_others_are_written_and_counted() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&sale(0, 77)).await.unwrap();
        let mut sales: Vec<_> = (0..300).map(|id| sale(0, id)).collect();
        sales[210].amount = i64::MAX; // with the ten before it, beyond the sum's type
        sales.insert(250, Sale { amount: 9_999, ..sale(0, 11) }); // the second of its key
        let report = insert(&db, sales).await;
        assert_eq!((report.written, report.failed.len()), (298, 3), "{mode:?}: {:?}", report.failed);
        let kind = |row: &str| {
            let error = report.failed.iter().find(|error| error.key() == Some(&RowKey::new("shop0", row)));
            error.unwrap_or_else(|| panic!("{mode:?}: {row} in {:?}", report.failed)).kind().clone()
        };
        assert_eq!(kind("s_00077"), ErrorKind::AlreadyExists);
        assert_eq!(kind("s_00011"), ErrorKind::AlreadyExists);
        assert_eq!(kind("s_00210"), ErrorKind::Overflow);
        assert_exact(&db, 1, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_loses_no_entity_and_counts_none_twice() {
    let sales = || (0..12).map(|id| sale(id % 2, id));
    for mode in MODES {
        let whole = database(mode).await;
        let db = whole.fork().expect("in memory");
        assert_eq!(insert(&db, sales()).await.written, 12, "{mode:?}");
        let calls = db.calls().len();
        assert!(calls > 5, "{mode:?}: {calls} calls");
        for kind in [StoreErrorKind::Unavailable, StoreErrorKind::ConditionNotMet] {
            for at in points(calls, 24, &format!("{mode:?}, {kind:?}")) {
                let db = whole.fork().expect("in memory");
                db.fail(Script::new().at(at, Fault::error(kind)));
                let report = insert(&db, sales()).await;
                let told = format!("{mode:?}, {kind:?} at call {at} of {calls}");
                assert_eq!(report.written + report.failed.len() as u64, 12, "{told}");
                if kind == StoreErrorKind::Unavailable {
                    assert_eq!(report.failed.len(), 0, "{told}: {:?}", report.failed.first());
                }
                assert_exact(&db, 2, &told).await;
                let there = Sale::find().shop("shop0").count(&db).await.unwrap();
                let there = there + Sale::find().shop("shop1").count(&db).await.unwrap();
                assert_eq!(there, report.written, "{told}");
            }
        }
    }
}

#[tokio::test]
async fn lost_replies_and_a_busy_store_count_nothing_twice() {
    for mode in MODES {
        let db = database(mode).await;
        let chances = Chances::seeded(11)
            .with(100, Fault::error(StoreErrorKind::Unavailable))
            .with(60, Fault::LostReply)
            .with(20, Fault::error(StoreErrorKind::OutcomeUnknown));
        db.fail(chances);
        let report = insert(&db, (0..900).map(|id| sale(id % 3, id / 3))).await;
        let told = format!("{mode:?}");
        assert_exact(&db, 3, &told).await;
        let mut there = 0;
        for shop in 0..3 {
            there += Sale::find().shop(format!("shop{shop}")).count(&db).await.unwrap();
        }
        let unknown = report.failed.iter().filter(|error| *error.kind() == ErrorKind::OutcomeUnknown).count() as u64;
        assert!(there >= report.written && there <= report.written + unknown, "{told}: {there} of {}", report.written);
    }
}

#[tokio::test]
async fn writers_that_come_between_are_counted_too() {
    for mode in MODES {
        let db = database(mode).await;
        let others = async {
            for id in 0..40 {
                db.insert(&Sale { day: 3, ..sale(0, 5_000 + id) }).await.unwrap();
            }
        };
        let (report, ()) = tokio::join!(insert(&db, (0..400).map(|id| sale(0, id))), others);
        assert_eq!((report.written, report.failed.len()), (400, 0), "{mode:?}: {:?}", report.failed.first());
        assert_exact(&db, 1, &format!("{mode:?}")).await;
        assert_eq!(Sale::find().shop("shop0").count(&db).await.unwrap(), 440);
    }
}

/// Lets no commit through from now on, and counts those that are tried.
fn close(db: &TestDatabase, tried: &Arc<AtomicUsize>) {
    let tried = Arc::clone(tried);
    db.fail(move |call: &Call<'_>| match call.request {
        Request::Commit(_) => {
            tried.fetch_add(1, Ordering::Relaxed);
            Some(Fault::error(StoreErrorKind::Unavailable))
        }
        _ => None,
    });
}

/// Each of them would wait for the same in vain.
#[tokio::test]
async fn a_store_that_is_busy_is_not_asked_for_each_entity() {
    let (db, tried) = (database(Consistency::Atomic).await, Arc::default());
    close(&db, &tried);
    let report = insert(&db, (0..64).map(visit)).await;
    assert_eq!((report.written, report.failed.len()), (0, 64));
    assert!(report.failed.iter().all(|error| *error.kind() == ErrorKind::Unavailable), "{:?}", report.failed);
    assert_eq!(tried.load(Ordering::Relaxed), 8);
}

#[tokio::test]
async fn a_lease_that_is_over_is_not_asked_for_with_each_entity() {
    let (db, tried) = (database(Consistency::Azure).await, Arc::default());
    let visits = (0..64).map(|id| {
        if id == 0 {
            db.clock().advance(Duration::from_secs(120));
            close(&db, &tried);
        }
        visit(id)
    });
    let report = insert(&db, visits).await;
    assert_eq!((report.written, report.failed.len()), (0, 64));
    assert!(report.failed.iter().all(|error| *error.kind() == ErrorKind::LeaseExpired), "{:?}", report.failed);
    assert!(tried.load(Ordering::Relaxed) <= 4, "{tried:?}");
}

/// Writes one row anew, as it is, right before each commit that would.
struct Hot;

#[async_trait]
impl Between for Hot {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let key = RowKey::new("p0", "000025");
        let is_it = |batch: &Batch| batch.operations.iter().any(|operation| operation.row == key.row);
        if batches.iter().any(is_it)
            && let Some(row) = inner.get("Things", &key).await?
        {
            let same = Action::Replace(row.properties, Condition::Exists);
            inner.commit(&[Batch::new("Things", &key.partition).with(key.row, same)]).await?;
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn one_that_others_keep_writing_fails_alone() {
    for mode in MODES {
        let db = crate::migrate::store_of::<bulk::Model>(mode).await;
        insert(&db, (0..40).map(|id| thing(0, id))).await.into_result().unwrap();
        let builder = Database::builder().consistency(mode).clock(Arc::new(db.clock().clone()));
        let builder = builder.sleep(Arc::new(NoSleep)).deadline(Duration::MAX);
        let other = builder.with_store::<bulk::Model>(Around::over(db.store(), Hot)).await.unwrap();
        let report = other.bulk().upsert_iter((0..40).map(|id| thing(0, id))).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (39, 1), "{mode:?}: {:?}", report.failed.first());
        assert_eq!(*report.failed[0].kind(), ErrorKind::Unavailable);
        assert_eq!(report.failed[0].key().unwrap().row, "000025");
    }
}
