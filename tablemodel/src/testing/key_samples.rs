//! Values that are hard on a key type: where the kinds of values have their bounds, and what keys have to escape.
//! They are made of stored values, so that a type need only say of what kind it is.

use tablemodel_store::{DateTime, Uuid, Value};

use crate::{
    key::{KeyPart, KeyType, Samples, digits},
    property::integer::{signed_value, unsigned_value},
};

/// Around each escape, and around each step in the order of characters; each is a text.
const CHARACTERS: &str = "\0\u{1f} !\"#$%&'*+,-./09:;<=>?@ABZ[\\]^_`abz{|}~\u{7f}\u{80}\u{9f}\u{a0}éΣςİ\u{d7ff}\u{e000}\u{ffee}\u{ffff}\u{10000}\u{10ffff}";
/// Separators, escapes and names of the framework within a text, and texts that begin alike.
const TEXTS: &[&str] = &[
    "",
    "a ",
    "a!",
    "a.",
    "a.é",
    "a/",
    "a/b",
    "a_",
    "a_b",
    "aa",
    "a~",
    "a\u{e000}",
    "a\u{10000}",
    "A ~~01",
    "~~",
    "~~a",
    "..",
    ".}",
    ".~",
    "../x",
    "$20",
    "Jones",
    "JONES",
    "O'Brien",
    "100%",
    "https://contoso.com/?s=1#a",
];
const DATES: &[&str] = &[
    "0001-01-01",
    "0001-01-02",
    "1600-02-29",
    "1969-12-31",
    "1970-01-01",
    "2013-12-31",
    "2014-01-01",
    "2014-01-31",
    "2014-02-01",
    "9999-12-31",
];
const ULIDS: &[&str] = &[
    "00000000000000000000000000",
    "00000000000000000000000001",
    "0000000000000000000000000Z",
    "0000000001ZZZZZZZZZZZZZZZZ",
    "00000000020000000000000000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "7ZZZZZZZZZZZZZZZZZZZZZZZZY",
    "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
];
const BYTES: &[&[u8]] =
    &[b"", b"\0", b"\0\0", b"\0\x01", b"\x01", b"\x0f", b"\x10", b"a", b"a/", b"\x7f", b"\x80", b"\xff", b"\xff\xff"];
const UUIDS: [u128; 6] = [0, 1, 1 << 64, 0x3f25_04e0_4f89_41d3_9a0c_0305_e82c_3301, 1 << 127, u128::MAX];
const FLOATS: [f64; 18] = [
    f64::NEG_INFINITY,
    f64::MIN,
    f32::MIN as f64,
    -1.5,
    -1.0,
    -f64::MIN_POSITIVE,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    f64::MIN_POSITIVE,
    f32::MIN_POSITIVE as f64,
    1.0,
    1.5,
    16_777_217.0,
    f32::MAX as f64,
    f64::MAX,
    f64::INFINITY,
];

/// Values to try `T` with, as its [`SAMPLES`](KeyPart::SAMPLES) say; those that it does not take are left out.
///
/// Also for tests of yours, such as of a codec: all integers have their bounds among them, texts what keys have to escape, times
/// and dates the first and last that are stored, and a derived enum all its variants.
///
/// ```
/// use tablemodel::{prelude::*, testing::key_samples};
///
/// #[derive(Debug, PartialEq, Property, KeyPart)]
/// enum Grade { Junior, Senior }
///
/// assert_eq!(key_samples::<Grade>(), [Grade::Junior, Grade::Senior]);
/// let numbers = key_samples::<u16>();
/// assert!(numbers.contains(&0) && numbers.contains(&u16::MAX));
/// ```
pub fn key_samples<T: KeyPart>() -> Vec<T> {
    let values = match T::SAMPLES {
        Samples::OfKind => of_kind(T::TYPE),
        Samples::Texts(texts) => of_texts(texts),
        Samples::Bytes(len) => of_length(len),
    };
    values.iter().filter_map(|value| T::from_value(Some(value.as_ref())).ok()).collect()
}

fn of_kind(kind: KeyType) -> Vec<Value> {
    match kind {
        KeyType::Text => texts(),
        KeyType::Unsigned(bits) => unsigned(bits),
        KeyType::Signed(bits) => signed(bits),
        KeyType::Float => Vec::from(FLOATS.map(Value::Double)),
        KeyType::Bool => vec![Value::Boolean(false), Value::Boolean(true)],
        KeyType::Uuid => Vec::from(UUIDS.map(|bits| Value::Guid(Uuid::from_u128(bits)))),
        KeyType::Ulid => of_texts(ULIDS),
        KeyType::Date => of_texts(DATES),
        KeyType::Time => times(),
        KeyType::Binary => BYTES.iter().map(|bytes| Value::from(*bytes)).collect(),
        KeyType::Enum { .. } => Vec::new(), // which texts it has, only the type knows
    }
}

fn of_texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| Value::from(*text)).collect()
}

fn texts() -> Vec<Value> {
    CHARACTERS.chars().map(|c| Value::String(c.into())).chain(of_texts(TEXTS)).collect()
}

fn unsigned(bits: u8) -> Vec<Value> {
    let (max, half) = (digits::max_of(bits), digits::max_of(bits) >> 1);
    let numbers = [0, 1, 2, 9, 10, 99, 100, half, half.saturating_add(1), max.saturating_sub(1), max];
    numbers.into_iter().filter_map(|number| unsigned_value(number, bits)).collect()
}

fn signed(bits: u8) -> Vec<Value> {
    let max = (digits::max_of(bits) >> 1) as i128; // one bit less
    let numbers = [-max - 1, -max, -100, -10, -9, -1, 0, 1, 9, 10, 100, max.saturating_sub(1), max];
    numbers.into_iter().filter_map(|number| signed_value(number, bits)).collect()
}

/// The bounds of what is stored; and of an hour, a day, a month and a year.
fn times() -> Vec<Value> {
    let hour = 3_600;
    let bounds = [-hour, 0, hour, 24 * hour, 31 * 24 * hour, 365 * 24 * hour];
    let bounds = bounds.into_iter().filter_map(DateTime::from_unix_seconds).map(DateTime::ticks);
    let around = bounds.flat_map(|ticks| [ticks - 1, ticks, ticks + 1]);
    let (min, max) = (DateTime::MIN.ticks(), DateTime::MAX.ticks());
    [min, min + 1, max - 1, max]
        .into_iter()
        .chain(around)
        .map(|ticks| Value::DateTime(DateTime::from_ticks(ticks)))
        .collect()
}

/// All bits clear, all set, and one set at either end.
fn of_length(len: usize) -> Vec<Value> {
    let with = |at: usize, byte: u8| (0..len).map(|place| if place == at { byte } else { 0 }).collect::<Vec<_>>();
    let last = len.saturating_sub(1);
    let all = [vec![0; len], vec![u8::MAX; len], with(0, 1), with(0, 0x80), with(last, 1), with(last, 0x80)];
    Vec::from(all.map(Value::Binary))
}
