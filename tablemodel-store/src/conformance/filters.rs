//! Clauses of filters: which rows satisfy them.
//!
//! Only conditions that every store can evaluate are used.

use super::{
    Broken,
    bench::{Bench, Table, keys_in, n, one},
    broken::{ensure, ensure_eq, refused},
};
use crate::{
    Comparison, Comparison::*, DateTime, Filter, KeyRange, RowRange, StoreErrorKind::InvalidInput, Uuid, Value,
    ValueRef, key::RowKey,
};

type Checked = Result<(), Broken>;

const ALL: [Comparison; 6] = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];

/// The rows `0`, `1`, `2` that satisfy a comparison with the value of row `1`, where values ascend.
fn expected(comparison: Comparison) -> &'static [&'static str] {
    match comparison {
        Equal => &["1"],
        NotEqual => &["0", "2"],
        Less => &["0"],
        LessOrEqual => &["0", "1"],
        Greater => &["2"],
        GreaterOrEqual => &["1", "2"],
    }
}

/// A table with a row `0`, `1`, ... for each value, in property `V`.
async fn rows_of(bench: &Bench, values: impl IntoIterator<Item = Value>) -> Result<Table<'_>, Broken> {
    let table = bench.table().await?;
    for (row, value) in values.into_iter().enumerate() {
        table.insert("p", &row.to_string(), one("V", value)).await?;
    }
    Ok(table)
}

pub(super) async fn comparisons_hold_for_every_type(bench: &Bench) -> Checked {
    const MANY_TICKS: i64 = DateTime::UNIX_EPOCH.ticks() + 1_234_567;
    const BEYOND_DOUBLE: i64 = 1 << 53;
    let ascending: [[Value; 3]; 9] = [
        [vec![].into(), vec![1, 2].into(), vec![2].into()],
        [DateTime::MIN.into(), DateTime::UNIX_EPOCH.into(), DateTime::MAX.into()],
        [f64::NEG_INFINITY.into(), (-1.5).into(), 1e300.into()],
        [i32::MIN.into(), (-1).into(), 0.into()],
        [i64::MIN.into(), (-1i64).into(), i64::MAX.into()],
        ["A".into(), "a".into(), "a ".into()],
        // Neighbours: no coarser type tells them apart.
        [0, 1, 2].map(|more| DateTime::from_ticks(MANY_TICKS + more).into()),
        [0, 1, 2].map(|more| (BEYOND_DOUBLE + more).into()),
        [0.0, 1.0, 2.0].map(|more| (1.0 + more * f64::EPSILON).into()),
    ];
    for values in ascending {
        let edm = values.first().map(Value::edm);
        let middle = values.get(1).cloned().unwrap_or_else(|| false.into());
        let table = rows_of(bench, values).await?;
        for comparison in ALL {
            let found = table.matching(Filter::compare("V", comparison, middle.clone())).await?;
            ensure_eq!(found, expected(comparison), "{} on {edm:?}", comparison.word());
        }
    }
    let (low, high) = (Uuid::nil(), Uuid::max());
    for pair in [[Value::from(false), true.into()], [low.into(), high.into()]] {
        let (edm, second) = (pair.first().map(Value::edm), pair.last().cloned().unwrap_or_else(|| false.into()));
        let table = rows_of(bench, pair).await?;
        ensure_eq!(table.matching(Filter::compare("V", Equal, second.clone())).await?, ["1"], "eq on {edm:?}");
        ensure_eq!(table.matching(Filter::compare("V", NotEqual, second)).await?, ["0"], "ne on {edm:?}");
    }
    Ok(())
}

pub(super) async fn a_missing_property_satisfies_no_comparison(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "with", one("V", 1)).await?;
    table.insert("p", "without", one("W", 1)).await?;
    for comparison in ALL {
        let found = table.matching(Filter::compare("Missing", comparison, 1)).await?;
        ensure!(found.is_empty(), "{} with a missing property must be false, but gave {found:?}", comparison.word());
    }
    for bare in [Value::from(""), vec![].into(), false.into(), 0i32.into(), 0i64.into(), 0.0.into(), Uuid::nil().into()]
    {
        let found = table.matching(Filter::compare("Missing", Equal, bare.clone())).await?;
        ensure!(found.is_empty(), "a missing property must not equal {bare:?}, but gave {found:?}");
    }
    let other_case = table.matching(Filter::compare("v", Equal, 1)).await?;
    ensure!(other_case.is_empty(), "a property in another case is missing, but gave {other_case:?}");
    ensure_eq!(table.matching(Filter::compare("V", NotEqual, 2)).await?, ["with"], "ne where one row has it");
    let not = Filter::compare("V", Equal, 1).negate();
    ensure_eq!(table.matching(not).await?, ["without"], "not (V eq 1) where one row lacks V");
    Ok(())
}

pub(super) async fn another_type_satisfies_no_comparison(bench: &Bench) -> Checked {
    let table = rows_of(bench, [1i32.into(), 1i64.into(), 1.0.into(), "1".into(), true.into()]).await?;
    ensure_eq!(table.matching(Filter::compare("V", Equal, 1i32)).await?, ["0"], "eq with an Int32");
    ensure_eq!(table.matching(Filter::compare("V", Equal, 1i64)).await?, ["1"], "eq with an Int64");
    ensure_eq!(table.matching(Filter::compare("V", Equal, 1.0)).await?, ["2"], "eq with a Double");
    ensure_eq!(table.matching(Filter::compare("V", Equal, "1")).await?, ["3"], "eq with a String");
    ensure_eq!(table.matching(Filter::compare("V", NotEqual, "2")).await?, ["3"], "ne with a String");
    Ok(())
}

pub(super) async fn not_and_or_combine(bench: &Bench) -> Checked {
    let table = rows_of(bench, (0..6).map(Value::Int32)).await?;
    let above = |number: i32| Filter::compare("V", Greater, number);
    let below = |number: i32| Filter::compare("V", Less, number);
    ensure_eq!(table.matching(above(1).and(below(4))).await?, ["2", "3"], "and");
    ensure_eq!(table.matching(below(1).or(above(4))).await?, ["0", "5"], "or");
    ensure_eq!(table.matching(below(4).negate()).await?, ["4", "5"], "not");
    let nested = below(2).or(above(3)).and(Filter::compare("V", NotEqual, 5).and(above(0))).negate();
    ensure_eq!(table.matching(nested).await?, ["0", "2", "3", "5"], "a nested filter");
    Ok(())
}

pub(super) async fn text_compares_by_utf16_units(bench: &Bench) -> Checked {
    let table = rows_of(bench, ["a", "\u{10437}", "\u{ffee}"].map(Value::from)).await?;
    let from = |text: &str| Filter::compare("V", GreaterOrEqual, text);
    ensure_eq!(table.matching(from("\u{10437}")).await?, ["1", "2"], "from U+10437");
    ensure_eq!(table.matching(from("\u{ffee}")).await?, ["2"], "from U+FFEE");
    Ok(())
}

pub(super) async fn nan_compares_as_ieee_says(bench: &Bench) -> Checked {
    let table = rows_of(bench, [f64::NAN.into(), 1.0.into(), (-0.0).into()]).await?;
    for comparison in [Equal, Less, LessOrEqual, Greater, GreaterOrEqual] {
        let found = table.matching(Filter::compare("V", comparison, f64::NAN)).await?;
        ensure!(found.is_empty(), "{} NaN must hold for nothing, but gave {found:?}", comparison.word());
    }
    ensure_eq!(table.matching(Filter::compare("V", NotEqual, f64::NAN)).await?, ["0", "1", "2"], "ne NaN");
    ensure_eq!(table.matching(Filter::compare("V", NotEqual, 1.0)).await?, ["0", "2"], "ne 1.0, where NaN is stored");
    ensure_eq!(table.matching(Filter::compare("V", LessOrEqual, f64::INFINITY)).await?, ["1", "2"], "le infinity");
    ensure_eq!(table.matching(Filter::compare("V", Equal, 0.0)).await?, ["2"], "eq 0.0, where -0.0 is stored");
    Ok(())
}

pub(super) async fn keys_and_timestamp_can_be_compared(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let mut written = Vec::new();
    for (partition, row) in [("a", "1"), ("b", "2"), ("c", "3")] {
        written.push((row, table.insert(partition, row, n(1)).await?.timestamp));
    }
    let middle = table.row("b", "2").await?.timestamp;
    ensure_eq!(table.matching(Filter::compare("PartitionKey", Greater, "a")).await?, ["2", "3"], "by PartitionKey");
    ensure_eq!(table.matching(Filter::compare("RowKey", Less, "3")).await?, ["1", "2"], "by RowKey");
    for comparison in ALL {
        let holds = |at: &DateTime| comparison.holds(ValueRef::DateTime(*at), ValueRef::DateTime(middle));
        let expected: Vec<_> = written.iter().filter(|(_, at)| holds(at)).map(|(row, _)| *row).collect();
        let found = table.matching(Filter::compare("Timestamp", comparison, middle)).await?;
        ensure_eq!(found, expected, "by {} with the Timestamp of row 2", comparison.word());
    }
    Ok(())
}

pub(super) async fn a_filter_narrows_a_range(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["a", "b", "c", "d"])).await?;
    table.fill(&keys_in("q", &["a", "b", "c", "d"])).await?;
    let rows = RowRange { lower: std::ops::Bound::Included("b".to_owned()), ..RowRange::all() };
    let slice = KeyRange::Table { after: Some(RowKey::new("p", "a")), before_partition: Some("q".to_owned()) };
    for (range, expected) in [
        (KeyRange::rows("p", rows), &["b", "c"][..]),
        (KeyRange::rows("p", RowRange::exactly("c")), &["c"]),
        (KeyRange::rows("p", RowRange::exactly("d")), &[]),
        (KeyRange::partition("p"), &["a", "b", "c"]),
        (slice, &["b", "c"]),
    ] {
        let query = table.query(range).filtered(Filter::compare("N", Less, 3));
        ensure_eq!(table.keys(&query).await?, keys_in("p", expected), "the rows of {:?} with N below 3", query.range);
    }
    Ok(())
}

pub(super) async fn a_query_makes_15_comparisons_and_no_more(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.fill(&keys_in("p", &["a", "b"])).await?;
    let rows = RowRange { lower: std::ops::Bound::Excluded("a".to_owned()), ..RowRange::all() };
    // What its range takes to be asked for.
    for (range, own) in [(KeyRange::table(), 0), (KeyRange::partition("p"), 1), (KeyRange::rows("p", rows), 2)] {
        let filter = |count| {
            let one = || Filter::compare("N", Greater, -1).negate().negate();
            (own + 1..count).fold(one(), |filter, _| filter.and(one()))
        };
        let most = crate::limits::MAX_QUERY_COMPARISONS;
        let taken = table.query(range.clone()).filtered(filter(most));
        ensure_eq!(table.keys(&taken).await?.is_empty(), false, "whether 15 comparisons find rows");
        let refused_one = bench.store().query(&table.query(range).filtered(filter(most + 1))).await;
        refused(refused_one, InvalidInput, "a query of 16 comparisons")?;
    }
    Ok(())
}

pub(super) async fn a_filtered_query_finds_rare_rows_over_pages(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    let keys: Vec<_> = (0..60).map(|i| RowKey::new("p", format!("{i:02}"))).collect();
    table.fill(&keys).await?;
    let rare = Filter::compare("N", Equal, 0).or(Filter::compare("N", Equal, 31)).or(Filter::compare("N", Equal, 59));
    for limit in [1, 2, 3, 1000] {
        let query = table.query(KeyRange::partition("p")).filtered(rare.clone()).limited(limit);
        let found = table.keys(&query).await?;
        ensure_eq!(found, keys_in("p", &["00", "31", "59"]), "the rows in pages of {limit}");
    }
    Ok(())
}
