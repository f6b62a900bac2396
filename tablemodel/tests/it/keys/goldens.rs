//! Golden keys: what is written today must be read for ever.

use std::ops::Bound;

use tablemodel::key::{
    Codec, KeyFault, KeyPart, KeyType, Next, Part,
    Segment::{self, Literal},
    Template,
};
use tablemodel_store::{DateTime, Uuid, Value};

fn value(value: impl Into<Value>) -> Value {
    value.into()
}

/// The key of one value, checked to read back where the codec is not lossy.
fn key(key_type: KeyType, codec: Codec, value: impl Into<Value>) -> Result<String, KeyFault> {
    let part = Part { field: "value", property: "Value", key_type, optional: false, codec };
    let template = Template(vec![Segment::Part(part)].leak());
    let value = value.into();
    let key = template.encode(|_| Some(value.as_ref())).map_err(|error| error.fault)?.expect("not optional");
    let decoded = template.decode(&key).expect("its own key").pop().map(|(_, back)| back);
    assert_eq!(decoded, (!codec.is_lossy()).then_some(value), "{key:?}");
    Ok(key)
}

fn of<T: KeyPart>(codec: Codec, sample: T) -> String {
    key(T::TYPE, codec, sample.to_value().unwrap().unwrap()).unwrap()
}

fn at(text: &str) -> DateTime {
    text.parse().unwrap()
}

#[test]
fn the_guides_keys_are_written_as_in_the_guide() {
    const DEPARTMENT: Part = Part::of::<String>("department", "Department", Codec::Plain);
    const ID: Part = Part::of::<u32>("id", "Id", Codec::Width(6));
    const YEAR: Part = Part::of::<u16>("year", "Year", Codec::Width(4));
    const EMAIL: Part = Part::of::<String>("email", "Email", Codec::Plain);
    const NAME: Part = Part::of::<String>("last_name", "LastName", Codec::Plain);
    let values = [value("Sales"), value(223_i64), value(2012), value("jonesj@contoso.com"), value("Jones")];
    let parts = [DEPARTMENT, ID, YEAR, EMAIL, NAME];
    let key = |segments: &'static [Segment]| {
        let position = |part: &Part| parts.iter().position(|candidate| candidate == part);
        Template(segments).encode(|part| position(part).map(|at| values[at].as_ref())).unwrap().unwrap()
    };
    assert_eq!(key(&[Segment::Part(DEPARTMENT)]), "Sales");
    assert_eq!(key(&[Literal("empid_"), Segment::Part(ID)]), "empid_000223");
    assert_eq!(key(&[Literal("email_"), Segment::Part(EMAIL)]), "email_jonesj@contoso.com");
    assert_eq!(key(&[Segment::Part(ID), Literal("_"), Segment::Part(YEAR)]), "000223_2012");
    assert_eq!(key(&[Segment::Part(DEPARTMENT), Literal("_"), Segment::Part(NAME)]), "Sales_Jones");
}

#[test]
fn integers() {
    assert_eq!(of(Codec::Plain, 7_u8), "007");
    assert_eq!(of(Codec::Plain, u16::MAX), "65535");
    assert_eq!(of(Codec::Plain, 223_u32), "0000000223");
    assert_eq!(of(Codec::Plain, u64::MAX), "18446744073709551615");
    assert_eq!(of(Codec::Plain, 1_u128), "000000000000000000000000000000000000001");
    assert_eq!(of(Codec::Plain, i8::MIN), "000");
    assert_eq!(of(Codec::Plain, -1_i16), "32767");
    assert_eq!(of(Codec::Plain, 0_i32), "2147483648");
    assert_eq!(of(Codec::Plain, i64::MAX), "18446744073709551615");
    assert_eq!(of(Codec::Plain, 0_i128), "170141183460469231731687303715884105728");
    assert_eq!(of(Codec::Desc, 0_u8), "255");
    assert_eq!(of(Codec::Desc, 1_u32), "4294967294");
    assert_eq!(of(Codec::Desc, i32::MAX), "0000000000");
    assert_eq!(of(Codec::Desc, -1_i64), "09223372036854775808");
    assert_eq!(of(Codec::Width(6), 223_u32), "000223");
    assert_eq!(of(Codec::Width(4), 2012_i32), "2012");
    assert_eq!(of(Codec::Width(22), 5_u64), "0000000000000000000005");
}

#[test]
fn floats() {
    assert_eq!(of(Codec::Sortable, 0.0_f64), "8000000000000000");
    assert_eq!(of(Codec::Sortable, -0.0_f64), "8000000000000000");
    assert_eq!(of(Codec::Sortable, 1.0_f64), "bff0000000000000");
    assert_eq!(of(Codec::Sortable, -1.0_f64), "400fffffffffffff");
    assert_eq!(of(Codec::Sortable, f64::INFINITY), "fff0000000000000");
    assert_eq!(of(Codec::Sortable, f64::NEG_INFINITY), "000fffffffffffff");
    assert_eq!(of(Codec::Sortable, 1.5_f32), "bff8000000000000");
}

#[test]
fn texts() {
    let golden = [
        ("Jones", "Jones"),
        ("jonesj@contoso.com", "jonesj@contoso.com"),
        ("a_b-c+d:e,f=(g)*;<^|{}", "a_b-c+d:e,f=(g)*;<^|{}"),
        ("van Dyke", "van$20Dyke"),
        ("O'Brien & Sons", "O&1Brien$20&0$20Sons"),
        ("a/b.c", "a.~b.c"),
        ("..", ".."),
        (".é.~.}", ".}é.}~00.}}"),
        ("50% #1?", "50$25$20$231>1"),
        ("C:\\[x]", "C:[1[0x]"),
        ("a>b", "a>0b"),
        ("\0\t\u{7f}\u{9f}~", "$00$09~01~33~00"),
        ("!\"$", "$21$22$24"),
        ("Müller 𐐷", "Müller$20𐐷"),
        ("", "$"),
    ];
    for (text, expected) in golden {
        assert_eq!(key(KeyType::Text, Codec::Plain, text).as_deref(), Ok(expected));
    }
}

#[test]
fn a_text_escapes_its_separator() {
    let part = Part::of::<String>("a", "A", Codec::Plain);
    let keys = |separator: &'static str| {
        let template = Template(vec![Segment::Part(part), Literal(separator)].leak());
        let text = value("a_b!c|-\u{1F600}");
        template.encode(|_| Some(text.as_ref())).unwrap().unwrap()
    };
    assert_eq!(keys("_x"), "a$5Fb$21c|-😀_x");
    assert_eq!(keys("!"), "a_b$21c|-😀!");
    assert_eq!(keys("|"), "a_b$21c$7C-😀|");
    assert_eq!(keys("-"), "a_b$21c|$2D😀-");
}

#[test]
fn texts_without_case() {
    assert_eq!(of(Codec::Lower, "Jones".to_owned()), "jones");
    assert_eq!(of(Codec::Lower, "ΟΔΟΣ".to_owned()), of(Codec::Lower, "οδος".to_owned()));
    assert_eq!(of(Codec::Lower, "STRASSE".to_owned()), "strasse");
    assert_eq!(of(Codec::Lower, "Straße".to_owned()), "straße");
    assert_eq!(of(Codec::Lower, "İI".to_owned()), "i\u{307}i");
}

#[test]
fn texts_that_only_look_alike_are_told_apart() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}");
    for codec in [Codec::Plain, Codec::Lower] {
        let keys = [composed, decomposed].map(|text| of(codec, text.to_owned()));
        assert_eq!(keys, [composed, decomposed], "{codec:?}");
    }
    let capitals = ["\u{c9}", "E\u{301}"].map(|text| of(Codec::Lower, text.to_owned()));
    assert_eq!(capitals, [composed, decomposed], "without case, and each in its own form");
}

#[test]
fn raw_texts_are_verbatim_or_refused() {
    let raw = |text: &str| key(KeyType::Text, Codec::Raw, text);
    for text in ["New York", "O'Brien", "a~b", "!", "$", ""] {
        assert_eq!(raw(text).as_deref(), Ok(text));
    }
    for c in ['/', '\\', '#', '?', '%', '\0', '\u{7f}', '\u{85}'] {
        assert_eq!(raw(&format!("a{c}")), Err(KeyFault::IllegalCharacter(c)));
    }
    assert_eq!(raw("~~x"), Err(KeyFault::Reserved));
    assert_eq!(raw("x ~~01"), Err(KeyFault::Reserved));
}

#[test]
fn truth_values_and_identifiers() {
    assert_eq!((of(Codec::Plain, false), of(Codec::Plain, true)), ("false".into(), "true".into()));
    let uuid: Uuid = "3F2504E0-4F89-41D3-9A0C-0305E82C3301".parse().unwrap();
    assert_eq!(of(Codec::Plain, uuid), "3f2504e0-4f89-41d3-9a0c-0305e82c3301");
    let ulid: ulid::Ulid = "01arz3ndektsv4rrffq69g5fav".parse().unwrap();
    assert_eq!(of(Codec::Plain, ulid), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(of(Codec::Plain, vec![0x00_u8, 0xFF, 0x10]), "00ff10");
    assert_eq!(of(Codec::Plain, [1_u8, 2]), "0102");
}

#[test]
fn times() {
    let noon = at("2014-07-31T18:00:00.1234567Z");
    assert_eq!(of(Codec::Plain, noon), "0635424264001234567");
    assert_eq!(of(Codec::Desc, noon), "2519954711998765432");
    assert_eq!(of(Codec::Hour, noon), "2014-07-31T18");
    assert_eq!(of(Codec::Day, noon), "2014-07-31");
    assert_eq!(of(Codec::Month, noon), "2014-07");
    assert_eq!(of(Codec::Plain, DateTime::MAX), "3155378975999999999");
    assert_eq!(of(Codec::Desc, DateTime::MAX), "0000000000000000000");
    assert_eq!(of(Codec::Plain, DateTime::MIN), "0504911232000000000");
    assert_eq!(of(Codec::Hour, DateTime::MIN), "1601-01-01T00");
    assert_eq!(of(Codec::Hour, DateTime::MAX), "9999-12-31T23");
    let date = chrono::NaiveDate::from_ymd_opt(2014, 7, 31).unwrap();
    assert_eq!((of(Codec::Plain, date), of(Codec::Month, date)), ("2014-07-31".into(), "2014-07".into()));
}

#[test]
fn hashes_and_shards() {
    let shards = |n| ["", "a", "Sales", "jonesj@contoso.com"].map(|text| of(Codec::Shard(n), text.to_owned()));
    assert_eq!(shards(16), GOLDEN_SHARDS_16);
    assert_eq!(shards(1000), GOLDEN_SHARDS_1000);
    assert_eq!(shards(1), ["0", "0", "0", "0"]);
    assert_eq!(of(Codec::Hash, "Sales".to_owned()), GOLDEN_HASH_SALES);
    assert_eq!(of(Codec::Hash, 223_u32), GOLDEN_HASH_223);
    assert_eq!(of(Codec::Hash, 223_i64), GOLDEN_HASH_223, "an integer may grow without moving");
    assert_eq!(of(Codec::Hash, 0.0_f64), of(Codec::Hash, -0.0_f64));
    let all = [
        of(Codec::Hash, true),
        of(Codec::Hash, 1.5_f64),
        of(Codec::Hash, Uuid::from_u128(1)),
        of(Codec::Hash, DateTime::MAX),
        of(Codec::Hash, vec![1_u8, 2, 3]),
    ];
    assert_eq!(all, GOLDEN_HASHES);
}

// computed by python-xxhash, from the description in `key::digest`
const GOLDEN_SHARDS_16: [&str; 4] = ["09", "01", "07", "03"];
const GOLDEN_SHARDS_1000: [&str; 4] = ["897", "049", "711", "995"];
const GOLDEN_HASH_SALES: &str = "167009a682702e99c76cccf3362782b9";
const GOLDEN_HASH_223: &str = "3681429dfb7ee5959ef8391f795259e9";
const GOLDEN_HASHES: [&str; 5] = [
    "11da401d9e5d08dffe6f7d3099dff636",
    "a59649b72178e6243b5d0ca0ab983e0c",
    "fa3c9a2c14f390aa5ffc22c3fac371d3",
    "290b930d1614169c5ba2209bd530eff9",
    "4fe36320214c5d5fb99f7b15c8dcd8ea",
];

#[test]
fn what_has_no_place_in_a_key_is_refused() {
    let unsigned = KeyType::Unsigned(32);
    assert_eq!(key(unsigned, Codec::Width(6), 1_000_000_i64), Err(KeyFault::Overflow { width: 6 }));
    assert_eq!(key(KeyType::Signed(32), Codec::Width(6), -1), Err(KeyFault::Negative));
    assert_eq!(key(unsigned, Codec::Plain, -1_i64), Err(KeyFault::OutOfRange));
    assert_eq!(key(KeyType::Unsigned(8), Codec::Plain, 256), Err(KeyFault::OutOfRange));
    assert_eq!(key(KeyType::Signed(8), Codec::Plain, -129), Err(KeyFault::OutOfRange));
    assert_eq!(key(KeyType::Float, Codec::Sortable, f64::NAN), Err(KeyFault::NotANumber));
    assert_eq!(key(KeyType::Float, Codec::Hash, f64::NAN), Err(KeyFault::NotANumber));
    assert_eq!(key(KeyType::Float, Codec::Plain, 1.0), Err(KeyFault::Unfit));
    assert_eq!(key(KeyType::Text, Codec::Desc, "x"), Err(KeyFault::Unfit));
    assert_eq!(key(KeyType::Date, Codec::Plain, "2014-02-30"), Err(KeyFault::MalformedValue));
    assert_eq!(key(KeyType::Ulid, Codec::Plain, "81ARZ3NDEKTSV4RRFFQ69G5FAV"), Err(KeyFault::MalformedValue));
    assert_eq!(key(KeyType::Unsigned(64), Codec::Plain, "12x"), Err(KeyFault::MalformedValue));
    assert_eq!(key(KeyType::Time, Codec::Plain, DateTime::from_ticks(0)), Err(KeyFault::OutOfRange));
    assert_eq!(key(KeyType::Time, Codec::Day, DateTime::from_ticks(0)), Err(KeyFault::OutOfRange));
    let expected = tablemodel_store::EdmType::String;
    let found = tablemodel_store::EdmType::Int32;
    assert_eq!(key(KeyType::Text, Codec::Plain, 1), Err(KeyFault::WrongType { expected, found }));
    let long = "é".repeat(1025);
    assert_eq!(key(KeyType::Text, Codec::Plain, &*long), Err(KeyFault::TooLong { chars: 1025, limit: 1024 }));
    assert_eq!(key(KeyType::Text, Codec::Plain, &long[..2048]).map(|key| key.len()), Ok(2048));
    assert_eq!(key(KeyType::Text, Codec::Plain, "𐐷".repeat(513)), Err(KeyFault::TooLong { chars: 1026, limit: 1024 }));
}

#[test]
fn an_error_names_the_field() {
    const ID: Segment = Segment::Part(Part::of::<u32>("id", "Id", Codec::Width(6)));
    let template = Template(&[Literal("empid_"), ID]);
    let seven_digits = value(1_000_000_i64);
    let error = template.encode(|_| Some(seven_digits.as_ref())).unwrap_err();
    let told = "key field `id`: the number has more than the 6 digits of its key; give the template more, or leave the width out";
    assert_eq!(error.to_string(), told);
    let bound = Next::Between(Bound::Included(seven_digits.as_ref()), Bound::Unbounded);
    assert_eq!(template.range(|_| None, bound), Err(error));
    assert_eq!(
        template.encode(|_| None).unwrap_err().to_string(),
        "key field `id`: no value was given, and the key cannot do without"
    );
}
