//! Every built-in type keeps the key laws, on samples that are meant to break them.

use std::{borrow::Cow, fmt::Debug, sync::Arc, time::SystemTime};

use bytes::Bytes;
use chrono::{DateTime as ChronoTime, NaiveDate, Utc};
use proptest::{collection::vec, prelude::*, sample::select};
use tablemodel::{
    key::KeyPart,
    property::Property,
    testing::{check_key_laws, key_laws, key_samples},
};
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
        holds(samples.iter().map(|bytes| Bytes::copy_from_slice(bytes)).collect())?;
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
fn every_built_in_type_keeps_the_laws_on_samples_of_its_own() {
    macro_rules! keep {
        ($($type:ty),* $(,)?) => { $(
            key_laws::<$type>();
            key_laws::<Option<$type>>();
        )* };
    }
    keep!(bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64, char);
    keep!(String, Box<str>, Arc<str>, Cow<'static, str>, Vec<u8>, Bytes, [u8; 0], [u8; 1], [u8; 16]);
    keep!(Uuid, Ulid, DateTime, SystemTime, ChronoTime<Utc>, OffsetDateTime, NaiveDate, Date);
}

#[test]
fn the_samples_of_a_type_reach_its_bounds() {
    macro_rules! reach {
        ($($type:ty: $($bound:expr),*;)*) => { $({
            let samples = key_samples::<$type>();
            $( assert!(samples.contains(&$bound), "{} in {samples:?}", stringify!($bound)); )*
        })* };
    }
    reach! {
        bool: false, true;
        u8: u8::MIN, u8::MAX; u16: u16::MAX; u32: u32::MAX; u64: u64::MAX; u128: u128::MIN, u128::MAX;
        i8: i8::MIN, -1, i8::MAX; i16: i16::MIN, i16::MAX; i32: i32::MIN, i32::MAX; i64: i64::MIN, i64::MAX;
        i128: i128::MIN, -1, 0, i128::MAX;
        f32: f32::MIN, f32::MAX, f32::INFINITY; f64: f64::MIN, 5e-324, f64::MAX;
        char: '\0', '/', '\u{e000}', char::MAX;
        String: String::new(), "a/b".to_owned(), "~~".to_owned(), "\u{10000}".to_owned();
        Vec<u8>: Vec::new(), vec![u8::MAX];
        [u8; 3]: [0; 3], [u8::MAX; 3], [0, 0, 1];
        Uuid: Uuid::nil(), Uuid::max();
        Ulid: Ulid::from(0_u128), Ulid::from(u128::MAX);
        DateTime: DateTime::MIN, DateTime::UNIX_EPOCH, DateTime::MAX;
        SystemTime: converted(DateTime::MIN), converted(DateTime::MAX);
        NaiveDate: NaiveDate::from_ymd_opt(1, 1, 1).unwrap(), NaiveDate::from_ymd_opt(9999, 12, 31).unwrap();
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
