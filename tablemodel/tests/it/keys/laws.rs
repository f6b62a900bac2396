//! Every built-in type keeps the key laws, on samples that are meant to break them.

use std::{borrow::Cow, fmt::Debug, sync::Arc, time::SystemTime};

use chrono::{DateTime as ChronoTime, NaiveDate, Utc};
use proptest::{collection::vec, prelude::*, sample::select};
use tablemodel::{key::KeyPart, property::Property, testing::check_key_laws};
use tablemodel_store::{DateTime, Value};
use time::{Date, OffsetDateTime};
use ulid::Ulid;
use uuid::Uuid;

use super::hostile;

fn holds<T: KeyPart + PartialOrd + Debug>(samples: Vec<T>) -> Result<(), TestCaseError> {
    check_key_laws(samples).map_err(|violations| TestCaseError::fail(violations.to_string()))
}

fn converted<T: Property>(at: DateTime) -> T {
    T::from_value(Some(Value::DateTime(at).as_ref())).unwrap()
}

macro_rules! integers {
    ($($test:ident: $type:ident;)*) => {
        proptest! {$(
            #[test]
            fn $test(samples in vec(prop_oneof![any::<$type>(), select(vec![$type::MIN, 0, 1, 9, 10, $type::MAX])], 2..8)) {
                holds(samples)?;
            }
        )*}
    };
}

integers! {
    u8_keeps_the_laws: u8;
    u16_keeps_the_laws: u16;
    u32_keeps_the_laws: u32;
    u64_keeps_the_laws: u64;
    u128_keeps_the_laws: u128;
    i8_keeps_the_laws: i8;
    i16_keeps_the_laws: i16;
    i32_keeps_the_laws: i32;
    i64_keeps_the_laws: i64;
    i128_keeps_the_laws: i128;
}

proptest! {
    #[test]
    fn texts_keep_the_laws((a, b) in hostile::text_pair(), more in vec(hostile::text(), 0..4)) {
        let samples: Vec<String> = more.into_iter().chain([a, b]).collect();
        holds(samples.iter().map(|text| Box::<str>::from(&**text)).collect())?;
        holds(samples.iter().map(|text| Arc::<str>::from(&**text)).collect())?;
        holds(samples.iter().map(|text| Cow::<str>::Owned(text.clone())).collect())?;
        holds(samples)?;
    }

    #[test]
    fn characters_keep_the_laws(samples in vec(prop_oneof![any::<char>(), any::<u8>().prop_map(char::from)], 2..8)) {
        holds(samples)?;
    }

    #[test]
    fn floats_keep_the_laws(samples in vec(hostile::float(), 2..8)) {
        holds(samples.iter().map(|wide| *wide as f32).collect())?;
        holds(samples)?;
    }

    #[test]
    fn bytes_keep_the_laws(samples in vec(vec(prop_oneof![0_u8..3, any::<u8>()], 0..4), 2..6)) {
        holds(samples.iter().map(|bytes| [bytes.len() as u8, bytes.first().copied().unwrap_or_default()]).collect())?;
        holds(samples)?;
    }

    #[test]
    fn identifiers_keep_the_laws(samples in vec(prop_oneof![any::<u128>(), Just(0), Just(u128::MAX)], 2..6)) {
        holds(samples.iter().map(|bits| Uuid::from_u128(*bits)).collect())?;
        holds(samples.into_iter().map(Ulid::from).collect())?;
    }

    #[test]
    fn times_keep_the_laws(samples in vec(hostile::time(), 2..8)) {
        holds(samples.iter().map(|at| converted::<SystemTime>(*at)).collect())?;
        holds(samples.iter().map(|at| converted::<ChronoTime<Utc>>(*at)).collect())?;
        holds(samples.iter().map(|at| converted::<OffsetDateTime>(*at)).collect())?;
        holds(samples)?;
    }

    #[test]
    fn dates_keep_the_laws(days in vec(prop_oneof![1..3_652_059_i32, 735_000..735_800_i32], 2..8)) {
        holds(days.iter().filter_map(|day| NaiveDate::from_num_days_from_ce_opt(*day)).collect())?;
        holds(days.iter().filter_map(|day| Date::from_julian_day(day + 1_721_425).ok()).collect())?;
    }
}

#[test]
fn truth_values_keep_the_laws() {
    holds(vec![false, true]).unwrap();
}

#[test]
fn an_absent_value_makes_no_key() {
    holds(vec![None, Some(7_u32), Some(0)]).unwrap();
    holds(vec![None, Some(String::new())]).unwrap();
}
