//! Ranges of keys against a naive oracle: the range holds exactly the rows that were asked for.

use std::ops::Bound;

use proptest::{collection::vec, prelude::*, sample::select};
use tablemodel::key::{Codec, KeyFault, KeyType, Next, Part, Segment, Template};
use tablemodel_store::{DateTime, RowRange, Value, ValueRef};

use super::hostile::{self, Case, case, key, lookup, order, pick};

/// What is asked of the component after the given ones.
#[derive(Debug)]
enum Condition {
    Any,
    Between(Bound<Value>, Bound<Value>),
    StartsWith(String),
}

impl Condition {
    fn next(&self) -> Next<'_> {
        match self {
            Self::Any => Next::Any,
            Self::Between(lower, upper) => Next::Between(borrowed(lower), borrowed(upper)),
            Self::StartsWith(start) => Next::StartsWith(start),
        }
    }

    /// Told without any codec.
    fn holds(&self, part: &Part, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _) => true,
            (Self::Between(lower, upper), _) => {
                let above = match lower {
                    Bound::Included(bound) => order(value, bound).is_ge(),
                    Bound::Excluded(bound) => order(value, bound).is_gt(),
                    Bound::Unbounded => true,
                };
                let below = match upper {
                    Bound::Included(bound) => order(value, bound).is_le(),
                    Bound::Excluded(bound) => order(value, bound).is_lt(),
                    Bound::Unbounded => true,
                };
                above && below
            }
            (Self::StartsWith(start), Value::String(text)) if part.codec == Codec::Lower => {
                folded(text).starts_with(&folded(start))
            }
            (Self::StartsWith(start), Value::String(text)) => text.starts_with(start),
            (Self::StartsWith(_), other) => panic!("{other:?} is no text"),
        }
    }
}

fn borrowed(bound: &Bound<Value>) -> Bound<ValueRef<'_>> {
    bound.as_ref().map(Value::as_ref)
}

fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// A template with values, and a condition on the component after `given` others.
#[derive(Debug)]
struct Question {
    case: Case,
    given: Vec<Value>,
    condition: Condition,
}

fn question() -> impl Strategy<Value = Question> {
    let bound = || {
        let at = any::<usize>();
        prop_oneof![at.prop_map(Bound::Included), any::<usize>().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    };
    (case(), 0_usize..=3, any::<[usize; 3]>(), 0..6, bound(), bound(), any::<usize>(), 0_usize..5).prop_map(
        |(case, given, of, kind, lower, upper, start, chars)| {
            let given = given.min(case.pools.len());
            let of_pool = |at: usize| case.pools[given][at % case.pools[given].len()].clone();
            let condition = match kind {
                _ if given == case.pools.len() => Condition::Any,
                0..3 => Condition::Between(lower.map(of_pool), upper.map(of_pool)),
                3..5 if case.template.has_prefixes(given) => match of_pool(start) {
                    Value::String(text) => Condition::StartsWith(text.chars().take(chars).collect()),
                    other => panic!("{other:?} is no text"),
                },
                _ => Condition::Any,
            };
            let given = pick(&case.pools, of)[..given].to_vec();
            Question { case, given, condition }
        },
    )
}

/// Whether two values are one in the key.
fn is_same(part: &Part, a: &Value, b: &Value) -> bool {
    let alone = Template(vec![Segment::Part(*part)].leak());
    key(&alone, std::slice::from_ref(a)) == key(&alone, std::slice::from_ref(b))
}

/// The rows of the pools, each with its key.
fn rows(case: &Case) -> Vec<(Vec<Value>, String)> {
    let places = |at: usize| 0..case.pools.get(at).map_or(1, Vec::len);
    let picks = places(0).flat_map(|a| places(1).flat_map(move |b| places(2).map(move |c| [a, b, c])));
    let rows = picks.map(|picks| pick(&case.pools, picks));
    rows.filter_map(|row| key(&case.template, &row).map(|key| (row, key))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_range_holds_exactly_what_was_asked_for(question in question()) {
        let Question { case, given, condition } = question;
        let parts: Vec<&Part> = case.template.parts().collect();
        let next = parts.get(given.len());
        let range = case.template.range(|part| lookup(&case.template, &given, part), condition.next());

        let in_buckets = next.is_some_and(|part| matches!(part.codec, Codec::Hour | Codec::Day | Codec::Month));
        let is_between = matches!(condition, Condition::Between(..));
        let may_refuse = parts.iter().any(|part| matches!(part.codec, Codec::Raw | Codec::Width(_)));
        if is_between && !in_buckets && !case.template.orders(given.len()) {
            let refused = range.map_err(|error| error.fault);
            prop_assert!(refused == Err(KeyFault::NotOrdered) || (refused.is_err() && may_refuse), "{refused:?}");
            return Ok(());
        }
        let Ok(range) = range else {
            prop_assert!(may_refuse, "{range:?}");
            return Ok(());
        };
        for (row, key) in rows(&case) {
            let expected = given.iter().zip(&row).zip(&parts).all(|((a, b), part)| is_same(part, a, b))
                && next.is_none_or(|part| condition.holds(part, &row[given.len()]));
            if in_buckets && is_between {
                prop_assert!(range.contains(&key) || !expected, "{key:?} of {row:?} in {range:?}");
            } else {
                prop_assert_eq!(range.contains(&key), expected, "{:?} of {:?} in {:?}", key, row, range);
            }
        }
    }

    #[test]
    fn a_prefix_is_exact_at_every_boundary(text in hostile::text(), cut in 0_usize..5, last in hostile::text()) {
        let template = Template(&[NAME]);
        let start: String = text.chars().take(cut).chain(last.chars().next()).collect();
        let value = Value::from(text.as_str());
        let key = template.encode(|_| Some(value.as_ref())).unwrap().unwrap();
        let range = template.range(|_| None, Next::StartsWith(&start)).unwrap();
        prop_assert_eq!(range.contains(&key), text.starts_with(&start), "{:?} in {:?}", key, range);
    }

    #[test]
    fn the_end_of_a_prefix_is_the_least_text_above_it(
        chars in vec(prop_oneof![select(vec!['\u{FFFF}', '\u{D7FF}', '\u{10FFFF}']), any::<char>()], 1..4),
        other in any::<String>(),
    ) {
        let literal: &'static str = String::from_iter(chars).leak();
        let template = Template(vec![Segment::Literal(literal), Segment::Part(Part::of::<u8>("n", "N", Codec::Plain))].leak());
        let range = template.range(|_| None, Next::Any).unwrap();
        prop_assert_eq!(range.contains(&other), other.starts_with(literal));
        let inside = format!("{literal}{other}");
        prop_assert!(range.contains(&inside));
        if let Bound::Excluded(end) = &range.upper {
            prop_assert!(!range.contains(end));
        }
    }
}

const NAME: Segment = Segment::Part(Part::of::<String>("name", "Name", Codec::Plain));
const ID: Segment = Segment::Part(Part::of::<u32>("id", "Id", Codec::Width(6)));

fn prefix_of(text: &str) -> RowRange {
    Template(&[NAME]).range(|_| None, Next::StartsWith(text)).unwrap()
}

#[test]
fn prefixes_end_where_the_next_character_begins() {
    assert_eq!(prefix_of("a").upper, Bound::Excluded("b".to_owned()));
    assert_eq!(prefix_of("a.").upper, Bound::Excluded("a.~".to_owned()));
    assert_eq!(prefix_of("\u{D7FF}").upper, Bound::Excluded("\u{10000}".to_owned()));
    assert_eq!(prefix_of("\u{10FFFF}").upper, Bound::Excluded("\u{E000}".to_owned()));
    assert_eq!(prefix_of("a\u{FFFF}").upper, Bound::Excluded("b".to_owned()));
    assert_eq!(prefix_of("\u{FFFF}").upper, Bound::Unbounded);
    assert_eq!(prefix_of(""), RowRange::all());
}

/// The keys of a range of times, or of dates.
fn buckets(codec: Codec, key_type: KeyType, lower: Bound<&str>, upper: Bound<&str>) -> RowRange {
    let value = |text: &str| match key_type {
        KeyType::Time => Value::DateTime(text.parse().unwrap()),
        _ => Value::from(text),
    };
    let part = Part { key_type, ..Part::of::<DateTime>("at", "At", codec) };
    let template = Template(vec![Segment::Part(part), Segment::Literal("_"), ID].leak());
    let (lower, upper) = (lower.map(value), upper.map(value));
    template.range(|_| None, Next::Between(borrowed(&lower), borrowed(&upper))).unwrap()
}

#[test]
fn a_bucket_of_time_belongs_to_a_range_if_it_holds_a_value_of_it() {
    let up_to = |codec, end| buckets(codec, KeyType::Time, Bound::Unbounded, Bound::Excluded(end)).upper;
    let without = |key: &str| Bound::Excluded(format!("{key}_"));
    let with = |key: &str| Bound::Excluded(format!("{key}`"));
    assert_eq!(up_to(Codec::Day, "2014-07-31T00:00:00Z"), without("2014-07-31"));
    assert_eq!(up_to(Codec::Day, "2014-07-31T00:00:00.0000001Z"), with("2014-07-31"));
    assert_eq!(up_to(Codec::Day, "2014-07-31T12:00:00Z"), with("2014-07-31"));
    assert_eq!(up_to(Codec::Hour, "2014-07-31T12:00:00Z"), without("2014-07-31T12"));
    assert_eq!(up_to(Codec::Hour, "2014-07-31T12:30:00Z"), with("2014-07-31T12"));
    assert_eq!(up_to(Codec::Month, "2014-07-01T00:00:00Z"), without("2014-07"));
    assert_eq!(up_to(Codec::Month, "2014-07-01T01:00:00Z"), with("2014-07"));
    assert_eq!(up_to(Codec::Month, "2014-07-02T00:00:00Z"), with("2014-07"));
    let of_dates = |end| buckets(Codec::Month, KeyType::Date, Bound::Unbounded, Bound::Excluded(end)).upper;
    assert_eq!((of_dates("2014-07-01"), of_dates("2014-07-02")), (without("2014-07"), with("2014-07")));
    let midnight = "2014-07-31T00:00:00Z";
    let day = |lower, upper| buckets(Codec::Day, KeyType::Time, lower, upper);
    assert_eq!(day(Bound::Unbounded, Bound::Included(midnight)).upper, with("2014-07-31"));
    for lower in [Bound::Included(midnight), Bound::Excluded(midnight)] {
        assert_eq!(day(lower, Bound::Unbounded).lower, Bound::Included("2014-07-31_".to_owned()));
    }
}

#[test]
fn bounds_take_whole_components() {
    let template = Template(&[NAME, Segment::Literal("!"), ID]);
    let (a, b) = (Value::from("a"), Value::from("b"));
    let range = |lower, upper| template.range(|_| None, Next::Between(lower, upper)).unwrap();
    let inclusive = range(Bound::Included(a.as_ref()), Bound::Included(b.as_ref()));
    assert_eq!(inclusive, RowRange { lower: Bound::Included("a!".into()), upper: Bound::Excluded("b\"".into()) });
    let exclusive = range(Bound::Excluded(a.as_ref()), Bound::Excluded(b.as_ref()));
    assert_eq!(exclusive, RowRange { lower: Bound::Included("a\"".into()), upper: Bound::Excluded("b!".into()) });
}

#[test]
fn a_full_key_is_a_point() {
    let values = [Value::from("Jones"), Value::from(7_i64)];
    let template = Template(&[NAME, Segment::Literal("_"), ID]);
    let range = template.range(|part| lookup(&template, &values, part), Next::Any).unwrap();
    assert_eq!(range, RowRange::exactly("Jones_000007"));
}

#[test]
fn what_cannot_be_a_range_is_refused() {
    let template = Template(&[NAME, Segment::Literal("_"), ID]);
    let jones = Value::from("Jones");
    let fault = |given: &[Value], next| {
        template.range(|part| lookup(&template, given, part), next).map_err(|error| error.fault)
    };
    let between = Next::Between(Bound::Included(jones.as_ref()), Bound::Unbounded);
    assert_eq!(fault(&[], between), Err(KeyFault::NotOrdered));
    assert_eq!(fault(std::slice::from_ref(&jones), Next::StartsWith("0")), Err(KeyFault::NotText));
    assert_eq!(fault(&[jones.clone(), Value::from(7_i64)], between), Err(KeyFault::NothingLeft));
    let too_long = "x".repeat(1100);
    assert_eq!(fault(&[], Next::StartsWith(&too_long)), Err(KeyFault::TooLong { chars: 1100, limit: 1024 }));
}

#[test]
fn a_range_of_buckets_covers_the_bounds_on_both_sides() {
    const DAY: Segment = Segment::Part(Part::of::<DateTime>("at", "At", Codec::Day));
    let template = Template(&[DAY, Segment::Literal("_"), ID]);
    let noon = |text: &str| Value::from(text.parse::<DateTime>().unwrap());
    let (first, last) = (noon("2014-07-30T12:00:00Z"), noon("2014-07-31T12:00:00Z"));
    let next = Next::Between(Bound::Excluded(first.as_ref()), Bound::Excluded(last.as_ref()));
    let range = template.range(|_| None, next).unwrap();
    for (key, expected) in [
        ("2014-07-29_000001", false),
        ("2014-07-30_000001", true),
        ("2014-07-31_999999", true),
        ("2014-08-01_000000", false),
    ] {
        assert_eq!(range.contains(key), expected, "{key}");
    }
}

#[test]
fn later_first_turns_the_bounds_round() {
    let at = |ticks: i64| Value::from(DateTime::from_ticks(ticks));
    let part = Part { field: "at", property: "At", key_type: KeyType::Time, optional: false, codec: Codec::Desc };
    let template = Template(vec![Segment::Part(part), Segment::Literal("_"), ID].leak());
    let key = |ticks| hostile::key(&template, &[at(ticks), Value::from(1_i64)]).unwrap();
    let (early, late) = (635_424_192_000_000_000, 635_424_192_000_000_009);
    let (lower, upper) = (at(early), at(late));
    let next = Next::Between(Bound::Excluded(lower.as_ref()), Bound::Included(upper.as_ref()));
    let range = template.range(|_| None, next).unwrap();
    assert!(!range.contains(&key(early)) && range.contains(&key(early + 1)));
    assert!(range.contains(&key(late)) && !range.contains(&key(late + 1)));
}
