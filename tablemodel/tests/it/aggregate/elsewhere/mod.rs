//! Aggregates in other partitions: whatever is written, delivered twice, late or in another order, or fails between, in the
//! end contributions, cells and targets are what the sources come to.

mod copied;
mod crashes;
mod delivery;
mod mending;
mod oracle;
mod rows;

use std::collections::BTreeMap;

use tablemodel::{Consistency, Properties, Value, prelude::*, testing::TestDatabase};

use super::{part_of, rows_in};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "o_{id:04}")]
#[table(count(Shop, key(city = city, number = shop), into = orders, when = paid))]
#[table(sum(Shop, key(city = city, number = shop), of = amount, into = turnover))]
#[table(sum(Shop, key(city = city, number = shop), of = weight, into = weight))]
#[table(min(Shop, key(city = city, number = shop), of = amount, into = least, when = paid))]
#[table(max(Shop, key(city = city, number = shop), of = weight, into = heaviest))]
#[table(count(Shop, key(city = city, number = shop), into = tickets, when = paid))]
#[table(sum(Shop, key(city = city, number = shop), of = weight, into = carried))]
#[table(count(Club, key(name = club), into = orders), max(Club, key(name = club), of = amount, into = best))]
pub(super) struct Order {
    pub(super) customer: String,
    pub(super) id: u32,
    pub(super) city: String,
    pub(super) shop: u8,
    /// The name of a club, whose partition may be that of the order.
    pub(super) club: String,
    pub(super) amount: i64,
    pub(super) weight: Option<f64>,
    pub(super) paid: bool,
    pub(super) note: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{city}", row = "shop_{number:02}")]
#[table(index(copies, row = "copy_{motto}_{number:02}", keep(orders, turnover, weight, least, heaviest)))]
#[table(index(by_motto, table = "Mottos", partition = "{motto}", row = "{city}_{number:02}", keep(orders, least)))]
#[table(sharded(tickets = i64, carried = f64))]
pub(super) struct Shop {
    pub(super) city: String,
    pub(super) number: u8,
    pub(super) motto: String,
    #[table(aggregate)]
    pub(super) orders: i64,
    #[table(aggregate)]
    pub(super) turnover: i64,
    #[table(aggregate)]
    pub(super) weight: f64,
    #[table(aggregate)]
    pub(super) least: Option<i64>,
    #[table(aggregate)]
    pub(super) heaviest: Option<f64>,
}

/// In the table of the orders.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{name}", row = "club")]
pub(super) struct Club {
    pub(super) name: String,
    #[table(aggregate)]
    pub(super) orders: i64,
    #[table(aggregate)]
    pub(super) best: Option<i64>,
}

#[derive(TableModel)]
pub(super) enum Model {
    Order(Order),
    Shop(Shop),
    Club(Club),
}

pub(super) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

/// Of a customer, in shop 1, and in the club of another or the same name.
pub(super) fn order(customer: &str, id: u32) -> Order {
    Order {
        customer: customer.into(),
        id,
        city: "X".into(),
        shop: 1,
        club: "A".into(),
        amount: 10 * i64::from(id),
        weight: Some(0.5),
        paid: true,
        note: String::new(),
    }
}

/// With nonsense in the fields that are not its own to say.
pub(super) fn shop(number: u8) -> Shop {
    let (orders, turnover, weight, least, heaviest) = (-7, 3, f64::NAN, Some(4), None);
    Shop { city: "X".into(), number, motto: "m".into(), orders, turnover, weight, least, heaviest }
}

pub(super) fn club(name: &str) -> Club {
    Club { name: name.into(), orders: 99, best: None }
}

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

pub(super) async fn orders(db: &TestDatabase) -> Vec<Order> {
    let mut all = Vec::new();
    for customer in ["A", "B", "C"] {
        all.extend(Order::find().customer(customer).all(db).await.unwrap().into_iter().map(Stored::into_inner));
    }
    all
}

pub(super) async fn shops(db: &TestDatabase) -> Vec<Shop> {
    Shop::find().city("X").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect()
}

pub(super) async fn clubs(db: &TestDatabase) -> Vec<Club> {
    let mut all = Vec::new();
    for name in ["A", "B", "C"] {
        all.extend(Club::find().name(name).one(db).await.unwrap().map(Stored::into_inner));
    }
    all
}

/// Every row that aggregates keep, by table and key, with its value and, of a cell, its number of sources.
type Kept = BTreeMap<(&'static str, String, String), (Option<Value>, Option<i64>)>;

/// The rank of a value.
type RankOf = fn(&Value) -> u64;

/// The rows of one aggregate, by its sources and their values; `first` of a least or greatest: the rank of a value.
fn aggregate(
    kept: &mut Kept,
    (table, partition, target, property): (&'static str, &str, &str, &str),
    sources: &[(&Order, Value)],
    (value, first): (Option<Value>, Option<RankOf>),
    is_live: bool,
) {
    let cell = format!("~~agg|{target}|{property}");
    for (order, value) in sources {
        let rank = first.map_or(String::new(), |rank| format!("|{:020}", rank(value)));
        let row = format!("{cell}{rank}!{}!o_{:04}", order.customer, order.id);
        kept.insert((table, partition.to_owned(), row), (Some(value.clone()), None));
    }
    if is_live || !sources.is_empty() {
        kept.insert((table, partition.to_owned(), cell), (value, Some(sources.len() as i64)));
    }
}

/// The rows of one aggregate in parts of a shop.
fn sharded(kept: &mut Kept, (target, property): (&str, &str), sources: &[(&Order, Value)]) {
    let cell = format!("~~agg|{target}|{property}");
    let mut parts = BTreeMap::<u64, (i64, Option<Value>)>::new();
    for (order, value) in sources {
        let row = format!("o_{:04}", order.id);
        let own = format!("{cell}!{}!{row}", order.customer);
        kept.insert(("Shops", "X".to_owned(), own), (Some(value.clone()), None));
        let (count, sum) = parts.entry(part_of(&order.customer, &row)).or_default();
        *count += 1;
        *sum = Some(match (sum.take(), value) {
            (None, value) => value.clone(),
            (Some(Value::Int64(sum)), Value::Int64(value)) => Value::Int64(sum + value),
            (Some(Value::Double(sum)), Value::Double(value)) => Value::Double(sum + value), // sixteenths, and so exact
            other => panic!("{other:?}"),
        });
    }
    for (part, (count, sum)) in parts {
        kept.insert(("Shops", "X".to_owned(), format!("{cell}|{part:02}")), (sum, Some(count)));
    }
}

fn least(value: &Value) -> u64 {
    match value {
        Value::Int64(value) => value.cast_unsigned() ^ 1 << 63,
        Value::Double(value) if value.is_sign_negative() => !value.to_bits(),
        Value::Double(value) => value.to_bits() | 1 << 63,
        other => panic!("{other:?}"),
    }
}

fn greatest(value: &Value) -> u64 {
    !least(value)
}

/// The shop as it should be.
fn expect_shop(kept: &mut Kept, number: u8, orders: &[Order], is_live: bool) -> Shop {
    let here: Vec<_> = orders.iter().filter(|order| order.shop == number).collect();
    let row = format!("shop_{number:02}");
    let at = |property| ("Shops", "X", row.as_str(), property);
    let paid = here.iter().filter(|order| order.paid);
    let amounts: Vec<_> = here.iter().map(|order| (*order, Value::Int64(order.amount))).collect();
    let paid_amounts: Vec<_> = paid.clone().map(|order| (*order, Value::Int64(order.amount))).collect();
    let ones: Vec<_> = paid.map(|order| (*order, Value::Int64(1))).collect();
    let weights: Vec<_> = here.iter().filter_map(|order| Some((*order, Value::Double(order.weight?)))).collect();
    let shop = Shop {
        orders: ones.len() as i64,
        turnover: here.iter().map(|order| order.amount).sum(),
        weight: here.iter().filter_map(|order| order.weight).fold(0.0, |sum, weight| sum + weight), // sixteenths, and so exact
        least: here.iter().filter(|order| order.paid).map(|order| order.amount).min(),
        heaviest: here.iter().filter_map(|order| order.weight).reduce(f64::max),
        ..shop(number)
    };
    aggregate(kept, at("Orders"), &ones, (Some(shop.orders.into()), None), is_live);
    sharded(kept, (&row, "Tickets"), &ones);
    sharded(kept, (&row, "Carried"), &weights);
    aggregate(kept, at("Turnover"), &amounts, (Some(shop.turnover.into()), None), is_live);
    aggregate(kept, at("Weight"), &weights, (Some(shop.weight.into()), None), is_live);
    aggregate(kept, at("Least"), &paid_amounts, (shop.least.map(Value::from), Some(least)), is_live);
    aggregate(kept, at("Heaviest"), &weights, (shop.heaviest.map(Value::from), Some(greatest)), is_live);
    shop
}

fn expect_club(kept: &mut Kept, name: &str, orders: &[Order], is_live: bool) -> Club {
    let here: Vec<_> = orders.iter().filter(|order| order.club == name).collect();
    let amounts: Vec<_> = here.iter().map(|order| (*order, Value::Int64(order.amount))).collect();
    let ones: Vec<_> = here.iter().map(|order| (*order, Value::Int64(1))).collect();
    let best = here.iter().map(|order| order.amount).max();
    aggregate(kept, ("Orders", name, "club", "Orders"), &ones, (Some(Value::Int64(ones.len() as i64)), None), is_live);
    aggregate(kept, ("Orders", name, "club", "Best"), &amounts, (best.map(Value::from), Some(greatest)), is_live);
    Club { name: name.into(), orders: here.len() as i64, best }
}

/// That contributions, cells, targets and what is made from these are those of the orders that are there.
pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    let (orders, shops, clubs) = (orders(db).await, shops(db).await, clubs(db).await);
    let mut kept = Kept::new();
    for number in 1..4 {
        let found = shops.iter().find(|shop| shop.number == number);
        let wanted = expect_shop(&mut kept, number, &orders, found.is_some());
        if let Some(found) = found {
            assert_eq!(*found, Shop { motto: found.motto.clone(), ..wanted.clone() }, "{told}");
        }
        let path = || Shop::find().city("X").number(number);
        assert_eq!(db.total(path(), Shop::TICKETS).await.unwrap(), wanted.orders, "{told}: {number}");
        assert_eq!(db.total(path(), Shop::CARRIED).await.unwrap(), wanted.weight, "{told}: {number}");
    }
    for name in ["A", "B", "C"] {
        let found = clubs.iter().find(|club| club.name == name);
        let wanted = expect_club(&mut kept, name, &orders, found.is_some());
        assert!(found.is_none_or(|found| *found == wanted), "{told}: {found:?}, not {wanted:?}");
    }
    assert_eq!(found(db).await, kept, "{told}");
    assert_mottos(db, &shops, told).await;
    assert_eq!(db.verify().await.unwrap().violations, [], "{told}");
}

/// The rows of aggregates, without those that only wait to be swept.
async fn found(db: &TestDatabase) -> Kept {
    let mut found = Kept::new();
    for table in ["Orders", "Shops"] {
        let rows = rows_in(db, table).await.into_iter();
        for ((partition, row), properties) in rows.filter(|((_, row), _)| row.starts_with("~~agg|")) {
            if properties.get("_dead").is_none() {
                found.insert((table, partition, row), held(&properties));
            }
        }
    }
    found
}

fn held(properties: &Properties) -> (Option<Value>, Option<i64>) {
    let sources = match properties.get("_count").map(|value| value.to_value()) {
        Some(Value::Int64(sources)) => Some(sources),
        _ => None,
    };
    (properties.get("_value").map(|value| value.to_value()), sources)
}

/// The copies of the targets' values, beside them and in another table.
async fn assert_mottos(db: &TestDatabase, shops: &[Shop], told: &str) {
    let mut mottos = rows_in(db, "Mottos").await;
    mottos.retain(|_, row| row.get("_dead").is_none());
    assert_eq!(mottos.len(), shops.len(), "{told}");
    let beside = rows_in(db, "Shops").await;
    for shop in shops {
        let away = &mottos[&(shop.motto.clone(), format!("X_{:02}", shop.number))];
        let near = &beside[&("X".to_owned(), format!("copy_{}_{:02}", shop.motto, shop.number))];
        for row in [away, near] {
            let value = |name| row.get(name).map(|value| value.to_value());
            assert_eq!(value("Orders"), Some(shop.orders.into()), "{told}");
            assert_eq!(value("Least"), shop.least.map(Value::from), "{told}");
        }
    }
}
