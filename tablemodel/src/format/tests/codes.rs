//! Every code, found both ways: what a change is, and what taking it back is.

use std::collections::BTreeSet;

use super::super::{
    Class::{self, Backfill, LazySafe, NoOp, Rekey, Rewrite, Unsafe},
    Code::{self, *},
    Format, Renames, WrongRename, diff,
};

type Found = Vec<(Code, Class)>;

/// `Employee@1`, with these facts more.
fn format(facts: &str) -> Format {
    let has = |start: &str| facts.lines().any(|fact| fact.starts_with(start));
    let usual = ["table Company", "key partition \"{Dep:text}\"", "key row \"{Id:u32}\"", "property A Edm.Int32 as u8"];
    let usual = usual.into_iter().filter(|fact| !has(fact.split(['"', 'C', 'E']).next().unwrap()));
    Format::parse("Employee", 1, usual.chain(facts.lines())).unwrap()
}

fn found(from: &Format, to: &Format) -> Found {
    let changes = diff(from, to, &Renames::default()).unwrap();
    changes.iter().map(|change| (change.code(), change.class())).collect()
}

const INDEX: &str = "index i row \"i_{A:u8}_{Id:u32}\"\nindex i cover keys";
const AGGREGATE: &str = "aggregate Dep.N keeps count\naggregate Dep.N key Name = Dep";
const COPY: &str = "copy m source Man\ncopy m stored M\ncopy m delete keep\ncopy m key Id = A\ncopy m property Name";

fn index(row: &str, rest: &[&str]) -> String {
    std::iter::once(format!("index i row \"{row}\""))
        .chain(rest.iter().map(|rest| format!("index i {rest}")))
        .collect::<Vec<_>>()
        .join("\n")
}

/// From the first facts to the second, and back.
fn cases() -> Vec<(String, String, Found, Found)> {
    let keys = |rest: &[&str]| index("i_{A:u8}_{Id:u32}", rest);
    let elsewhere = ["cover keys", "table Other", "partition \"{A:u8}\""];
    let (aggregate, copy) = (AGGREGATE, COPY);
    let case = |a: &str, b: &str, there: Found, back: Found| (a.to_owned(), b.to_owned(), there, back);
    let asked = |how: &str| {
        let index = index("i_{Id:u32}", &["cover keys", "when B"]);
        format!("property B Edm.Boolean {how}as bool\n{index}")
    };
    let counted = |how: &str| format!("property B Edm.Boolean {how}as bool\n{aggregate}\naggregate Dep.N when B");
    let made = |of: &str, to: &str, there| {
        let aggregate = aggregate.replace("count", of);
        let [from, to] = ["Int32 as u8", to].map(|stored| format!("property A Edm.{stored}\n{aggregate}"));
        case(&from, &to, there, vec![(TM106, Rewrite)])
    };
    vec![
        case("", "property B Edm.Int32 nullable as u8", vec![(TM101, LazySafe)], vec![(TM103, LazySafe)]),
        case("", "property B Edm.Int32 default as u8", vec![(TM101, LazySafe)], vec![(TM103, LazySafe)]),
        case("", "property B Edm.Int32 as u8", vec![(TM102, Rewrite)], vec![(TM103, LazySafe)]),
        case("", "property A Edm.Int64 as u32", vec![(TM105, LazySafe)], vec![(TM106, Rewrite)]),
        case("", "property A Edm.Int32 nullable as u8", vec![(TM105, LazySafe)], vec![(TM106, Rewrite)]),
        case("", "property A Edm.String as json", vec![(TM106, Rewrite)], vec![(TM106, Rewrite)]),
        case("", "reserved B", vec![(TM108, NoOp)], vec![(TM108, Unsafe)]),
        case("", "adopt", vec![(TM205, LazySafe)], vec![(TM205, Unsafe)]),
        case("", "key partition \"{A:u8}\"", vec![(TM301, Rekey)], vec![(TM301, Rekey)]),
        case("", "key row \"e_{Id:u32}\"", vec![(TM302, Rekey)], vec![(TM302, Rekey)]),
        case("", "key row \"{Id:u32:desc}\"", vec![(TM303, Rekey)], vec![(TM303, Rekey)]),
        case(
            "key row \"{Id:u16:shard(4)}\"",
            "key row \"{Id:u32:shard(4)}\"",
            vec![(TM303, NoOp)],
            vec![(TM303, NoOp)],
        ),
        case("key row \"{Id:u16:hash}\"", "key row \"{Id:i64:hash}\"", vec![(TM303, NoOp)], vec![(TM303, NoOp)]),
        case("key row \"{Id:u16:06}\"", "key row \"{Id:u32:06}\"", vec![(TM303, NoOp)], vec![(TM303, NoOp)]),
        case("key row \"{Id:enum}\"", "key row \"{Id:text}\"", vec![(TM303, NoOp)], vec![(TM303, NoOp)]),
        case(
            "key partition \"{Id:u32:shard(4)}\"",
            "key partition \"{Id:u32:shard(8)}\"",
            vec![(TM503, Rekey)],
            vec![(TM503, Rekey)],
        ),
        case("", INDEX, vec![(TM401, Backfill)], vec![(TM402, LazySafe)]),
        case("", copy, vec![(TM401, Backfill)], vec![(TM402, LazySafe)]),
        case("", aggregate, vec![(TM401, Backfill)], vec![(TM402, LazySafe)]),
        made("max A", "Int64 as u32", vec![(TM403, Backfill)]),
        made("max A", "Int32 as u16", vec![(TM105, LazySafe)]),
        made("sum A", "Int64 as u32", vec![(TM105, LazySafe)]),
        made("sum A", "Double as f64", vec![(TM403, Backfill)]),
        case("", "property A Edm.Int32 aggregate as u8", vec![(TM401, Backfill)], vec![(TM105, LazySafe)]),
        case("", "property A Edm.Int64 aggregate as i64", vec![(TM401, Backfill)], vec![(TM106, Rewrite)]),
        case(INDEX, &index("j_{A:u8}_{Id:u32}", &["cover keys"]), vec![(TM403, Backfill)], vec![(TM403, Backfill)]),
        case(INDEX, &keys(&["cover list"]), vec![(TM403, Backfill)], vec![(TM403, Backfill)]),
        case(copy, &copy.replace("Man", "Boss"), vec![(TM403, Backfill)], vec![(TM403, Backfill)]),
        case(aggregate, &aggregate.replace("count", "sum A"), vec![(TM403, Backfill)], vec![(TM403, Backfill)]),
        case(copy, &copy.replace("delete keep", "delete clear"), vec![(TM408, LazySafe)], vec![(TM408, LazySafe)]),
        case(copy, &format!("{copy}\ncopy m optional"), vec![(TM408, LazySafe)], vec![(TM408, Rewrite)]),
        case(INDEX, &keys(&["cover keep", "keep A"]), vec![(TM404, Backfill)], vec![(TM404, LazySafe)]),
        case(INDEX, &keys(&elsewhere), vec![(TM405, Backfill)], vec![(TM405, Backfill)]),
        case(INDEX, &keys(&["cover keys", "unique"]), vec![(TM406, Backfill)], vec![(TM406, LazySafe)]),
        case(INDEX, &keys(&["cover keys", "when A"]), vec![(TM407, Backfill)], vec![(TM407, Backfill)]),
        case(&asked("nullable "), &asked(""), vec![(TM106, Rewrite), (TM407, Backfill)], vec![(TM105, LazySafe)]),
        case(&counted("nullable "), &counted(""), vec![(TM106, Rewrite), (TM403, Backfill)], vec![(TM105, LazySafe)]),
        case(
            &counted("nullable "),
            &counted("default "),
            vec![(TM105, LazySafe), (TM403, Backfill)],
            vec![(TM105, LazySafe)],
        ),
        case("", "wide", vec![(TM501, LazySafe)], vec![(TM501, Rewrite)]),
        case("", "property A Edm.Int32 chunked as u8", vec![(TM501, LazySafe)], vec![(TM501, Rewrite)]),
        case("", "property A Edm.String as blob", vec![(TM502, Rewrite)], vec![(TM502, Rewrite)]),
        case("", "table Other", vec![(TM601, Rekey)], vec![(TM601, Rekey)]),
        case("", "table COMPANY", vec![(TM601, NoOp)], vec![(TM601, NoOp)]),
    ]
}

#[test]
fn each_change_has_its_code_and_class_both_ways() {
    for (a, b, there, back) in cases() {
        let (a, b) = (format(&a), format(&b));
        assert_eq!(found(&a, &b), there, "{:?} -> {:?}", a.lines(), b.lines());
        assert_eq!(found(&b, &a), back, "{:?} -> {:?}", b.lines(), a.lines());
    }
}

#[test]
fn each_code_is_found_somewhere() {
    let both = |(_, _, there, back): (String, String, Found, Found)| there.into_iter().chain(back);
    let mut seen: BTreeSet<Code> = cases().into_iter().flat_map(both).map(|(code, _)| code).collect();
    seen.extend([TM104, TM107, TM201, TM202]); // the tests below
    assert_eq!(seen, BTreeSet::from(Code::ALL));
}

#[test]
fn a_rename_is_one_change_only_if_it_is_said() {
    let (a, b) = (format("property B Edm.Int32 as u8\nindex i row \"{B:u8}\"\nindex i cover keys"), {
        format("property C Edm.Int32 as u8\nindex i row \"{C:u8}\"\nindex i cover keys")
    });
    assert_eq!(found(&a, &b), [(TM103, LazySafe), (TM102, Rewrite), (TM403, Backfill)]);
    let said = |from: &str, to: &str| Renames { properties: vec![(from.into(), to.into())], ..Renames::default() };
    let changes = diff(&a, &b, &said("B", "C")).unwrap();
    assert_eq!(changes.iter().map(|change| (change.code(), change.class())).collect::<Vec<_>>(), [(TM104, LazySafe)]);
    assert_eq!(diff(&b, &a, &said("C", "B")).unwrap().len(), 1);
    for (from, to) in [("A", "C"), ("B", "A"), ("X", "C"), ("B", "X")] {
        let WrongRename { why, .. } = diff(&a, &b, &said(from, to)).expect_err(to);
        assert!(!why.is_empty());
    }
}

#[test]
fn a_name_that_was_used_before_does_not_return() {
    let (a, b) = (format(""), format(&format!("property B Edm.Int32 nullable as u8\n{INDEX}")));
    let retired = BTreeSet::from(["B".to_owned(), "i".to_owned()]);
    let changes = diff(&a, &b, &Renames { retired, ..Renames::default() }).unwrap();
    assert_eq!(changes.iter().map(|c| (c.code(), c.class())).collect::<Vec<_>>(), [(TM107, Unsafe), (TM107, Unsafe)]);
    let b = format("property B Edm.Int32 as u8");
    let rename = Renames { properties: vec![("A".into(), "B".into())], retired: BTreeSet::from(["B".to_owned()]) };
    let b_alone = Format {
        properties: b
            .properties
            .iter()
            .filter(|(name, _)| *name == "B")
            .map(|(name, own)| (name.clone(), own.clone()))
            .collect(),
        ..b.clone()
    };
    let changes = diff(&a, &b_alone, &rename).unwrap();
    assert_eq!(changes.iter().map(|c| (c.code(), c.class())).collect::<Vec<_>>(), [(TM107, Unsafe)]);
    let reserved = format("reserved B");
    assert!(found(&reserved, &format("reserved B\nproperty B Edm.Int32 as u8")).contains(&(TM107, Unsafe)));
}

#[test]
fn the_entity_type_and_the_version_are_changes_too() {
    let a = format("");
    let (renamed, raised) = (Format { entity_type: "Person".into(), ..a.clone() }, Format { version: 2, ..a.clone() });
    assert_eq!(found(&a, &renamed), [(TM201, Rewrite)]);
    assert_eq!(found(&renamed, &a), [(TM201, Rewrite)]);
    assert_eq!(found(&a, &raised), [(TM202, NoOp)]);
    assert_eq!(found(&raised, &a), [(TM202, Unsafe)]);
}

#[test]
fn a_change_says_who_may_run_beside_it() {
    let both = |a: &str, b: &str| {
        let changes = diff(&format(a), &format(b), &Renames::default()).unwrap();
        (changes[0].is_backward(), changes[0].is_forward())
    };
    assert_eq!(both("", "property B Edm.Int32 nullable as u8"), (true, true));
    assert_eq!(both("", "property B Edm.Int32 as u8"), (false, true));
    assert_eq!(both("property B Edm.Int32 as u8", ""), (true, false));
    assert_eq!(both("", "property A Edm.Int64 as u32"), (true, false));
    assert_eq!(both("property A Edm.Int64 as u32", ""), (false, true));
    assert_eq!(both("", "key row \"e_{Id:u32}\""), (false, false));
    assert_eq!(both("", INDEX), (true, true));
    // A copy that must be there is in no row that is older than it.
    let optional = format!("{COPY}\ncopy m optional");
    assert_eq!((both("", COPY), both("", &optional)), ((false, true), (true, true)));
    assert_eq!((both(COPY, &optional), both(&optional, COPY)), ((true, false), (false, true)));
    let more = format!("{COPY}\ncopy m property Age");
    assert_eq!((both(COPY, &more), both(&more, COPY)), ((false, false), (true, false)));
    assert_eq!(both(COPY, &COPY.replace("property Name", "property FullName")), (false, false));
    assert_eq!(both(COPY, &COPY.replace("stored M", "stored Boss")), (false, false));
    for removed in [INDEX, AGGREGATE, COPY] {
        assert_eq!(both(removed, ""), (true, false), "{removed}");
    }
    assert_eq!(both(INDEX, &format!("{INDEX}\nindex i unique")), (true, false));
    let is_elsewhere = |found: &Found| matches!(found.as_slice(), [(TM403 | TM405 | TM407, Backfill)]);
    let changed: Vec<_> = cases().into_iter().filter(|(_, _, there, _)| is_elsewhere(there)).collect();
    assert!(changed.len() >= 6, "{}", changed.len());
    for (a, b, ..) in changed {
        assert_eq!(both(&a, &b), (true, false), "{a} to {b}");
    }
}

#[test]
fn what_differs_of_the_place_of_index_rows_is_told() {
    let of = |rest: &[&str]| format(&index("i_{A:u8}_{Id:u32}", rest));
    let told = |a: &Format, b: &Format| {
        diff(a, b, &Renames::default()).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let there = of(&["cover keys", "table Other", "partition \"{A:u8}\""]);
    let table = of(&["cover keys", "table More", "partition \"{A:u8}\""]);
    let both = of(&["cover keys", "table More", "partition \"x_{A:u8}\""]);
    assert_eq!(told(&there, &table), ["index i: table Other -> More"]);
    assert_eq!(told(&there, &both), ["index i: partition \"{A:u8}\" -> \"x_{A:u8}\", table Other -> More"]);
    assert_eq!(told(&of(&["cover keys"]), &of(&["cover list"])), ["index i: an index -> a list"]);
    let keys = format(&index("j_{A:u8}_{Id:u32}", &["cover keys"]));
    assert_eq!(told(&of(&["cover keys"]), &keys), ["index i: keys \"i_{A:u8}_{Id:u32}\" -> \"j_{A:u8}_{Id:u32}\""]);
}
