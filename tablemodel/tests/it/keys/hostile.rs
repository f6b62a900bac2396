//! Values that break key encodings: texts around each escape, numbers and times at their bounds.

use std::cmp::Ordering;

use proptest::{collection::vec, prelude::*, sample::select};
use tablemodel::{
    key::{Codec, KeyFault, KeyType, Part, Segment, Template},
    property::Property,
};
use tablemodel_store::{DateTime, Value, ValueRef};

/// Each is dense in characters whose order or escape can go wrong together.
const ALPHABETS: [&str; 9] = [
    "./-0~}|{é",
    "!\"#$% &'a(",
    ">?<@[\\]Z=^",
    "ab._-+@",
    "~\u{7f}\u{80}\u{9f}\u{a0}}|",
    "\0\u{1}\u{1f} !",
    "\u{ffee}\u{10437}\u{d7ff}\u{e000}\u{ffff}\u{10ffff}\u{10000}./",
    "aé/.?#~!_",
    "$09AFZ.~}>[&",
];

/// A short hostile text; now and then any text at all.
pub(super) fn text() -> BoxedStrategy<String> {
    let alphabet: Vec<char> = ALPHABETS.concat().chars().collect();
    let dense = select(ALPHABETS.to_vec())
        .prop_flat_map(|alphabet| vec(select(alphabet.chars().collect::<Vec<_>>()), 0..6))
        .prop_map(String::from_iter);
    let mixed = vec(select(alphabet), 0..5).prop_map(String::from_iter);
    prop_oneof![6 => dense, 3 => mixed, 1 => any::<String>()].boxed()
}

/// Two texts that share a prefix more often than not.
pub(super) fn text_pair() -> impl Strategy<Value = (String, String)> {
    (text(), text(), text(), any::<bool>()).prop_map(|(stem, a, b, share)| match share {
        true => (format!("{stem}{a}"), format!("{stem}{b}")),
        false => (a, b),
    })
}

/// A time that a store takes, often beside the bound of an hour, a day or a month.
pub(super) fn time() -> impl Strategy<Value = DateTime> {
    let bounds = [DateTime::MIN.ticks(), DateTime::MAX.ticks(), DateTime::UNIX_EPOCH.ticks()];
    let hours = (0_i64..73_634_160).prop_map(|hour| DateTime::MIN.ticks() + hour * 36_000_000_000);
    let anchor = prop_oneof![select(bounds.to_vec()), hours];
    (anchor, prop_oneof![-2_i64..=2, -864_000_000_000_i64..864_000_000_000])
        .prop_map(|(anchor, step)| DateTime::from_ticks(anchor + step))
        .prop_filter("storable", |at| at.is_storable())
}

/// A float without NaN, often at a bound.
pub(super) fn float() -> impl Strategy<Value = f64> {
    let bounds = [0.0, -0.0, f64::MIN, f64::MAX, f64::MIN_POSITIVE, -f64::MIN_POSITIVE, 5e-324, -5e-324]
        .into_iter()
        .chain([f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0, 1.5]);
    prop_oneof![select(bounds.collect::<Vec<_>>()), any::<f64>().prop_filter("a number", |float| !float.is_nan())]
}

/// A small number far more often than a large one, so that pairs meet.
pub(super) fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..4, Just(9), Just(10), Just(999_999), Just(u32::MAX), any::<u32>()]
}

/// A stored value of a kind.
pub(super) fn value_of(key_type: KeyType) -> BoxedStrategy<Value> {
    match key_type {
        KeyType::Text | KeyType::Enum { .. } => text().prop_map(Value::from).boxed(),
        KeyType::Unsigned(8) => any::<u8>().prop_map(stored).boxed(),
        KeyType::Unsigned(64) => prop_oneof![0_u64..3, any::<u64>()].prop_map(stored).boxed(),
        KeyType::Unsigned(_) => number().prop_map(stored).boxed(),
        KeyType::Signed(16) => any::<i16>().prop_map(stored).boxed(),
        KeyType::Signed(_) => any::<i64>().prop_map(stored).boxed(),
        KeyType::Float => float().prop_map(stored).boxed(),
        KeyType::Bool => any::<bool>().prop_map(stored).boxed(),
        KeyType::Uuid => any::<u128>().prop_map(|bits| stored(tablemodel_store::Uuid::from_u128(bits))).boxed(),
        KeyType::Ulid => any::<u128>().prop_map(|bits| stored(ulid::Ulid::from(bits))).boxed(),
        KeyType::Date => (1..3_652_059_i32)
            .prop_map(|day| stored(chrono::NaiveDate::from_num_days_from_ce_opt(day).expect("in range")))
            .boxed(),
        KeyType::Time => time().prop_map(stored).boxed(),
        KeyType::Binary => vec(0_u8..3, 0..3).prop_map(stored).boxed(),
        other => unreachable!("no values of {other:?}"),
    }
}

fn stored<T: Property>(value: T) -> Value {
    value.to_value().expect("storable").expect("not absent")
}

/// Each kind of component under each codec that fits it.
pub(super) fn components() -> Vec<(KeyType, Codec)> {
    let types = [
        KeyType::Text,
        KeyType::Enum { ordered: true },
        KeyType::Unsigned(8),
        KeyType::Unsigned(32),
        KeyType::Unsigned(64),
        KeyType::Signed(16),
        KeyType::Signed(64),
        KeyType::Float,
        KeyType::Bool,
        KeyType::Uuid,
        KeyType::Ulid,
        KeyType::Date,
        KeyType::Time,
        KeyType::Binary,
    ];
    let codecs = [
        Codec::Plain,
        Codec::Width(2),
        Codec::Width(20),
        Codec::Desc,
        Codec::Sortable,
        Codec::Hour,
        Codec::Day,
        Codec::Month,
        Codec::Lower,
        Codec::Shard(3),
        Codec::Hash,
        Codec::Raw,
    ];
    let pairs = types.into_iter().flat_map(|key_type| codecs.map(|codec| (key_type, codec)));
    pairs.filter(|(key_type, codec)| codec.fits(*key_type)).collect()
}

/// A template without a problem, and a few values for each of its components.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) template: Template,
    pub(super) pools: Vec<Vec<Value>>,
}

const FIELDS: [&str; 3] = ["first", "second", "third"];

/// Templates of one to three components, texts oftener than the rest.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let component = prop_oneof![
        3 => Just((KeyType::Text, Codec::Plain)),
        1 => Just((KeyType::Text, Codec::Lower)),
        4 => select(components()),
    ];
    let separator = select(vec!["!", "!", "_", "\"x", "|", "", "-a_", "!!"]);
    (vec((component, separator), 1..=3), select(vec!["", "", "k_", "a", "é_", "~."]), any::<bool>())
        .prop_map(|(components, lead, trail)| template(lead, &components, trail))
        .prop_filter("no problem", |template| template.check().is_none())
        .prop_flat_map(|template| {
            let pools: Vec<_> = template.parts().map(|part| pool(part.key_type)).collect();
            pools.prop_map(move |pools| Case { template, pools })
        })
}

/// Values near one another: texts that share a stem.
fn pool(key_type: KeyType) -> BoxedStrategy<Vec<Value>> {
    let any = vec(value_of(key_type), 2..4);
    if matches!(key_type, KeyType::Text) {
        let stems = (text(), vec(text(), 1..4)).prop_map(|(stem, ends)| {
            ends.iter().map(|end| format!("{stem}{end}")).chain([stem.clone()]).map(Value::from).collect()
        });
        return prop_oneof![any, stems].boxed();
    }
    any.boxed()
}

fn template(lead: &'static str, components: &[((KeyType, Codec), &'static str)], trail: bool) -> Template {
    let mut segments = vec![Segment::Literal(lead)];
    for (((key_type, codec), separator), field) in components.iter().zip(FIELDS) {
        let part = Part { field, property: field, key_type: *key_type, optional: false, codec: *codec };
        segments.extend([Segment::Part(part), Segment::Literal(separator)]);
    }
    if !trail {
        segments.pop();
    }
    segments.retain(|segment| *segment != Segment::Literal(""));
    Template(segments.leak())
}

/// Picks one value of each pool.
pub(super) fn pick(pools: &[Vec<Value>], picks: [usize; 3]) -> Vec<Value> {
    pools.iter().zip(picks).map(|(pool, pick)| pool[pick % pool.len()].clone()).collect()
}

/// The key of these values, one for each component; `None` where a codec may refuse a value.
pub(super) fn key(template: &Template, values: &[Value]) -> Option<String> {
    match template.encode(|part| lookup(template, values, part)) {
        Ok(key) => Some(key.expect("nothing is optional")),
        Err(error) => {
            let codec = template.parts().find(|part| Some(part.field) == error.field).map(|part| part.codec);
            let may_refuse = match error.fault {
                KeyFault::Overflow { .. } | KeyFault::Negative => matches!(codec, Some(Codec::Width(_))),
                KeyFault::IllegalCharacter(_) | KeyFault::HoldsSeparator(_) => codec == Some(Codec::Raw),
                KeyFault::Reserved => template.may_hold_space(),
                _ => false,
            };
            assert!(may_refuse, "{template:?} refused {values:?}: {error}");
            None
        }
    }
}

/// The value of a component; `None` beyond those there are.
pub(super) fn lookup<'v>(template: &Template, values: &'v [Value], part: &Part) -> Option<ValueRef<'v>> {
    let at = template.parts().position(|candidate| candidate == part)?;
    values.get(at).map(Value::as_ref)
}

/// How two values of one component compare, told without any codec.
pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.encode_utf16().cmp(b.encode_utf16()),
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::Int64(a), Value::Int64(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).expect("no NaN"),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Guid(a), Value::Guid(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
        _ => panic!("two types in one component: {a:?}, {b:?}"),
    }
}
