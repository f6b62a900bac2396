//! Work lists: an index elsewhere whose first rows are done, and stand there as tombstones.

use tablemodel::{prelude::*, testing::TestDatabase};

use super::rows_in;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{shop}", row = "o_{id:06}")]
#[table(index(open, table = "Open", partition = "{desk}", row = "{id:06}_{shop}", keys_only, when = is_open))]
#[table(index(spread, table = "Spread", partition = "{desk}_{id:shard(4)}", row = "{id:06}_{shop}", keys_only, when = is_open))]
struct Order {
    shop: String,
    id: u32,
    desk: u8,
    is_open: bool,
}

#[derive(TableModel)]
enum Orders {
    Order(Order),
}

/// So many are done, oldest first; and one of those behind them.
const DONE: u32 = 2_500;
const LAST: u32 = DONE + 6;

fn order(id: u32, is_open: bool) -> Order {
    Order { shop: "s".into(), id, desk: 1, is_open }
}

fn is_open(id: u32) -> bool {
    id > DONE && id != DONE + 3
}

async fn worked() -> TestDatabase {
    let db = TestDatabase::new::<Orders>().await.unwrap();
    for was_open in [true, false] {
        let orders = (1..=LAST).map(|id| order(id, was_open || is_open(id)));
        db.bulk().upsert_iter(orders).await.unwrap().into_result().unwrap();
    }
    for table in ["Open", "Spread"] {
        let rows = rows_in(&*db.store(), table).await;
        let tombstones = rows.values().filter(|row| row.get("_dead").is_some()).count();
        assert_eq!(tombstones, DONE as usize + 1, "{table}: what is done is still there");
    }
    db
}

fn pages_read(db: &TestDatabase) -> usize {
    let tally = db.tally();
    tally.range_queries + tally.partition_scans
}

fn ids(found: &[Stored<Order>]) -> Vec<u32> {
    found.iter().map(|order| order.id).collect()
}

#[tokio::test]
async fn the_first_that_is_not_done_takes_few_requests_however_many_are() {
    let db = worked().await;
    db.forget_calls();
    let first = Order::open().desk(1).first(1, &db).await.unwrap();
    assert_eq!(ids(&first), [DONE + 1]);
    assert!(pages_read(&db) <= 5, "{} pages", pages_read(&db));

    db.forget_calls();
    let first = Order::spread().desk(1).first(2, &db).await.unwrap();
    assert_eq!(ids(&first), [DONE + 1, DONE + 2]);
    assert!(pages_read(&db) <= 12, "{} pages of four shards", pages_read(&db));
}

#[tokio::test]
async fn pages_over_what_is_done_give_each_entity_once() {
    let db = worked().await;
    let open: Vec<u32> = (1..=LAST).filter(|id| is_open(*id)).collect();
    for size in 1..=6 {
        let (mut cursor, mut seen, mut spread_cursor, mut spread) = (None, Vec::new(), None, Vec::new());
        loop {
            let page = Order::open().desk(1).page(size, cursor.as_ref(), &db).await.unwrap();
            assert!(page.items.len() <= size);
            seen.extend(ids(&page.items));
            let merged = Order::spread().desk(1).page(size, spread_cursor.as_ref(), &db).await.unwrap();
            spread.extend(ids(&merged.items));
            (cursor, spread_cursor) = (page.cursor, merged.cursor);
            assert_eq!(cursor.is_some(), spread_cursor.is_some(), "{size}");
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((&seen, &spread), (&open, &open), "{size}");
    }
}
