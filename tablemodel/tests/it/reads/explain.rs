//! What a path says it reads is what it reads.

use std::ops::Bound;

use tablemodel::{
    CostClass, DateTime,
    prelude::*,
    store::{KeyRange, RowRange},
    testing::{CallKind, TestDatabase},
};

use super::fixture::{Card, Event, Model, database};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Spread", partition = "{day}_{id:shard(3)}", row = "{id}")]
struct Spread {
    day: String,
    id: u8,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shared", partition = "{owner:raw}", row = "{name:raw}", adopt)]
struct Shared {
    owner: String,
    name: String,
}

#[derive(TableModel)]
enum Others {
    Spread(Spread),
    Shared(Shared),
}

const TYPE: &str = "where EntityType ge 'Event@' and EntityType lt 'EventA'";

#[test]
fn each_class_of_query_is_one_exact_line() {
    let find = || Event::find().room("r");
    assert_eq!(
        find().name("a/b").id(7).explain().to_string(),
        format!(
            "point query on Events: PartitionKey eq 'r' and RowKey eq 'ev!a.~b!000007' {TYPE}; requests: 1; rows read: 1"
        )
    );
    assert_eq!(
        find().name("a").id_between(1..=9).explain().to_string(),
        format!(
            "range query on Events: PartitionKey eq 'r' and RowKey ge 'ev!a!000001' and RowKey le 'ev!a!000009' {TYPE}; \
             requests: 1 per 1000 rows; rows read: 1 per result"
        )
    );
    assert_eq!(
        find().name_starts_with("a").explain().to_string(),
        format!(
            "range query on Events: PartitionKey eq 'r' and RowKey ge 'ev!a' and RowKey lt 'ev!b' {TYPE}; \
             requests: 1 per 1000 rows; rows read: 1 per result"
        )
    );
    assert_eq!(
        Event::by_level().room("r").level(-1).explain().to_string(),
        "range query on Events by by_level: PartitionKey eq 'r' and RowKey ge 'level_32767_' and RowKey lt 'level_32767`' \
         where EntityType ge 'Event.by_level@' and EntityType lt 'Event.by_levelA'; \
         requests: 1 per 1000 index rows, and a point read per result; rows read: 2 per result"
    );
    assert_eq!(
        Event::by_level().room("r").level(-1).select::<Card>().explain().requests,
        "1 per 1000 rows",
        "a covered projection loads nothing"
    );
    assert_eq!(
        Event::by_code().room("r").code("c").explain().to_string(),
        "point query on Events by by_code: PartitionKey eq 'r' and RowKey eq 'code_c' \
         where EntityType ge 'Event.by_code@' and EntityType lt 'Event.by_codeA'; requests: 2; rows read: 2"
    );
    assert_eq!(
        Event::scan_partition("r").matching(Event::LEVEL.gt(3_i16)).explain().to_string(),
        format!(
            "partition scan on Events: PartitionKey eq 'r' {TYPE} and ((Level gt 3 or Level gt 3L) or EntityType ne 'Event@1'); \
             requests: 1 per 1000 rows; rows read: every row"
        )
    );
    assert_eq!(
        Event::scan_table().explain().to_string(),
        format!("table scan on Events: every row {TYPE}; requests: 1 per 1000 rows; rows read: every row")
    );
    assert_eq!(
        Spread::find().day("d").explain().to_string(),
        "partition scan on Spread: 3 ranges, first PartitionKey eq 'd_0' \
         where EntityType ge 'Spread@' and EntityType lt 'SpreadA'; requests: 3 ranges, 1 per 1000 rows; rows read: every row"
    );
    assert_eq!(
        Model::rows(Event::in_partition("r")).row_starts_with("ev!a").explain().to_string(),
        "range query on Events: PartitionKey eq 'r' and RowKey ge 'ev!a' and RowKey lt 'ev!b'; \
         requests: 1 per 1000 rows; rows read: every row of the range"
    );
    assert_eq!(Model::rows(Event::in_partition("r")).explain().rows, "every row");
}

#[test]
fn a_quote_in_a_key_is_doubled() {
    let explain = Shared::find().owner("O'Brien").name("it's").explain();
    assert_eq!(explain.keys, ["PartitionKey eq 'O''Brien' and RowKey eq 'it''s'"]);
    assert_eq!(explain.condition, None, "rows of an adopted table are looked at after reading");
}

#[test]
fn a_path_that_cannot_run_says_why() {
    let explain = Event::find().room("r").name("a").id(1_000_000).explain();
    assert_eq!(
        explain.to_string(),
        "cannot run: Event: key field `id`: the number has more than the 6 digits of its key; give the template more, or leave \
         the width out"
    );
    assert_eq!(explain.requests, "0");
}

/// The ranges of a call log, as conditions.
fn asked(db: &TestDatabase) -> Vec<String> {
    let calls = db.calls().into_iter();
    let asked = calls.map(|call| match call.call {
        CallKind::Get { key, .. } => told(&KeyRange::rows(key.partition, RowRange::exactly(key.row))),
        CallKind::Query { range, .. } => told(&range),
        other => panic!("not a read: {other:?}"),
    });
    asked.collect()
}

fn told(range: &KeyRange) -> String {
    let KeyRange::Partition { partition, rows } = range else { return "every row".to_owned() };
    let lower = match &rows.lower {
        Bound::Included(row) => format!(" and RowKey ge '{row}'"),
        Bound::Excluded(row) => format!(" and RowKey gt '{row}'"),
        Bound::Unbounded => String::new(),
    };
    let upper = match &rows.upper {
        Bound::Included(row) if rows.lower == rows.upper => {
            return format!("PartitionKey eq '{partition}' and RowKey eq '{row}'");
        }
        Bound::Included(row) => format!(" and RowKey le '{row}'"),
        Bound::Excluded(row) => format!(" and RowKey lt '{row}'"),
        Bound::Unbounded => String::new(),
    };
    format!("PartitionKey eq '{partition}'{lower}{upper}")
}

#[tokio::test]
async fn what_is_asked_is_what_was_explained() {
    let event = Event {
        room: "r".into(),
        name: "n/1".into(),
        id: 1,
        city: "Oslo".into(),
        level: 3,
        at: DateTime::UNIX_EPOCH,
        code: Some("c".into()),
        tag: "T".into(),
        active: true,
    };
    let db = database(&[event]).await;
    macro_rules! assert_asks {
        ($path:expr, $class:ident, $run:ident($($argument:expr)?)) => {{
            db.forget_calls();
            let explain = $path.explain();
            let _ = $path.$run($($argument,)? &db).await.unwrap();
            assert_eq!(explain.class, CostClass::$class);
            assert_eq!(asked(&db)[..explain.keys.len()], explain.keys);
        }};
    }
    assert_asks!(Event::find().room("r").name("n/1").id(1), Point, one());
    assert_asks!(Event::find().room("r").name("n/1").id(1), Point, exists());
    assert_asks!(Event::find().room("r").name("n/1"), Range, all());
    assert_asks!(Event::find().room("r").name_between("a".."z"), Range, first(3));
    assert_asks!(Event::by_city().room("r").city_starts_with("O"), Range, all());
    assert_asks!(Event::by_at().room("r").at_between(..DateTime::UNIX_EPOCH), Range, count());
    assert_asks!(Event::by_code().room("r").code("c"), Point, one());
    assert_asks!(Event::scan_partition("r"), PartitionScan, all());
    assert_asks!(Event::scan_table(), TableScan, all());

    let db = TestDatabase::new::<Others>().await.unwrap();
    db.forget_calls();
    let explain = Spread::find().day("d").id_between(1..9).explain();
    assert!(Spread::find().day("d").id_between(1..9).all(&db).await.unwrap().is_empty());
    assert_eq!((asked(&db), explain.keys.len()), (explain.keys, 3));
}
