//! Properties: each Rust type comes back as it went, and foreign stored types are read only without loss.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use chrono::{DateTime as ChronoTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use proptest::{collection::vec, prelude::*};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use tablemodel::{
    key::KeyArg,
    property::{Property, ValueError, json},
};
use tablemodel_store::{DateTime, EdmType, Uuid, Value};
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};
use ulid::Ulid;

fn stored<T: Property>(value: &T) -> Value {
    value.to_value().unwrap().unwrap()
}

fn read<T: Property>(value: impl Into<Value>) -> Result<T, ValueError> {
    T::from_value(Some(value.into().as_ref()))
}

fn round_trips<T: Property + PartialEq + Debug>(value: T) -> Result<(), TestCaseError> {
    let stored = stored(&value);
    prop_assert_eq!(stored.edm(), T::EDM);
    prop_assert_eq!(T::from_value(Some(stored.as_ref())), Ok(value));
    prop_assert_eq!(T::from_value(None), Err(ValueError::Missing));
    Ok(())
}

proptest! {
    #[test]
    fn numbers_come_back(a in any::<(u8, u16, u32, u64, u128)>(), b in any::<(i8, i16, i32, i64, i128)>()) {
        round_trips(a.0)?;
        round_trips(a.1)?;
        round_trips(a.2)?;
        round_trips(a.3)?;
        round_trips(a.4)?;
        round_trips(b.0)?;
        round_trips(b.1)?;
        round_trips(b.2)?;
        round_trips(b.3)?;
        round_trips(b.4)?;
    }

    #[test]
    fn floats_come_back_bit_by_bit(wide in any::<u64>(), narrow in any::<u32>()) {
        let (wide, narrow) = (f64::from_bits(wide), f32::from_bits(narrow));
        prop_assert_eq!(read::<f64>(stored(&wide)).unwrap().to_bits(), wide.to_bits());
        let back = read::<f32>(stored(&narrow)).unwrap();
        prop_assert!(back.to_bits() == narrow.to_bits() || (back.is_nan() && narrow.is_nan()));
    }

    #[test]
    fn texts_and_bytes_come_back(text in any::<String>(), c in any::<char>(), truth in any::<bool>(), array in any::<[u8; 7]>()) {
        round_trips(text.clone())?;
        round_trips(Box::<str>::from(&*text))?;
        round_trips(std::sync::Arc::<str>::from(&*text))?;
        round_trips(std::borrow::Cow::<str>::Owned(text))?;
        round_trips(c)?;
        round_trips(truth)?;
        round_trips(array.to_vec())?;
        round_trips(Bytes::copy_from_slice(&array))?;
        prop_assert_eq!(stored(&Bytes::copy_from_slice(&array)), stored(&array.to_vec()));
        round_trips(array)?;
    }

    #[test]
    fn identifiers_come_back(bits in any::<u128>()) {
        round_trips(Uuid::from_u128(bits))?;
        round_trips(Ulid::from(bits))?;
        prop_assert_eq!(read::<Uuid>(Uuid::from_u128(bits).to_string()), Ok(Uuid::from_u128(bits)));
        prop_assert_eq!(read::<Ulid>(Ulid::from(bits).to_string().to_lowercase()), Ok(Ulid::from(bits)));
    }

    #[test]
    fn times_of_whole_ticks_come_back(ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks()) {
        let at = DateTime::from_ticks(ticks);
        round_trips(at)?;
        round_trips(read::<SystemTime>(at).unwrap())?;
        round_trips(read::<ChronoTime<Utc>>(at).unwrap())?;
        round_trips(read::<OffsetDateTime>(at).unwrap())?;
        let nanos = at.unix_nanos();
        prop_assert_eq!(read::<OffsetDateTime>(at).unwrap().unix_timestamp_nanos(), nanos);
        let chrono = read::<ChronoTime<Utc>>(at).unwrap();
        prop_assert_eq!(i128::from(chrono.timestamp()) * 1_000_000_000 + i128::from(chrono.timestamp_subsec_nanos()), nanos);
    }

    #[test]
    fn finer_times_are_cut_toward_the_past(nanos in -9_000_000_000_000_000_000_i64..9_000_000_000_000_000_000) {
        let whole = nanos.div_euclid(100) * 100;
        let chrono = Utc.timestamp_nanos(nanos);
        prop_assert_eq!(read::<ChronoTime<Utc>>(stored(&chrono)), Ok(Utc.timestamp_nanos(whole)));
        let offset = OffsetDateTime::from_unix_timestamp_nanos(i128::from(nanos)).unwrap();
        prop_assert_eq!(stored(&offset), stored(&chrono));
        let distance = Duration::from_nanos(nanos.unsigned_abs());
        let system = if nanos < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance };
        prop_assert_eq!(stored(&system), stored(&chrono));
    }

    #[test]
    fn dates_and_times_of_day_come_back(day in 1..3_652_059_i32, second in 0..86_400_u32, nano in 0..1_000_000_000_u32) {
        let date = NaiveDate::from_num_days_from_ce_opt(day).unwrap();
        let clock = NaiveTime::from_num_seconds_from_midnight_opt(second, nano).unwrap();
        round_trips(date)?;
        round_trips(clock)?;
        round_trips(NaiveDateTime::new(date, clock))?;
        prop_assert_eq!(stored(&date), Value::from(format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())));
        prop_assert_eq!(stored(&clock), Value::from(format!("{:02}:{:02}:{:02}.{nano:09}", second / 3600, second / 60 % 60, second % 60)));

        let time_date = Date::from_julian_day(day + 1_721_425).unwrap();
        let time_clock = Time::from_hms_nano((second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8, nano).unwrap();
        round_trips(time_date)?;
        round_trips(time_clock)?;
        round_trips(PrimitiveDateTime::new(time_date, time_clock))?;
        prop_assert_eq!(stored(&PrimitiveDateTime::new(time_date, time_clock)), stored(&NaiveDateTime::new(date, clock)));
    }

    #[test]
    fn decimals_come_back_with_their_scale(mantissa in any::<i64>(), scale in 0..28_u32) {
        let decimal = Decimal::new(mantissa, scale);
        let back: Decimal = read(stored(&decimal)).unwrap();
        prop_assert_eq!((back.mantissa(), back.scale()), (decimal.mantissa(), decimal.scale()));
    }

    #[test]
    fn json_comes_back(list in vec(any::<(String, f64)>().prop_filter("finite", |(_, float)| float.is_finite()), 0..4)) {
        let map: BTreeMap<String, f64> = list.into_iter().collect();
        let stored = json::to_value(&map).unwrap().unwrap();
        prop_assert_eq!(json::from_value(Some(stored.as_ref())), Ok(map));
    }

    #[test]
    fn an_option_is_there_or_absent(some in any::<Option<u32>>()) {
        let value = some.to_value().unwrap();
        prop_assert_eq!(value.is_some(), some.is_some());
        prop_assert_eq!(Option::<u32>::from_value(value.as_ref().map(Value::as_ref)), Ok(some));
    }
}

#[test]
fn stored_forms_are_as_the_table_of_types_says() {
    assert_eq!(stored(&7_u8), Value::Int32(7));
    assert_eq!(stored(&-7_i32), Value::Int32(-7));
    assert_eq!(stored(&u32::MAX), Value::Int64(4_294_967_295));
    assert_eq!(stored(&i64::MIN), Value::Int64(i64::MIN));
    assert_eq!(stored(&7_u64), Value::from("00000000000000000007"));
    assert_eq!(stored(&7_u128), Value::from("000000000000000000000000000000000000007"));
    assert_eq!(stored(&i128::MIN), Value::from("000000000000000000000000000000000000000"));
    assert_eq!(stored(&-1_i128), Value::from("170141183460469231731687303715884105727"));
    assert_eq!(stored(&1.5_f32), Value::Double(1.5));
    assert_eq!(stored(&'é'), Value::from("é"));
    assert_eq!(stored(&[1_u8, 2]), Value::Binary(vec![1, 2]));
    assert_eq!(stored(&NaiveDate::from_ymd_opt(2014, 7, 31).unwrap()), Value::from("2014-07-31"));
    assert_eq!(stored(&Decimal::new(120, 2)), Value::from("1.20"));
    let local = NaiveDate::from_ymd_opt(2014, 7, 31).unwrap().and_hms_opt(18, 0, 0).unwrap();
    assert_eq!(stored(&local), Value::from("2014-07-31T18:00:00.000000000"));
    assert_eq!(stored(&SystemTime::UNIX_EPOCH), Value::DateTime(DateTime::UNIX_EPOCH));
}

#[test]
fn each_encoding_has_a_name() {
    assert_eq!((u64::CODEC, String::CODEC, Option::<f32>::CODEC), ("u64", "string", "f32"));
    assert_eq!((<[u8; 0]>::CODEC, <[u8; 32]>::CODEC, <[u8; 65_536]>::CODEC), ("[u8; 0]", "[u8; 32]", "[u8; 65536]"));
    assert_eq!((SystemTime::CODEC, OffsetDateTime::CODEC), ("datetime", "datetime"));
    const { assert!(Option::<u8>::NULLABLE && !u8::NULLABLE) }
}

#[test]
fn other_stored_types_are_read_where_nothing_is_lost() {
    assert_eq!(read::<u8>(255_i64), Ok(255));
    assert_eq!(read::<i64>(-7_i32), Ok(-7));
    assert_eq!(read::<u64>(7_i64), Ok(7));
    assert_eq!(read::<u64>("7"), Ok(7));
    assert_eq!(read::<i128>(-7_i64), Ok(-7));
    assert_eq!(read::<f64>(7_i32), Ok(7.0));
    assert_eq!(read::<f32>(0.5_f64), Ok(0.5));
    assert_eq!(read::<f64>(1_i64 << 60), Ok((1_u64 << 60) as f64));
    assert_eq!(read::<NaiveTime>("18:00:00"), Ok(NaiveTime::from_hms_opt(18, 0, 0).unwrap()));
    assert_eq!(read::<NaiveTime>("18:00:00.5"), Ok(NaiveTime::from_hms_nano_opt(18, 0, 0, 500_000_000).unwrap()));
    assert_eq!(read::<Decimal>(7_i64), Ok(Decimal::new(7, 0)));
}

#[test]
fn a_value_of_another_type_is_never_taken_for_this_one() {
    let wrong = |expected, found| ValueError::WrongType { expected, found };
    assert_eq!(read::<u32>("7"), Err(wrong(EdmType::Int64, EdmType::String)));
    assert_eq!(read::<i64>("7".repeat(39)), Err(wrong(EdmType::Int64, EdmType::String)));
    assert_eq!(read::<i32>(7.0), Err(wrong(EdmType::Int32, EdmType::Double)));
    assert_eq!(read::<bool>(1), Err(wrong(EdmType::Boolean, EdmType::Int32)));
    assert_eq!(read::<String>(1), Err(wrong(EdmType::String, EdmType::Int32)));
    assert_eq!(read::<f64>("1"), Err(wrong(EdmType::Double, EdmType::String)));
    assert_eq!(read::<f64>((1_i64 << 60) + 1), Err(wrong(EdmType::Double, EdmType::Int64)));
    assert_eq!(read::<DateTime>("2014-07-31T18:00:00Z"), Err(wrong(EdmType::DateTime, EdmType::String)));
    assert_eq!(read::<Vec<u8>>("AA=="), Err(wrong(EdmType::Binary, EdmType::String)));
    assert_eq!(read::<Option<u8>>("x"), Err(wrong(EdmType::Int32, EdmType::String)));
    assert_eq!(read::<Decimal>(0.1), Err(wrong(EdmType::String, EdmType::Double)));
}

#[test]
fn what_does_not_fit_says_so() {
    let is_out_of_range =
        |error: Option<ValueError>| assert!(matches!(error, Some(ValueError::OutOfRange { .. })), "{error:?}");
    is_out_of_range(read::<u8>(256).err());
    is_out_of_range(read::<u64>(-1).err());
    is_out_of_range(read::<u64>("18446744073709551616").err());
    is_out_of_range(read::<i8>(-129).err());
    is_out_of_range(read::<f32>(0.1).err());
    is_out_of_range(DateTime::from_ticks(0).to_value().err());
    is_out_of_range(Utc.with_ymd_and_hms(1600, 12, 31, 23, 59, 59).unwrap().to_value().err());
    is_out_of_range(Utc.with_ymd_and_hms(10_000, 1, 1, 0, 0, 0).unwrap().to_value().err());
    is_out_of_range(NaiveDate::from_ymd_opt(0, 12, 31).unwrap().to_value().err());
    is_out_of_range(NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap().to_value().err());
    is_out_of_range(NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap().to_value().err());

    let is_malformed =
        |error: Option<ValueError>| assert!(matches!(error, Some(ValueError::Malformed { .. })), "{error:?}");
    is_malformed(read::<u64>("7x").err());
    is_malformed(read::<i128>("-7").err());
    is_malformed(read::<char>("ab").err());
    is_malformed(read::<[u8; 2]>(vec![1_u8]).err());
    is_malformed(read::<Uuid>("x").err());
    is_malformed(read::<Ulid>("8ZZZZZZZZZZZZZZZZZZZZZZZZZ").err());
    is_malformed(read::<NaiveDate>("2014-02-30").err());
    for text in ["24:00:00", "18:60:00", "18:00", "18:00:00:00", "1:00:00", "18:00:00.", "18:00:00.1234567890"] {
        is_malformed(read::<NaiveTime>(text).err());
    }
    is_malformed(read::<Decimal>("1.2.3").err());
    is_malformed(json::from_value::<Vec<u8>>(Some(Value::from("[1,").as_ref())).err());
}

#[test]
fn an_offset_comes_back_as_utc() {
    let at = OffsetDateTime::UNIX_EPOCH.to_offset(UtcOffset::from_hms(2, 0, 0).unwrap());
    let back: OffsetDateTime = read(stored(&at)).unwrap();
    assert_eq!((back, back.offset()), (at, UtcOffset::UTC));
}

#[test]
fn json_null_is_an_absent_property() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Skill {
        name: String,
        years: Option<u8>,
    }
    let skill = Some(Skill { name: "Rust".into(), years: None });
    let stored = json::to_value(&skill).unwrap();
    assert_eq!(stored, Some(Value::from(r#"{"name":"Rust","years":null}"#)));
    assert_eq!(json::from_value(stored.as_ref().map(Value::as_ref)), Ok(skill));
    assert_eq!(json::to_value(&None::<Skill>), Ok(None));
    assert_eq!(json::from_value::<Option<Skill>>(None), Ok(None));
    assert_eq!(json::from_value::<Vec<u8>>(None), Err(ValueError::Missing));
    assert_eq!(
        json::from_value::<Vec<u8>>(Some(Value::Int32(1).as_ref())),
        Err(ValueError::WrongType { expected: EdmType::String, found: EdmType::Int32 })
    );
}

#[test]
fn queries_take_literals_and_references() {
    fn id(value: impl KeyArg<u32>) -> Value {
        value.to_key_value().unwrap()
    }
    fn department(value: impl KeyArg<String>) -> Value {
        value.to_key_value().unwrap()
    }
    let (number, owned) = (223, String::from("Sales"));
    let number_ref = &number;
    assert_eq!([id(223), id(number), id(number_ref)], [const { Value::Int64(223) }; 3]);
    assert_eq!(
        [department("Sales"), department(&owned), department(owned.as_str()), department(owned.clone())],
        [(); 4].map(|()| Value::from("Sales"))
    );
}
