//! Clauses of values: each type comes back as it was written, at its bounds and at its odd spots.
//!
//! Limits of length stand with the limits.

use super::{
    Broken,
    bench::{Bench, one},
    broken::ensure_eq,
};
use crate::{Action, DateTime, KeyRange, Properties, StoreErrorKind::InvalidInput, Uuid, Value, limits};

type Checked = Result<(), Broken>;

/// Writes each value to a row of its own, and reads it back by a point read and by a query.
fn come_back(bench: &Bench, values: impl IntoIterator<Item = impl Into<Value>>) -> impl Future<Output = Checked> {
    all_come_back(bench, values.into_iter().map(Into::into).collect())
}

async fn all_come_back(bench: &Bench, values: Vec<Value>) -> Checked {
    let table = bench.table().await?;
    for (number, value) in values.into_iter().enumerate() {
        let (row, own) = (format!("{number:03}"), one("V", value));
        table.insert("p", &row, own.clone()).await?;
        ensure_eq!(table.properties("p", &row).await?, Some(own.clone()), "value {number} by a point read");
        let found = table.rows(&table.query(KeyRange::rows("p", crate::RowRange::exactly(&row)))).await?;
        let found: Vec<_> = found.into_iter().map(|row| row.properties).collect();
        ensure_eq!(found, [own], "value {number} by a query");
    }
    Ok(())
}

pub(super) async fn binaries_come_back_as_written(bench: &Bench) -> Checked {
    come_back(bench, [vec![], vec![0], vec![0xFF; 2], (0..=255).collect::<Vec<u8>>(), b"text".to_vec()]).await
}

pub(super) async fn booleans_come_back_as_written(bench: &Bench) -> Checked {
    come_back(bench, [true, false]).await
}

pub(super) async fn times_come_back_to_the_tick(bench: &Bench) -> Checked {
    let (min, max, epoch) = (DateTime::MIN.ticks(), DateTime::MAX.ticks(), DateTime::UNIX_EPOCH.ticks());
    let ticks = [min, min + 1, epoch - 1, epoch, epoch + 1, epoch + 10_000_000, epoch + 1_234_567, max - 1, max];
    come_back(bench, ticks.map(DateTime::from_ticks)).await
}

pub(super) async fn doubles_come_back_to_the_bit(bench: &Bench) -> Checked {
    let odd = [0.0, -0.0, 1.0, -1.0, 5.0, 0.1, 1.5e300, 1e16, 123_456_789.123, f64::MIN, f64::MAX];
    let tiny = [f64::MIN_POSITIVE, 5e-324, -5e-324, f64::EPSILON, 1.0 + f64::EPSILON, 9_007_199_254_740_993.0];
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    come_back(bench, odd.into_iter().chain(tiny).chain(special)).await
}

pub(super) async fn guids_come_back_as_written(bench: &Bench) -> Checked {
    let some = Uuid::from_u128(0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF);
    come_back(bench, [Uuid::nil(), Uuid::max(), some]).await
}

pub(super) async fn int32s_come_back_as_written(bench: &Bench) -> Checked {
    come_back(bench, [0, 1, -1, i32::MAX, i32::MIN]).await
}

pub(super) async fn int64s_come_back_as_written(bench: &Bench) -> Checked {
    let beyond_double = (1i64 << 53) + 1;
    come_back(bench, [0, 1, -1, i64::from(i32::MAX) + 1, beyond_double, -beyond_double, i64::MAX, i64::MIN]).await
}

pub(super) async fn strings_come_back_as_written(bench: &Bench) -> Checked {
    let plain = ["", " ", "  a  ", "text", "true", "5", "NaN", "2014-07-31T00:00:00Z"];
    let marks = ["\t\r\n", "\"quoted\"", "back\\slash", "/#?%", "<&>", "''", "{\"a\":1}", "\\u0041", "--batch_1\r\n"];
    let escaped = ["%20", "a+b%2B", "\\\\", "\\n", "&amp;&lt;&#65;", "null", "0f8fad5b-d9cb-469f-a165-70867728950e"];
    let scripts = [
        "\u{e9}",
        "e\u{301}",
        "\u{4e16}\u{754c}",
        "\u{5e9}\u{5dc}",
        "\u{1f600}",
        "\u{feff}x",
        "\u{10ffff}",
        "\u{fffd}",
    ];
    come_back(bench, plain.into_iter().chain(marks).chain(escaped).chain(scripts)).await
}

pub(super) async fn strings_that_xml_cannot_carry_come_back_or_are_refused(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').filter(|c| !"\t\r\n".contains(*c));
    for c in controls.chain(['\u{fffe}', '\u{ffff}']) {
        let (row, own) = (format!("{:04x}", u32::from(c)), one("V", format!("a{c}b{c}")));
        let there = match table.insert("p", &row, own.clone()).await {
            Err(error) if error.kind() == InvalidInput => None,
            written => Some(written?).map(|_| own),
        };
        let what = format!("the row of a text with {c:?}");
        ensure_eq!(table.properties("p", &row).await?, there, "{what}, by a point read");
        let found = table.rows(&table.query(KeyRange::rows("p", crate::RowRange::exactly(&row)))).await?;
        let found = found.into_iter().map(|row| row.properties).next();
        ensure_eq!(found, there, "{what}, by a query");
    }
    Ok(())
}

pub(super) async fn queries_give_what_point_reads_give(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let own = Properties::from_iter([
        ("Binary", Value::from(vec![1, 2, 3])),
        ("Boolean", true.into()),
        ("DateTime", DateTime::UNIX_EPOCH.into()),
        ("Double", 1.0.into()),
        ("Guid", Uuid::nil().into()),
        ("Int32", 1i32.into()),
        ("Int64", 1i64.into()),
        ("String", "1".into()),
    ]);
    table.insert("p", "r", own.clone()).await?;
    let row = table.row("p", "r").await?;
    ensure_eq!(row.properties, own, "the row by a point read");
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [row], "the row by a query");
    let large = Properties::from_iter([
        ("Binary", Value::Binary(vec![0xA5; limits::MAX_BINARY_BYTES])),
        ("String", "x".repeat(limits::MAX_STRING_CHARS).into()),
    ]);
    table.act("p", "r", Action::InsertOrReplace(large)).await?;
    let row = table.row("p", "r").await?;
    let same = table.rows(&table.query(KeyRange::table())).await? == [row];
    ensure_eq!(same, true, "whether a query gives the largest values as a point read does");
    Ok(())
}
