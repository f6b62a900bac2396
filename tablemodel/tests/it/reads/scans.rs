//! Scans: what the store tests and what is tested after reading give one answer, that of a plain filter.

use futures_util::{StreamExt, TryStreamExt};
use proptest::prelude::*;
use rust_decimal::Decimal;
use tablemodel::{
    ErrorKind, Predicate,
    prelude::*,
    store::{Action, Batch, Properties},
    testing::TestDatabase,
};

use super::{
    fixture::{PAGINGS, plain, run, text, utf16},
    scan_pages::walk,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{owner}", row = "{name}!{id:06}", allow_scan)]
struct Thing {
    owner: String,
    name: String,
    id: u32,
    weight: f64,
    size: Option<i32>,
    label: Option<String>,
    wide: u128,
}

#[derive(TableModel)]
enum Things {
    Thing(Thing),
}

/// A condition: as the scan takes it, and as a plain function.
#[derive(Debug, Clone)]
enum Test {
    Owner(String),
    NameFrom(String),
    IdBelow(u32),
    WeightAbove(f64),
    SizeIs(Option<i32>),
    SizeIsNot(Option<i32>),
    SizeAtMost(i32),
    LabelFrom(String),
    NoLabel,
    WideFrom(u128),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

impl Test {
    fn predicate(&self) -> Predicate<Thing> {
        match self {
            Self::Owner(owner) => Thing::OWNER.eq(owner.as_str()),
            Self::NameFrom(name) => Thing::NAME.ge(name.as_str()),
            Self::IdBelow(id) => Thing::ID.lt(*id),
            Self::WeightAbove(weight) => Thing::WEIGHT.gt(*weight),
            Self::SizeIs(size) => Thing::SIZE.eq(*size),
            Self::SizeIsNot(size) => Thing::SIZE.ne(*size),
            Self::SizeAtMost(size) => Thing::SIZE.le(*size),
            Self::LabelFrom(label) => Thing::LABEL.ge(label.as_str()),
            Self::NoLabel => Thing::LABEL.eq(None),
            Self::WideFrom(wide) => Thing::WIDE.ge(*wide),
            Self::Not(inner) => !inner.predicate(),
            Self::And(a, b) => a.predicate().and(b.predicate()),
            Self::Or(a, b) => a.predicate().or(b.predicate()),
        }
    }

    fn holds(&self, thing: &Thing) -> bool {
        match self {
            Self::Owner(owner) => thing.owner == *owner,
            Self::NameFrom(name) => utf16(&thing.name, name).is_ge(),
            Self::IdBelow(id) => thing.id < *id,
            Self::WeightAbove(weight) => thing.weight > *weight,
            Self::SizeIs(size) => thing.size == *size,
            Self::SizeIsNot(size) => thing.size.is_some() && thing.size != *size,
            Self::SizeAtMost(size) => thing.size.is_some_and(|own| own <= *size),
            Self::LabelFrom(label) => thing.label.as_ref().is_some_and(|own| utf16(own, label).is_ge()),
            Self::NoLabel => thing.label.is_none(),
            Self::WideFrom(wide) => thing.wide >= *wide,
            Self::Not(inner) => !inner.holds(thing),
            Self::And(a, b) => a.holds(thing) && b.holds(thing),
            Self::Or(a, b) => a.holds(thing) || b.holds(thing),
        }
    }
}

fn weight() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE])
}

fn wide() -> impl Strategy<Value = u128> {
    prop::sample::select(vec![0, 9, 10, u128::from(u64::MAX), u128::MAX])
}

fn test() -> impl Strategy<Value = Test> {
    let size = || prop::option::of(-1_i32..2);
    let leaf = prop_oneof![
        prop::sample::select(vec!["a", "b"]).prop_map(|owner| Test::Owner(owner.to_owned())),
        text().prop_map(Test::NameFrom),
        (0_u32..8).prop_map(Test::IdBelow),
        weight().prop_map(Test::WeightAbove),
        size().prop_map(Test::SizeIs),
        size().prop_map(Test::SizeIsNot),
        (-1_i32..2).prop_map(Test::SizeAtMost),
        text().prop_map(Test::LabelFrom),
        Just(Test::NoLabel),
        wide().prop_map(Test::WideFrom),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|test| Test::Not(Box::new(test))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Test::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Test::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let size = || prop::option::of(-1_i32..2);
    let one = (any::<bool>(), text(), weight(), size(), prop::option::of(text()), wide());
    prop::collection::vec(one, 0..10).prop_map(|things| {
        let thing = |(id, (a, name, weight, size, label, wide))| {
            let owner = if a { "a" } else { "b" }.to_owned();
            Thing { owner, name, id, weight, size, label, wide }
        };
        (0..).zip(things).map(thing).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_scan_gives_what_a_filter_gives(things in things(), tests in prop::collection::vec(test(), 0..6)) {
        run(check(things, tests));
    }
}

async fn check(things: Vec<Thing>, tests: Vec<Test>) {
    let db = TestDatabase::new::<Things>().await.unwrap();
    for thing in &things {
        db.insert(thing).await.unwrap();
    }
    let mut expected: Vec<_> = things.into_iter().filter(|thing| tests.iter().all(|test| test.holds(thing))).collect();
    let order =
        |a: &Thing, b: &Thing| a.owner.cmp(&b.owner).then_with(|| utf16(&a.name, &b.name)).then(a.id.cmp(&b.id));
    expected.sort_by(order);
    // A NaN equals nothing, so the entities are compared by what is written of them.
    let told = |things: &[Thing]| format!("{things:?}");
    for paging in PAGINGS {
        paging.apply(&db);
        let scan =
            |scan: tablemodel::Scan<Thing>| tests.iter().fold(scan, |scan, test| scan.matching(test.predicate()));
        let found = plain(scan(Thing::scan_table()).all(&db).await.unwrap());
        assert_eq!(told(&found), told(&expected), "{tests:?}");
        let streamed: Vec<_> = scan(Thing::scan_table()).stream(&db).try_collect().await.unwrap();
        assert_eq!(told(&plain(streamed)), told(&expected));
        let first = plain(scan(Thing::scan_table()).first(2, &db).await.unwrap());
        assert_eq!(told(&first), told(&expected[..expected.len().min(2)]));
        let count = scan(Thing::scan_table()).count(&db).await.unwrap();
        assert_eq!(count, expected.len() as u64, "{tests:?}");
        for n in [1, 3] {
            let walked = walk(&db, || scan(Thing::scan_table()), n).await;
            assert_eq!(told(&plain(walked)), told(&expected), "pages of {n}, {tests:?}");
        }
        for owner in ["a", "b"] {
            let own: Vec<_> = expected.iter().filter(|thing| thing.owner == owner).cloned().collect();
            let found = plain(scan(Thing::scan_partition(owner)).all(&db).await.unwrap());
            assert_eq!(told(&found), told(&own), "{tests:?}");
        }
    }
}

#[tokio::test]
async fn what_the_store_can_test_is_tested_there() {
    let db = TestDatabase::new::<Things>().await.unwrap();
    for id in 0..20 {
        let thing = Thing {
            owner: "a".into(),
            name: String::new(),
            id,
            weight: 0.0,
            size: Some(id as i32),
            label: None,
            wide: 0,
        };
        db.insert(&thing).await.unwrap();
    }
    let rows_read = |scan: tablemodel::Scan<Thing>| {
        let db = db.clone();
        async move {
            db.forget_calls();
            let found = scan.all(&db).await.unwrap().len();
            (found, db.tally().rows_read)
        }
    };
    assert_eq!(rows_read(Thing::scan_table().matching(Thing::SIZE.lt(Some(3)))).await, (3, 3));
    assert_eq!(rows_read(Thing::scan_table().matching(Thing::ID.lt(3_u32))).await, (3, 20), "in the key alone");
    let both = Thing::SIZE.lt(5).and(Thing::ID.ge(3_u32));
    assert_eq!(rows_read(Thing::scan_table().matching(both)).await, (2, 5), "each part where it can be tested");
    let many = (0..5).fold(Thing::scan_table(), |scan, least| scan.matching(Thing::SIZE.ge(Some(least))));
    assert_eq!(rows_read(many).await, (16, 20), "more than a store is asked");
    db.forget_calls();
    assert_eq!(Thing::scan_table().first(0, &db).await.unwrap().len(), 0);
    assert_eq!(db.calls(), []);
    PAGINGS[2].apply(&db);
    db.forget_calls();
    let taken = Thing::scan_table().stream(&db).take(1).count().await;
    assert_eq!((taken, db.calls().len()), (1, 1), "a page at a time");
}

#[test]
fn an_option_is_compared_with_its_value_as_with_some_of_it() {
    let is = |predicate: Predicate<Thing>| format!("{predicate:?}");
    assert_eq!(is(Thing::SIZE.lt(5)), is(Thing::SIZE.lt(Some(5))));
    assert_eq!(is(Thing::LABEL.eq("a")), is(Thing::LABEL.eq(Some("a".to_owned()))));
    assert_eq!(is(Thing::LABEL.eq("a".to_owned())), is(Thing::LABEL.eq("a")));
    assert_ne!(is(Thing::LABEL.eq("")), is(Thing::LABEL.eq(None)));
}

/// Not in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Property)]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Goods", partition = "{shop}", row = "{id:06}", allow_scan, adopt)]
struct Good {
    shop: String,
    id: u32,
    price: Option<Decimal>,
    size: Option<Size>,
    count: u32,
    weight: f64,
}

#[derive(TableModel)]
enum Goods {
    Good(Good),
}

#[tokio::test]
async fn an_order_that_stored_values_do_not_have_is_refused_before_anything_is_read() {
    let db = TestDatabase::new::<Goods>().await.unwrap();
    for (id, price) in [(1, "9"), (2, "10"), (3, "100")] {
        let price = Some(price.parse().unwrap());
        let good = Good { shop: "a".into(), id, price, size: Some(Size::Large), count: 0, weight: 0.0 };
        db.insert(&good).await.unwrap();
    }
    let nine: Decimal = "9".parse().unwrap();
    db.forget_calls();
    for (predicate, field) in [
        (Good::PRICE.gt(Some(nine)), "price"),
        (Good::PRICE.le(Some(nine)), "price"),
        (Good::SIZE.lt(Some(Size::Large)), "size"),
        (!Good::SIZE.ge(Some(Size::Small)), "size"),
    ] {
        let error = Good::scan_partition("a").matching(predicate).all(&db).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(&format!("field `{field}`: its values are stored as texts")), "{error}");
    }
    assert!(db.calls().is_empty(), "something was read");
    let found = Good::scan_partition("a").matching(Good::PRICE.eq(Some(nine))).all(&db).await.unwrap();
    assert_eq!(found.iter().map(|good| good.id).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn decimal_numbers_are_equal_however_many_zeros_they_end_with() {
    let db = TestDatabase::new::<Goods>().await.unwrap();
    for (id, price) in [(1, "1.20"), (2, "1.2"), (3, "12"), (4, "120"), (5, "-0.00"), (6, "0")] {
        let price = Some(price.parse().unwrap());
        let good = Good { shop: "a".into(), id, price, size: None, count: 0, weight: 0.0 };
        db.insert(&good).await.unwrap();
    }
    let found = async |predicate| {
        let goods = Good::scan_partition("a").matching(predicate).all(&db).await.unwrap();
        goods.iter().map(|good| good.id).collect::<Vec<_>>()
    };
    let price = |text: &str| Some(text.parse::<Decimal>().unwrap());
    assert_eq!(found(Good::PRICE.eq(price("1.2000"))).await, [1, 2]);
    assert_eq!(found(Good::PRICE.eq(price("120"))).await, [4]);
    assert_eq!(found(Good::PRICE.ne(price("1.2"))).await, [3, 4, 5, 6]);
    assert_eq!(found(Good::PRICE.eq(price("0.0"))).await, [5, 6]);
}

#[tokio::test]
async fn numbers_that_another_program_stored_otherwise_are_compared_as_they_are_read() {
    let db = TestDatabase::new::<Goods>().await.unwrap();
    let mut there = Properties::from_iter([("Count", 40_i32)]);
    there.insert("Weight", 7_i64);
    let batch = Batch::new("Goods", "a").with("000001", Action::Insert(there));
    db.store().commit(&[batch]).await.unwrap();
    let found = async |predicate| Good::scan_partition("a").matching(predicate).all(&db).await.unwrap().len();
    assert_eq!(found(Good::COUNT.gt(30)).await, 1);
    assert_eq!(found(Good::COUNT.eq(40)).await, 1);
    assert_eq!(found(Good::COUNT.ne(30)).await, 1);
    assert_eq!(found(Good::COUNT.lt(40)).await, 0);
    assert_eq!(found(Good::WEIGHT.ge(6.5)).await, 1);
    assert_eq!(found(Good::WEIGHT.lt(6.5)).await, 0);
}

#[tokio::test]
async fn a_condition_may_be_made_of_a_long_list() {
    const MANY: u32 = 20_000;
    let db = TestDatabase::new::<Goods>().await.unwrap();
    for id in [1, 2, MANY + 1] {
        let good = Good { shop: "a".into(), id, price: None, size: None, count: id, weight: 0.0 };
        db.insert(&good).await.unwrap();
    }
    let found = async |predicate: Predicate<Good>| {
        let scan = || Good::scan_partition("a").matching(predicate.clone());
        let first = scan().page(1, None, &db).await.unwrap();
        let rest = scan().page(9, first.cursor.as_ref(), &db).await.unwrap();
        let mut all = first.items;
        all.extend(rest.items.into_iter().take(if first.cursor.is_some() { 9 } else { 0 }));
        all.iter().map(|good| good.id).collect::<Vec<_>>()
    };
    let any = (1..MANY).fold(Good::COUNT.eq(0), |any, count| any.or(Good::COUNT.eq(count)));
    assert_eq!(found(any.clone()).await, [1, 2]);
    let none = (1..MANY).fold(Good::COUNT.ne(0), |all, count| Good::COUNT.ne(count).and(all));
    assert_eq!(found(none).await, [MANY + 1]);
    let often = (0..2 * MANY + 1).fold(any, |predicate, _| !predicate);
    assert_eq!(found(often).await, [MANY + 1]);
}
