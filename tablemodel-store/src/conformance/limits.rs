//! Clauses of limits: each taken at its bound and refused one beyond it, with nothing written.
//!
//! Limits of batches and merged rows stand with batches and actions.

use super::{
    Broken,
    bench::{Bench, Table, n, one},
    broken::{ensure_eq, refused},
};
use crate::{
    Action, Condition, DateTime, KeyRange, Properties, StoreErrorKind, StoreErrorKind::*, Value, limits, size,
};

type Checked = Result<(), Broken>;

/// Characters of one byte, of three, and of four (two UTF-16 units).
const ALPHABETS: [(&str, usize); 3] = [("x", 1), ("\u{4e16}", 1), ("\u{1f600}", 2)];

/// `units` UTF-16 units of a character, filled up with `x`.
fn text((character, width): (&str, usize), units: usize) -> String {
    format!("{}{}", character.repeat(units / width), "x".repeat(units % width))
}

/// A row with `own` is refused, and not written.
async fn refuses(table: &Table<'_>, own: Properties, kind: StoreErrorKind, what: &str) -> Checked {
    refused(table.insert("p", "refused", own).await, kind, what)?;
    ensure_eq!(table.get("p", "refused").await?.is_some(), false, "whether the row of {what} is there");
    Ok(())
}

/// A row with `own` is taken, and reads back.
async fn takes(table: &Table<'_>, own: Properties, what: &str) -> Checked {
    table.act("p", "taken", Action::InsertOrReplace(own.clone())).await?;
    let same = table.properties("p", "taken").await? == Some(own);
    ensure_eq!(same, true, "whether the row of {what} reads back as written");
    Ok(())
}

pub(super) async fn keys_may_have_1024_utf16_units_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for alphabet in ALPHABETS {
        let (most, over) = (text(alphabet, limits::MAX_KEY_CHARS), text(alphabet, limits::MAX_KEY_CHARS + 1));
        table.insert(&most, &most, n(1)).await?;
        ensure_eq!(table.properties(&most, &most).await?, Some(n(1)), "the row with the longest keys");
        refused(table.insert(&over, "r", n(1)).await, TooLarge, "a partition key of 1,025 UTF-16 units")?;
        refused(table.insert("p", &over, n(1)).await, TooLarge, "a row key of 1,025 UTF-16 units")?;
    }
    let rows = table.rows(&table.query(KeyRange::table())).await?.len();
    ensure_eq!(rows, ALPHABETS.len(), "the number of rows");
    Ok(())
}

pub(super) async fn a_string_may_have_32768_utf16_units_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    for alphabet in ALPHABETS {
        takes(&table, one("S", text(alphabet, limits::MAX_STRING_CHARS)), "the longest string").await?;
        let over = one("S", text(alphabet, limits::MAX_STRING_CHARS + 1));
        refuses(&table, over, TooLarge, "a string of 32,769 UTF-16 units").await?;
    }
    Ok(())
}

pub(super) async fn a_binary_may_have_64_kib_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    takes(&table, one("B", vec![0xA5; limits::MAX_BINARY_BYTES]), "the largest binary").await?;
    let over = one("B", vec![0xA5; limits::MAX_BINARY_BYTES + 1]);
    refuses(&table, over, TooLarge, "a binary of 64 KiB and a byte").await
}

pub(super) async fn a_time_may_lie_between_1601_and_9999_only(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let (min, max) = (DateTime::MIN.ticks(), DateTime::MAX.ticks());
    for ticks in [min, max] {
        takes(&table, one("T", DateTime::from_ticks(ticks)), "a time at its bound").await?;
    }
    for ticks in [min - 1, max + 1, 0, i64::MIN, i64::MAX] {
        let what = format!("a time of {ticks} ticks");
        refuses(&table, one("T", DateTime::from_ticks(ticks)), InvalidInput, &what).await?;
    }
    Ok(())
}

pub(super) async fn a_row_may_have_252_properties_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let with = |count: i32| (0..count).map(|i| (format!("P{i}"), i)).collect::<Properties>();
    takes(&table, with(252), "252 properties").await?;
    refuses(&table, with(253), TooLarge, "253 properties").await
}

/// Properties of a row at `("p", "taken")` or `("p", "refused")` with exactly `bytes` bytes.
fn sized(row: &str, bytes: usize) -> Properties {
    let full = |i| (format!("P{i:02}"), Value::Binary(vec![1; limits::MAX_BINARY_BYTES]));
    let with = |last: usize| {
        let full = (0..15).map(full);
        full.chain([("Last".to_owned(), Value::Binary(vec![1; last]))]).collect::<Properties>()
    };
    with(bytes.saturating_sub(size::row_bytes("p", row, &with(0))))
}

pub(super) async fn a_row_may_have_1_mib_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let most = sized("taken", limits::MAX_ROW_BYTES);
    ensure_eq!(size::row_bytes("p", "taken", &most), limits::MAX_ROW_BYTES, "the size of the largest row");
    takes(&table, most, "the largest row").await?;
    refuses(&table, sized("refused", limits::MAX_ROW_BYTES + 1), TooLarge, "a row of 1 MiB and a byte").await
}

pub(super) async fn a_limit_binds_every_action_that_writes(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let before = table.row("p", "r").await?;
    let over = || one("B", vec![0; limits::MAX_BINARY_BYTES + 1]);
    let actions = [
        Action::Replace(over(), Condition::Exists),
        Action::Merge(over(), Condition::Exists),
        Action::InsertOrReplace(over()),
        Action::InsertOrMerge(over()),
    ];
    for action in actions {
        let what = format!("the {} of a binary over its limit", action.verb());
        refused(table.act("p", "r", action).await, TooLarge, &what)?;
        ensure_eq!(table.row("p", "r").await?, before, "the row after {what}");
    }
    Ok(())
}
