//! Templates themselves: what is wrong with one, what can be had back from its keys, and strict reading.

use proptest::prelude::*;
use tablemodel::key::{
    Codec, KeyError, KeyFault, KeyType, Part, Problem,
    Segment::{self, Literal, Part as P},
    Template,
};
use tablemodel_store::{DateTime, Value};

use super::hostile::{case, key, lookup, pick};

const NAME: Part = Part::of::<String>("name", "Name", Codec::Plain);
const ID: Part = Part::of::<u32>("id", "Id", Codec::Width(6));
const BYTES: Part = Part::of::<Vec<u8>>("bytes", "Bytes", Codec::Plain);

fn problem(segments: Vec<Segment>) -> Option<Problem> {
    Template(segments.leak()).check()
}

#[test]
fn each_problem_is_found() {
    assert_eq!(problem(vec![]), Some(Problem::Empty));
    assert_eq!(problem(vec![P(ID), Literal("")]), Some(Problem::Empty));
    for text in [" ", "a/", "\\", "#", "?", "%", "'", "\n", "\u{7f}", "é\u{85}"] {
        assert_eq!(problem(vec![P(ID), Literal(text)]), Some(Problem::LiteralCharacter { segment: 1 }), "{text:?}");
    }
    assert_eq!(problem(vec![Literal("~~x")]), Some(Problem::Reserved));
    assert_eq!(problem(vec![Literal("~"), P(NAME)]), Some(Problem::Reserved));
    assert_eq!(problem(vec![Literal("~"), P(ID)]), None);
    assert_eq!(problem(vec![P(Part { codec: Codec::Day, ..NAME })]), Some(Problem::Unfit { segment: 0 }));
    assert_eq!(problem(vec![Literal("x"), P(NAME), P(ID)]), Some(Problem::Glued { segment: 1 }));
    assert_eq!(problem(vec![P(BYTES), P(ID)]), Some(Problem::Glued { segment: 0 }));
    assert_eq!(problem(vec![P(ID), P(NAME)]), None);
    assert_eq!(problem(vec![P(NAME), Literal("~~"), P(ID)]), Some(Problem::Separator { segment: 0 }));
    assert_eq!(problem(vec![P(BYTES), Literal("a")]), Some(Problem::Separator { segment: 0 }));
    assert_eq!(problem(vec![P(BYTES), Literal("g")]), None);
}

#[test]
fn a_separator_works_or_is_a_problem() {
    for byte in b'!'..=b'~' {
        let text: &'static str = char::from(byte).to_string().leak();
        let found = problem(vec![P(NAME), Literal(text), P(ID)]);
        let expected = match char::from(byte) {
            '/' | '\\' | '#' | '?' | '%' | '\'' => Some(Problem::LiteralCharacter { segment: 1 }),
            c if "$0123456789ABCDEF&.~>[}".contains(c) => Some(Problem::Separator { segment: 0 }),
            _ => None,
        };
        assert_eq!(found.is_some(), expected.is_some(), "{text}: {found:?}");
    }
    assert_eq!(problem(vec![P(NAME), Literal("é"), P(ID)]), Some(Problem::Separator { segment: 0 }));
}

#[test]
fn problems_are_told_when_compiling() {
    const GOOD: Template = Template(&[Literal("name_"), P(NAME), Literal("_"), P(ID)]);
    const _: () = assert!(GOOD.check().is_none() && GOOD.is_recoverable("Name") && !GOOD.is_recoverable("Nam"));
    const _: () = assert!(!GOOD.orders(0) && GOOD.orders(1) && !GOOD.orders(2));
    const _: () = assert!(GOOD.has_prefixes(0) && !GOOD.has_prefixes(1) && GOOD.shards().is_none());
}

#[test]
fn only_exact_parts_give_their_property_back() {
    let day = Part::of::<DateTime>("at", "At", Codec::Day);
    let at = Part::of::<DateTime>("at", "At", Codec::Desc);
    assert!(!Template(vec![P(day)].leak()).is_recoverable("At"));
    assert!(Template(vec![P(day), Literal("_"), P(at)].leak()).is_recoverable("At"));
}

#[test]
fn an_absent_optional_value_makes_no_key() {
    let template = Template(vec![P(Part::of::<Option<u32>>("id", "Id", Codec::Plain)), Literal("_"), P(NAME)].leak());
    assert_eq!(template.encode(|_| None), Ok(None));
    let name = Value::from("x");
    assert_eq!(template.encode(|part| (part.field == "name").then_some(name.as_ref())), Ok(None));
    let id = Value::from(1_i64);
    let missing = KeyError { field: Some("name"), fault: KeyFault::Missing };
    assert_eq!(template.encode(|part| (part.field == "id").then_some(id.as_ref())), Err(missing));
}

#[test]
fn every_shard_can_be_reached() {
    let shard = Part::of::<String>("name", "Name", Codec::Shard(16));
    let template = Template(vec![P(ID), Literal("_"), P(shard)].leak());
    assert_eq!(template.shards(), Some(16));
    let id = Value::from(7_i64);
    let in_shard = |shard| template.encode_in_shard(|part| (part.field == "id").then_some(id.as_ref()), shard);
    assert_eq!(in_shard(3), Ok(Some("000007_03".to_owned())));
    assert_eq!(in_shard(16), Err(KeyError { field: Some("name"), fault: KeyFault::OutOfRange }));
}

#[test]
fn only_keys_that_encoding_would_make_are_read() {
    let name_and_id = Template(&[Literal("n_"), P(NAME), Literal("_"), P(ID)]);
    assert!(name_and_id.decode("n_O&1Brien_000223").is_ok());
    let foreign = [
        "",
        "n_",
        "n_a_000223x",
        "n_a_00022",
        "n_a_00022x",
        "n_a_+00223",
        "m_a_000223",
        "n_a'_000223",
        "n_a$20_00022é",
        "n_a$2_000223",
        "n_a$41_000223",
        "n_a.}_000223",
        "n_a~99_000223",
        "n_a>2_000223",
        "n_a&_000223",
        "n_a!_000223",
        "n_a$5f_000223",
        "n_a ~~01",
        "n_a_000223 ~~01",
        "n_a/_000223",
        "n_a$+1_000223",
    ];
    for key in foreign {
        assert!(name_and_id.decode(key).is_err(), "{key:?}");
    }
    let foreign = |key_type, codec, keys: &[&str]| {
        let part = Part { field: "x", property: "X", key_type, optional: false, codec };
        for key in keys {
            assert!(Template(vec![P(part)].leak()).decode(key).is_err(), "{key:?} as {key_type:?}, {codec:?}");
        }
    };
    foreign(KeyType::Unsigned(8), Codec::Plain, &["256", "999", "7", "0007"]);
    foreign(KeyType::Signed(64), Codec::Plain, &["18446744073709551616"]);
    foreign(KeyType::Signed(8), Codec::Width(3), &["128"]);
    foreign(KeyType::Bool, Codec::Plain, &["falsy", "true!", "TRUE", "fals"]);
    foreign(KeyType::Uuid, Codec::Plain, &["3F2504E0-4F89-41D3-9A0C-0305E82C3301", "3f2504e04f8941d39a0c0305e82c3301"]);
    foreign(KeyType::Ulid, Codec::Plain, &["01arz3ndektsv4rrffq69g5fav", "81ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    foreign(KeyType::Date, Codec::Plain, &["2014-02-29", "2014-7-031"]);
    foreign(KeyType::Time, Codec::Plain, &["0000000000000000000", "3155378976000000000"]);
    foreign(KeyType::Time, Codec::Desc, &["3155378975999999999", "9999999999999999999"]);
    foreign(KeyType::Time, Codec::Hour, &["2014-07-31T24", "2014-07-31 18"]);
    foreign(KeyType::Time, Codec::Month, &["2014-13"]);
    foreign(KeyType::Binary, Codec::Plain, &["0", "0G", "AB"]);
    foreign(KeyType::Text, Codec::Lower, &["A", "ς"]);
    foreign(KeyType::Text, Codec::Shard(16), &["16", "1"]);
    foreign(KeyType::Text, Codec::Hash, &["0123456789ABCDEF0123456789ABCDEF"]);
    foreign(KeyType::Float, Codec::Sortable, &["800000000000000g", "7fffffffffffffff", "fff8000000000000"]);
}

#[test]
fn a_property_that_stands_twice_must_agree() {
    let day = Part::of::<DateTime>("at", "At", Codec::Day);
    let at = Part::of::<DateTime>("at", "At", Codec::Plain);
    let template = Template(vec![P(day), Literal("_"), P(at)].leak());
    let noon = Value::from("2014-07-31T12:00:00Z".parse::<DateTime>().unwrap());
    let key = template.encode(|_| Some(noon.as_ref())).unwrap().unwrap();
    assert_eq!(template.decode(&key).unwrap(), [(template.parts().nth(1).unwrap(), noon)]);
    assert!(template.decode(&key.replace("07-31", "07-30")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_is_read_is_what_would_be_written(case in case(), picks in any::<[usize; 3]>(), change in any::<(usize, char)>()) {
        let template = case.template;
        let Some(key) = key(&template, &pick(&case.pools, picks)) else { return Ok(()) };
        let mut chars: Vec<char> = key.chars().collect();
        let at = change.0 % chars.len().max(1);
        if let Some(c) = chars.get_mut(at) {
            *c = change.1;
        }
        let changed = String::from_iter(chars);
        let Ok(decoded) = template.decode(&changed) else { return Ok(()) };
        if template.parts().any(|part| part.codec.is_lossy()) {
            return Ok(());
        }
        let values: Vec<Value> = decoded.into_iter().map(|(_, value)| value).collect();
        prop_assert_eq!(template.encode(|part| lookup(&template, &values, part)), Ok(Some(changed)));
    }
}

#[test]
fn an_empty_key_is_no_key_of_a_template_that_writes_the_empty_text_otherwise() {
    const RAW: Part = Part { codec: Codec::Raw, ..NAME };
    const LOWER: Part = Part { codec: Codec::Lower, ..NAME };
    let decoded = |part: Part, key: &str| Template(vec![P(part)].leak()).decode(key).map_err(|error| error.fault);
    for part in [NAME, LOWER, BYTES] {
        assert_eq!(decoded(part, ""), Err(KeyFault::NotThisTemplate), "{part:?}");
        assert!(decoded(part, "$").is_ok(), "{part:?}");
    }
    assert_eq!(decoded(RAW, "").unwrap().remove(0).1, Value::from(""));
}
