//! The rules of names, keys, values, rows, batches and queries, with what an error names.

use proptest::{collection::vec, prelude::*};
use tablemodel_store::{
    Action, Batch, Capabilities, Condition, DateTime, KeyRange, Operation, Properties, Query, StoreError,
    StoreErrorKind::{self, *},
    Value, limits, size, validate,
};

const ALL: Capabilities = Capabilities { atomic_across: true, may_lose_reply: false, ordered: true, read_only: false };

fn kind(result: Result<(), StoreError>) -> Option<StoreErrorKind> {
    result.err().map(|error| error.kind())
}

/// The kind of the error and the batch and operation that it names.
fn failure(batches: &[Batch], capabilities: &Capabilities) -> Option<(StoreErrorKind, Option<(usize, usize)>)> {
    let error = validate::batches(batches, capabilities).err()?;
    Some((error.kind(), error.failed_at().map(|at| (at.batch, at.operation))))
}

fn insert() -> Action {
    Action::Insert(Properties::new())
}

fn rows(table: &str, partition: &str, rows: &[&str]) -> Batch {
    rows.iter().fold(Batch::new(table, partition), |batch, row| batch.with(*row, insert()))
}

proptest! {
    #[test]
    fn a_key_is_legal_unless_too_long_or_with_a_forbidden_character(key in any::<String>()) {
        let forbidden = |c: char| "/\\#?".contains(c) || c <= '\u{1f}' || ('\u{7f}'..='\u{9f}').contains(&c);
        let expected = if key.encode_utf16().count() > 1024 {
            Some(TooLarge)
        } else {
            key.contains(forbidden).then_some(InvalidInput)
        };
        prop_assert_eq!(kind(validate::row_key(&key)), expected);
        prop_assert_eq!(kind(validate::partition_key(&key)), expected);
    }

    #[test]
    fn a_key_with_a_character_near_the_forbidden_ones(prefix in "[a-z\u{e9}]{0,3}", c in 0u32..0x120) {
        let c = char::from_u32(c).unwrap();
        let forbidden = "/\\#?".contains(c) || c <= '\u{1f}' || ('\u{7f}'..='\u{9f}').contains(&c);
        prop_assert_eq!(kind(validate::row_key(&format!("{prefix}{c}"))), forbidden.then_some(InvalidInput));
    }

    #[test]
    fn a_table_name_is_3_to_63_letters_and_digits(name in "[A-Za-z0-9_\u{e9}-]{0,70}") {
        let ascii = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let legal = (3..=63).contains(&name.len()) && ascii && !name.as_bytes()[0].is_ascii_digit();
        prop_assume!(!name.eq_ignore_ascii_case("tables"));
        prop_assert_eq!(kind(validate::table_name(&name)), (!legal).then_some(InvalidInput));
    }

    #[test]
    fn a_property_name_of_ascii_is_an_identifier(name in "[A-Za-z0-9_.@ -]{0,8}") {
        let first = |c: char| c == '_' || c.is_ascii_alphabetic();
        let legal = name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit());
        prop_assert_eq!(kind(validate::property_name(&name)), (!legal).then_some(InvalidInput));
    }

    /// Against a quadratic search, over few rows so that they meet.
    #[test]
    fn the_second_operation_on_a_row_is_named(batches in vec((0..2usize, 0..2usize, vec(0..6usize, 1..5)), 1..5)) {
        let tables = ["Table", "tABLE"];
        let batches: Vec<_> = batches
            .into_iter()
            .map(|(table, partition, rows)| {
                let batch = Batch::new(tables[table], ["p", "q"][partition]);
                rows.into_iter().fold(batch, |batch, row| batch.with(format!("r{row}"), insert()))
            })
            .collect();
        let mut seen = Vec::new();
        let mut expected = None;
        for (index, batch) in batches.iter().enumerate() {
            for (at, Operation { row, .. }) in batch.operations.iter().enumerate() {
                if seen.contains(&(&batch.partition, row)) {
                    expected = expected.or(Some((InvalidBatch, Some((index, at)))));
                }
                seen.push((&batch.partition, row));
            }
        }
        prop_assert_eq!(failure(&batches, &ALL), expected);
    }

}

// Few cases: each measures megabytes.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The quick bounds never let through what the exact sizes refuse.
    #[test]
    fn a_row_is_refused_exactly_over_1_mib(fill in 4..20usize, wide in any::<bool>()) {
        let text = if wide { "\u{4e16}" } else { "x" }.repeat(limits::MAX_STRING_CHARS - 200);
        let own: Properties = (0..fill).map(|i| (format!("P{i}"), text.as_str())).collect();
        let over = size::row_bytes("p", "r", &own) > limits::MAX_ROW_BYTES;
        prop_assert_eq!(kind(validate::row("p", "r", &own)), over.then_some(TooLarge));
    }

    #[test]
    fn a_batch_is_refused_exactly_over_4_mib(count in 40..100usize, escaped in 0..2000usize) {
        let text = format!("{}{}", "\u{4}".repeat(escaped * 10), "x".repeat(20_000 - escaped * 10));
        let own = Properties::from_iter([("A", text.as_str()), ("B", text.as_str())]);
        let batch = (0..count).fold(Batch::new("Tab", "p"), |batch, i| batch.with(i.to_string(), Action::Insert(own.clone())));
        let each = |operation| size::operation_bytes(&batch.table, &batch.partition, operation);
        let mut bytes = size::BATCH_OVERHEAD_BYTES;
        let over = batch.operations.iter().position(|operation| {
            bytes += each(operation);
            bytes > limits::MAX_BATCH_BYTES
        });
        prop_assert_eq!(failure(std::slice::from_ref(&batch), &ALL), over.map(|at| (TooLarge, Some((0, at)))));
    }
}

#[test]
fn tables_is_reserved_in_any_case() {
    for name in ["tables", "Tables", "TABLES"] {
        assert_eq!(kind(validate::table_name(name)), Some(InvalidInput), "{name}");
    }
    assert_eq!(kind(validate::table_name("tablesX")), None);
}

#[test]
fn property_names_of_other_scripts_are_identifiers_and_symbols_are_not() {
    for name in
        ["\u{e9}t\u{e9}", "\u{4e16}\u{754c}", "\u{3b1}1", "_", "_1", "PartitionKeys", "rowkey", "TIMESTAMP", "odata"]
    {
        assert_eq!(kind(validate::property_name(name)), None, "{name}");
    }
    for name in [
        "",
        "\u{1f600}",
        "a\u{20ac}",
        "1\u{e9}",
        "\u{2160}\u{2029}",
        "a\u{2028}",
        "PartitionKey",
        "RowKey",
        "Timestamp",
        "odata.etag",
    ] {
        assert_eq!(kind(validate::property_name(name)), Some(InvalidInput), "{name}");
    }
}

#[test]
fn an_error_says_what_was_wrong() {
    for (error, parts) in [
        (validate::row_key("a/b"), &["RowKey", "\"a/b\"", "'/'"][..]),
        (validate::partition_key(&"x".repeat(1025)), &["PartitionKey", "1025", "1024"]),
        (validate::table_name("a-b"), &["`a-b`", "letters and digits"]),
        (validate::property_name("a.b"), &["\"a.b\""]),
        (validate::property_name("Timestamp"), &["`Timestamp`", "system"]),
        (validate::row("p", "r", &Properties::from_iter([("When", DateTime::from_ticks(0))])), &["`When`", "1601"]),
        (validate::row("p", "r", &Properties::from_iter([("Big", vec![0; 65537])])), &["`Big`", "65537", "65536"]),
        (validate::row("p", "r", &(0..253).map(|i| (format!("P{i}"), i)).collect()), &["(p, r)", "253", "252"]),
        (validate::query(&Query::new("Tab", KeyRange::table()).limited(1001)), &["1001", "1 to 1000"]),
        (validate::batches(&[rows("Tab", "p", &["r", "r"])], &ALL), &["`r`", "twice", "operation 1"]),
    ] {
        let text = error.unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part), "{text:?} should contain {part:?}");
        }
    }
}

#[test]
fn values_are_bounded_by_their_type() {
    let cases = [
        (Value::from("x".repeat(32_768)), None),
        ("x".repeat(32_769).into(), Some(TooLarge)),
        ("\u{1f600}".repeat(16_384).into(), None),
        (format!("{}x", "\u{1f600}".repeat(16_384)).into(), Some(TooLarge)),
        (vec![0; 65_536].into(), None),
        (vec![0; 65_537].into(), Some(TooLarge)),
        (DateTime::MIN.into(), None),
        (DateTime::MAX.into(), None),
        (DateTime::from_ticks(DateTime::MIN.ticks() - 1).into(), Some(InvalidInput)),
        (DateTime::from_ticks(DateTime::MAX.ticks() + 1).into(), Some(InvalidInput)),
        (f64::NAN.into(), None),
        (i64::MIN.into(), None),
    ];
    for (value, expected) in cases {
        assert_eq!(kind(validate::value(value.as_ref())), expected, "{}", value.edm());
    }
}

#[test]
fn batches_have_1_to_100_operations() {
    let numbers: Vec<_> = (0..101).map(|i| format!("{i:03}")).collect();
    let numbers: Vec<_> = numbers.iter().map(String::as_str).collect();
    assert_eq!(failure(&[rows("Tab", "p", &numbers[..100])], &ALL), None);
    assert_eq!(failure(&[rows("Tab", "p", &numbers)], &ALL), Some((InvalidBatch, Some((0, 100)))));
    assert_eq!(failure(&[rows("Tab", "p", &["r"]), rows("Tab", "q", &[])], &ALL), Some((InvalidBatch, Some((1, 0)))));
    assert_eq!(failure(&[], &ALL), None);
}

#[test]
fn the_operation_with_a_bad_part_is_named() {
    let good = || rows("Tab", "p", &["a"]);
    let bad_value = Action::InsertOrMerge(Properties::from_iter([("B", vec![0; 65_537])]));
    let cases = [
        (rows("Tab", "q", &["a", "b\n"]), InvalidInput, 1),
        (rows("Tab", "q", &["a", "b"]).with("c", bad_value), TooLarge, 2),
        (rows("Tab", "q/", &["a", "b"]), InvalidInput, 0),
        (Batch::new("Tab", "q").with("a", insert()).with("b?", Action::Delete(Condition::Exists)), InvalidInput, 1),
    ];
    for (bad, kind, at) in cases {
        assert_eq!(failure(&[good(), bad], &ALL), Some((kind, Some((1, at)))));
    }
}

#[test]
fn capabilities_bound_what_may_be_committed() {
    let two = [rows("Tab", "p", &["a"]), rows("Tab", "q", &["a"])];
    let single = Capabilities { atomic_across: false, ..ALL };
    assert_eq!(failure(&two, &single), Some((Unsupported, None)));
    assert_eq!(failure(&two[..1], &single), None);
    let read_only = Capabilities { read_only: true, ..ALL };
    assert_eq!(failure(&two[..1], &read_only), Some((Denied, None)));
}
