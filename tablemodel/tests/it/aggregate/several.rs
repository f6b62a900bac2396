//! Targets of several rows: the property that holds an aggregate may stand in any of them, and whatever fails, it is what the
//! sources come to, and the entity is whole.

use std::time::Duration;

use tablemodel::{Consistency, Result, prelude::*, testing::TestDatabase};

use super::MODES;
use crate::crashes::enumerate;

/// A sale, counted beside it and elsewhere.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "s_{id:04}")]
#[table(count(Year, key(shop = shop, year = year), into = sales))]
#[table(sum(Year, key(shop = shop, year = year), of = price, into = revenue))]
#[table(max(Year, key(shop = shop, year = year), of = price, into = best))]
#[table(sum(Region, key(name = region), of = price, into = revenue))]
#[table(min(Region, key(name = region), of = price, into = least))]
struct Sale {
    shop: String,
    id: u32,
    year: u16,
    region: String,
    price: i64,
}

/// So many properties that those that hold aggregates stand in a part.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", wide, partition = "{shop}", row = "y_{year:04}")]
#[table(index(by_note, row = "n_{note}_{year:04}", keep(revenue)))]
struct Year {
    shop: String,
    year: u16,
    note: String,
    #[table(flatten)]
    day: [u32; 250],
    #[table(aggregate)]
    sales: i64,
    #[table(aggregate)]
    revenue: i64,
    #[table(aggregate)]
    best: Option<i64>,
}

/// In another table, of as many rows as its text takes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Regions", partition = "{name}", row = "region")]
struct Region {
    name: String,
    #[table(chunked)]
    story: String,
    #[table(aggregate)]
    revenue: i64,
    #[table(aggregate)]
    least: Option<i64>,
}

#[derive(TableModel)]
#[expect(clippy::large_enum_variant, reason = "a year has a number for each day")]
enum Model {
    Sale(Sale),
    Year(Year),
    Region(Region),
}

fn sale(id: u32, price: i64) -> Sale {
    Sale { shop: "A".into(), id, year: 2014, region: "North".into(), price }
}

/// With nonsense where others tell.
fn year(year: u16) -> Year {
    let day = std::array::from_fn(|day| day as u32);
    Year { shop: "A".into(), year, note: "n".into(), day, sales: -7, revenue: -7, best: Some(-7) }
}

fn region(story: usize) -> Region {
    Region { name: "North".into(), story: "x".repeat(story), revenue: -7, least: None }
}

async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&sale(1, 10)).await.unwrap();
    db.insert(&year(2014)).await.unwrap();
    db.insert(&region(1_200_000)).await.unwrap();
    db.insert(&sale(2, 20)).await.unwrap();
    settle(&db).await;
    db
}

async fn settle(db: &TestDatabase) {
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(700));
        if db.relay().run_once().await.expect("the relay runs").is_settled() {
            return;
        }
    }
    panic!("the relay does not settle");
}

async fn years(db: &Database) -> Vec<Year> {
    let mut years = Vec::new();
    for shop in ["A", "B"] {
        years.extend(Year::find().shop(shop).all(db).await.unwrap().into_iter().map(Stored::into_inner));
    }
    years
}

async fn regions(db: &Database) -> Vec<Region> {
    let north = Region::find().name("North").one(db).await.unwrap();
    north.into_iter().map(Stored::into_inner).collect()
}

async fn sales(db: &Database) -> Vec<Sale> {
    let mut sales = Vec::new();
    for shop in ["A", "B"] {
        sales.extend(Sale::find().shop(shop).all(db).await.unwrap().into_iter().map(Stored::into_inner));
    }
    sales
}

/// That each target says what its sources come to, and so does what is derived from it.
async fn assert_exact(db: &TestDatabase, told: &str) {
    let sales = sales(db).await;
    for year in years(db).await {
        let own =
            || sales.iter().filter(|sale| sale.shop == year.shop && sale.year == year.year).map(|sale| sale.price);
        let expected = (own().count() as i64, own().sum(), own().max());
        assert_eq!((year.sales, year.revenue, year.best), expected, "{told}");
        assert_eq!(year.day[249], 249, "{told}");
        let by_note = Year::by_note().shop(&year.shop).note(&year.note).year(year.year);
        assert!(by_note.exists(db).await.unwrap(), "{told}");
    }
    for region in regions(db).await {
        let own = || sales.iter().filter(|sale| sale.region == region.name).map(|sale| sale.price);
        assert_eq!((region.revenue, region.least), (own().sum(), own().min()), "{told}");
    }
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {verified:#?}");
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    Save,
    Delete,
    Batch,
    InsertTarget,
    SaveTarget,
    PatchTarget,
    DeleteTarget,
}

const KINDS: [Kind; 8] = [
    Kind::Insert,
    Kind::Save,
    Kind::Delete,
    Kind::Batch,
    Kind::InsertTarget,
    Kind::SaveTarget,
    Kind::PatchTarget,
    Kind::DeleteTarget,
];

async fn run(db: &Database, kind: Kind) -> Result<()> {
    let second = || Sale::find().shop("A").id(2);
    let target = async || Year::find().shop("A").year(2014).one(db).await;
    match kind {
        Kind::Insert => db.insert(&sale(3, 5)).await.map(drop),
        Kind::Save => match second().one(db).await? {
            Some(mut sale) => {
                (sale.price, sale.year) = (7, 2015);
                db.save(&mut sale).await
            }
            None => Ok(()),
        },
        Kind::Delete => match second().one(db).await? {
            Some(sale) => db.delete(sale).await,
            None => Ok(()),
        },
        // The target with its sources, which are written twice.
        Kind::Batch => {
            let Some(mut year) = target().await? else { return Ok(()) };
            (year.note, year.day[0], year.day[248]) = ("m".into(), 1, 1);
            let mut batch = db.batch(Sale::in_partition("A"));
            batch.insert(&sale(4, 40)).insert(&sale(5, 50)).save(&mut year).upsert(&sale(4, 41));
            batch.commit().await
        }
        Kind::InsertTarget => db.insert(&year(2015)).await.map(drop),
        Kind::SaveTarget => {
            let Some(mut year) = target().await? else { return Ok(()) };
            (year.day[249], year.day[3], year.sales) = (249, 9, 99);
            db.save(&mut year).await
        }
        Kind::PatchTarget => db.patch(Year::find().shop("A").year(2014), Year::DAY.set(248, 7_u32)).await,
        Kind::DeleteTarget => match target().await? {
            Some(year) => db.delete(year).await,
            None => Ok(()),
        },
    }
}

#[tokio::test]
async fn an_aggregate_is_kept_in_whichever_row_of_its_target() {
    for (mode, kind) in MODES.into_iter().flat_map(|mode| KINDS.map(|kind| (mode, kind))) {
        let told = format!("{mode:?} {kind:?}");
        let db = prepared(mode).await;
        assert_eq!((years(&db).await[0].revenue, regions(&db).await[0].least), (30, Some(10)), "{told}");
        run(&db, kind).await.unwrap_or_else(|error| panic!("{told}: {error}"));
        settle(&db).await;
        assert_exact(&db, &told).await;
    }
}

#[tokio::test]
async fn a_change_of_an_aggregate_writes_the_rows_of_its_target_that_hold_it() {
    let db = prepared(Consistency::Atomic).await;
    let etags = async || {
        let stored = Year::find().shop("A").year(2014).one(&db).await.unwrap().unwrap();
        stored.etags().map(|(_, etag)| etag.clone()).collect::<Vec<_>>()
    };
    let before = etags().await;
    db.insert(&sale(3, 5)).await.unwrap();
    let after = etags().await;
    assert_eq!((before.len(), after.len()), (2, 2));
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "the head guards the part that changed");
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_aggregates_of_it() {
    let mut points = 0;
    let kinds = [Kind::Insert, Kind::Save, Kind::Batch, Kind::InsertTarget];
    for (mode, kind) in MODES.into_iter().flat_map(|mode| kinds.map(|kind| (mode, kind))) {
        points += enumerate::<Model, _>(
            &format!("{mode:?} {kind:?}"),
            async || prepared_small(mode).await,
            async |db| run(db, kind).await,
            async |db| settle(db).await,
            async |db| {
                let years = years(db).await;
                let own: Vec<_> =
                    years.iter().map(|year| (year.year, year.note.clone(), year.day[3], year.day[248])).collect();
                (sales(db).await, own)
            },
            async |db, told, _| assert_exact(db, told).await,
        )
        .await;
    }
    assert!(points > 200, "{points} points");
}

/// As `prepared`, with less to write.
async fn prepared_small(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&year(2014)).await.unwrap();
    db.insert(&region(70_000)).await.unwrap();
    for (id, price) in [(1, 10), (2, 20)] {
        db.insert(&sale(id, price)).await.unwrap();
    }
    settle(&db).await;
    db
}

/// In the Azure mode, whatever it takes: it goes on with what its new key has.
#[tokio::test]
async fn a_target_of_several_rows_moves_and_takes_the_total_of_its_new_key() {
    for mode in MODES {
        let db = prepared(mode).await;
        db.insert(&Sale { shop: "B".into(), ..sale(9, 90) }).await.unwrap();
        let mut moved = Year::find().shop("A").year(2014).one(&db).await.unwrap().unwrap();
        moved.shop = "B".into();
        db.rekey(&mut moved).await.unwrap();
        assert_eq!((moved.sales, moved.revenue, moved.best, moved.day[249]), (1, 90, Some(90), 249), "{mode:?}");
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn what_a_target_of_several_rows_says_wrongly_is_found_and_put_right() {
    use tablemodel::store::{Action, Batch, Condition, KeyRange, Query};
    for mode in MODES {
        let db = prepared(mode).await;
        let page = db.store().query(&Query::new("Shops", KeyRange::partition("A"))).await.unwrap();
        let part =
            page.rows.into_iter().find(|row| row.properties.get("Revenue").is_some() && row.key.row.contains(" ~~"));
        let part = part.expect("the aggregate stands in a part");
        let cell = page_cell(&db).await;
        // As if another program had written the cell alone.
        let mut properties = cell.properties.clone();
        properties.insert("_value", 31_i64);
        let batch = Batch::new("Shops", "A").with(cell.key.row.clone(), Action::Replace(properties, Condition::Exists));
        db.store().commit(&[batch]).await.unwrap();
        assert!(!db.verify().await.unwrap().is_clean(), "{mode:?}: {part:?}");
        let repaired = db.repair().await.unwrap();
        assert_eq!(repaired.left, [], "{mode:?}");
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
    }
}

async fn page_cell(db: &TestDatabase) -> tablemodel::Row {
    let key = tablemodel::RowKey::new("A", "~~agg|y_2014|Revenue");
    db.store().get("Shops", &key).await.unwrap().expect("the cell")
}
