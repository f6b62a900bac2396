//! Clauses of keys and property names: which text may be one.
//!
//! Lengths of keys stand with the limits.

use super::{
    Broken,
    bench::{Bench, n},
    broken::{ensure_eq, refused},
};
use crate::{Action, Condition, KeyRange, Properties, StoreErrorKind::*};

type Checked = Result<(), Broken>;

pub(super) async fn forbidden_characters_in_keys_are_refused(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
    for c in ['/', '\\', '#', '?'].into_iter().chain(controls) {
        let key = format!("a{c}b");
        refused(table.insert(&key, "r", n(1)).await, InvalidInput, &format!("a partition key with {c:?}"))?;
        refused(table.insert("p", &key, n(1)).await, InvalidInput, &format!("a row key with {c:?}"))?;
    }
    let delete = table.act("p", "a/b", Action::Delete(Condition::Exists)).await;
    refused(delete, InvalidInput, "a delete of a row key with '/'")?;
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [], "the rows after refused inserts");
    Ok(())
}

pub(super) async fn unusual_characters_in_keys_are_taken(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let unusual = [
        " ",
        "a b",
        "'",
        "''",
        "\"",
        "%",
        "%41",
        "+",
        "&",
        "=",
        "$",
        ";",
        ":",
        "@",
        "(",
        ")",
        "[x]",
        "{x}",
        "<x>",
        "|",
        "^",
        "`",
        "~",
        ".",
        "..",
        "*",
        "!",
        ",",
        "-",
        "\u{a0}",
        "\u{ad}",
        "\u{e9}",
        "e\u{301}",
        "\u{4e16}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{feff}",
        "\u{ffee}",
        "\u{fffd}",
        "\u{ffff}",
        "\u{10000}",
        "\u{1f600}",
        "\u{10ffff}",
    ];
    for (number, key) in (0..).zip(unusual) {
        table.insert(key, key, n(number)).await?;
    }
    for (number, key) in (0..).zip(unusual) {
        ensure_eq!(table.properties(key, key).await?, Some(n(number)), "the row with the keys {key:?}");
        let found = table.keys(&table.query(KeyRange::partition(key))).await?;
        ensure_eq!(found.len(), 1, "the number of rows in the partition {key:?}");
    }
    Ok(())
}

pub(super) async fn empty_keys_are_keys(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for (number, (partition, row)) in (0..).zip([("", ""), ("", "r"), ("p", "")]) {
        table.insert(partition, row, n(number)).await?;
        ensure_eq!(table.properties(partition, row).await?, Some(n(number)), "the row ({partition:?}, {row:?})");
    }
    ensure_eq!(table.rows(&table.query(KeyRange::partition(""))).await?.len(), 2, "rows of the empty partition key");
    Ok(())
}

pub(super) async fn property_names_are_identifiers(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let bad = ["", "1a", "a-b", "a b", "a.b", "odata.etag", "a/b", "a:b", "a@b", "$a", "a\0", "a\n", "\u{1f600}", "'"];
    for name in bad {
        let own = Properties::from_iter([(name, 1)]);
        refused(table.insert("p", "r", own).await, InvalidInput, &format!("a property named {name:?}"))?;
    }
    let good = ["a", "A", "_", "_1", "a1", "snake_case", "\u{e9}t\u{e9}", "\u{4e16}", "odata", "etag"];
    let own: Properties = good.into_iter().map(|name| (name, 1)).collect();
    table.insert("p", "r", own.clone()).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(own), "the row");
    Ok(())
}

pub(super) async fn property_names_may_have_255_utf16_units_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for letter in ["x", "\u{4e16}"] {
        let own = |count| Properties::from_iter([(letter.repeat(count), 1)]);
        refused(table.insert("p", letter, own(256)).await, TooLarge, "a property name of 256 UTF-16 units")?;
        table.insert("p", letter, own(255)).await?;
        ensure_eq!(table.properties("p", letter).await?, Some(own(255)), "the row");
    }
    Ok(())
}

pub(super) async fn property_names_are_compared_with_case(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let own = Properties::from_iter([("a", 1), ("A", 2), ("partitionkey", 3), ("timestamp", 4)]);
    table.insert("p", "r", own.clone()).await?;
    ensure_eq!(table.properties("p", "r").await?, Some(own), "the row");
    Ok(())
}

pub(super) async fn property_names_of_the_system_are_refused(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for name in ["PartitionKey", "RowKey", "Timestamp"] {
        let own = Properties::from_iter([(name, "x")]);
        refused(table.insert("p", "r", own).await, InvalidInput, &format!("a property named {name}"))?;
    }
    ensure_eq!(table.get("p", "r").await?, None, "the row");
    Ok(())
}
