//! Scans over values that other programs stored as other types, which the fields read: they are compared as they are read.

use proptest::prelude::*;
use rust_decimal::Decimal;
use tablemodel::{
    Predicate, Uuid,
    prelude::*,
    store::{Action, Batch, Condition, Properties, Value},
    testing::TestDatabase,
};

use super::fixture::run;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Numbers", partition = "{owner}", row = "n_{id:04}", allow_scan)]
struct Number {
    owner: String,
    id: u32,
    small: u8,
    wide: u32,
    long: Option<i64>,
    huge: u64,
    vast: u128,
    signed: i128,
    float: f64,
    single: f32,
    uuid: Uuid,
    price: Decimal,
}

#[derive(TableModel)]
enum Numbers {
    Number(Number),
}

fn number(id: u32, of: u8) -> Number {
    let long = (of != 3).then(|| i64::from(of) - 2);
    Number {
        owner: "p".to_owned(),
        id,
        small: of,
        wide: of.into(),
        long,
        huge: of.into(),
        vast: of.into(),
        signed: i128::from(of) - 2,
        float: of.into(),
        single: of.into(),
        uuid: Uuid::from_u128(of.into()),
        price: of.into(),
    }
}

/// The same in another form of each type that has one.
fn otherwise(of: u8, form: u8) -> Properties {
    let (wide, narrow) = (|number: i64| Value::Int64(number), |number: i64| Value::Int32(number as i32));
    let either = |number: i64| if form == 1 { wide(number) } else { narrow(number) };
    let own = i64::from(of);
    let text = |number: i64| if form == 1 { Value::String(number.to_string()) } else { narrow(number) };
    let mut properties = Properties::from_iter([
        ("Small", wide(own)),
        ("Wide", narrow(own)),
        ("Huge", text(own)),
        ("Vast", text(own)),
        ("Signed", either(own - 2)),
        ("Float", either(own)),
        ("Single", either(own)),
        ("Price", if form == 1 { Value::String(format!("0{own}")) } else { narrow(own) }),
        ("Uuid", Value::String(Uuid::from_u128(of.into()).to_string())),
    ]);
    if of != 3 {
        properties.insert("Long", narrow(own - 2));
    }
    properties
}

/// A condition by the number of a field and of a comparison, on a number that may lie beyond what is stored.
fn condition(field: u8, comparison: u8, with: i8) -> Predicate<Number> {
    macro_rules! compared {
        ($field:ident, $value:expr) => {{
            let value = $value;
            match comparison {
                0 => Number::$field.eq(value),
                1 => Number::$field.ne(value),
                2 => Number::$field.gt(value),
                3 => Number::$field.ge(value),
                4 => Number::$field.lt(value),
                _ => Number::$field.le(value),
            }
        }};
    }
    let unsigned = with.unsigned_abs();
    match field {
        0 => compared!(SMALL, unsigned),
        1 => compared!(WIDE, if with < 0 { u32::MAX } else { unsigned.into() }),
        2 => compared!(LONG, Some(if with < -1 { i64::MIN } else { with.into() })),
        3 => compared!(HUGE, u64::from(unsigned)),
        4 => compared!(VAST, u128::from(unsigned)),
        5 => compared!(SIGNED, i128::from(with)),
        6 => compared!(FLOAT, f64::from(with) + 0.5),
        7 => compared!(SINGLE, f32::from(with)),
        8 => match comparison {
            0 => Number::PRICE.eq(Decimal::from(unsigned)),
            _ => Number::PRICE.ne(Decimal::from(unsigned)),
        },
        _ => match comparison {
            0 => Number::UUID.eq(Uuid::from_u128(unsigned.into())),
            _ => Number::UUID.ne(Uuid::from_u128(unsigned.into())),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_scan_finds_the_same_whatever_types_others_stored(
        stored in prop::collection::vec((0..6_u8, 0..3_u8), 1..12),
        asked in prop::collection::vec((0..10_u8, 0..6_u8, -4..7_i8), 1..4),
        negated in any::<bool>(),
        or in any::<bool>(),
    ) {
        run(check(stored, asked, negated, or));
    }
}

async fn check(stored: Vec<(u8, u8)>, asked: Vec<(u8, u8, i8)>, negated: bool, or: bool) {
    let [own, foreign] = [TestDatabase::new::<Numbers>().await.unwrap(), TestDatabase::new::<Numbers>().await.unwrap()];
    for (id, (of, form)) in (0..).zip(&stored) {
        let number = number(id, *of);
        own.insert(&number).await.unwrap();
        foreign.insert(&number).await.unwrap();
        if *form > 0 {
            let merge = Action::Merge(otherwise(*of, *form), Condition::Exists);
            let batch = Batch::new("Numbers", "p").with(format!("n_{id:04}"), merge);
            foreign.store().commit(&[batch]).await.unwrap();
        }
    }
    let conditions = asked.iter().map(|(field, comparison, with)| condition(*field, *comparison, *with));
    let test = conditions.reduce(|a, b| if or { a.or(b) } else { a.and(b) }).unwrap();
    let test = if negated { !test } else { test };
    let found = async |db: &TestDatabase| -> Vec<Number> {
        let found = Number::scan_partition("p").matching(test.clone()).all(db).await.unwrap();
        found.into_iter().map(Stored::into_inner).collect()
    };
    assert_eq!(found(&foreign).await, found(&own).await, "{stored:?} {asked:?} {negated} {or}");
}
