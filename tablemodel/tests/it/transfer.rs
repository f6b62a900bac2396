//! Data in and out: what is exported comes back as it was, a damaged export is named by its line.

use std::sync::Arc;

use futures_util::stream;
use proptest::prelude::*;
use tablemodel::{
    Database, DateTime, ErrorKind, Properties, RowKey, Transferred, Uuid, Value,
    prelude::*,
    store::{
        Action, Batch, KeyRange, Query, StoreErrorKind, TableStore,
        fault::{Call, Request},
    },
    testing::{Fault, Script, TestDatabase},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique, keep(name)))]
#[table(index(by_name, row = "name!{name}!{id:06}"))]
pub(crate) struct Employee {
    department: String,
    pub(crate) id: u32,
    name: String,
    email: Option<String>,
}

#[derive(TableModel)]
pub(crate) enum Company {
    Employee(Employee),
    #[table(other)]
    Other(Row),
}

pub(crate) fn employee(id: u32) -> Employee {
    Employee {
        department: format!("d{}/ä", id % 3),
        id,
        name: format!("n{id}"),
        email: id.is_multiple_of(2).then(|| format!("{id}@x")),
    }
}

async fn store(db: &TestDatabase, row: &str, properties: Properties) {
    let batch = Batch::new("Company", "planted").with(row, Action::Insert(properties));
    db.store().commit(&[batch]).await.unwrap();
}

/// A store without a single table: what an import is for.
async fn fresh() -> TestDatabase {
    let db = TestDatabase::new::<Company>().await.unwrap();
    db.drop_tables().await.unwrap();
    db
}

/// The export without the store's own times, which no import can set.
pub(crate) async fn exported(db: &Database) -> (Transferred, String) {
    let mut lines = Vec::new();
    let moved = db.export(&mut lines).await.unwrap();
    let timeless = |line: &str| {
        let (before, rest) = line.split_once("\"Timestamp\":\"").expect("every line has one");
        format!("{before}{}\n", rest.split_once("\",").expect("and something after it").1)
    };
    (moved, String::from_utf8(lines).unwrap().lines().map(timeless).collect())
}

/// Every Edm type at its bounds.
fn bounds() -> Properties {
    let values = [
        ("Empty", Value::String(String::new())),
        ("Text", Value::String("\"\\\n\r\t\u{0}\u{7F}\u{2028}\u{FFFF}\u{10FFFF} ä NaN".into())),
        ("LongText", Value::String("\u{10437}".repeat(16_384))),
        ("No", Value::Boolean(false)),
        ("Yes", Value::Boolean(true)),
        ("Int32Min", Value::Int32(i32::MIN)),
        ("Int32Max", Value::Int32(i32::MAX)),
        ("Int64Min", Value::Int64(i64::MIN)),
        ("Int64Max", Value::Int64(i64::MAX)),
        ("Zero", Value::Double(0.0)),
        ("MinusZero", Value::Double(-0.0)),
        ("Whole", Value::Double(3.0)),
        ("Tiny", Value::Double(f64::from_bits(1))),
        ("Least", Value::Double(f64::MIN)),
        ("Odd", Value::Double(0.1 + 0.2)),
        ("Nan", Value::Double(f64::NAN)),
        ("Infinity", Value::Double(f64::INFINITY)),
        ("MinusInfinity", Value::Double(f64::NEG_INFINITY)),
        ("First", Value::DateTime(DateTime::from_unix_seconds(-11_644_473_600).unwrap())),
        ("Last", Value::DateTime(DateTime::MAX)),
        ("Nil", Value::Guid(Uuid::nil())),
        ("Max", Value::Guid(Uuid::max())),
        ("NoBytes", Value::Binary(Vec::new())),
        ("Bytes", Value::Binary((0..=255).collect())),
        ("Многое", Value::Int32(1)),
    ];
    values.into_iter().collect()
}

async fn rows(db: &TestDatabase, table: &str) -> Vec<(RowKey, Properties)> {
    let page = db.store().query(&Query::new(table, KeyRange::table())).await.unwrap();
    page.rows.into_iter().map(|row| (row.key, row.properties)).collect()
}

#[tokio::test]
async fn an_export_comes_back_as_it_was_to_the_byte() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    let report = db.bulk().insert_all(stream::iter((0..250).map(employee))).await.unwrap();
    assert_eq!(report.failed.len(), 0);
    store(&db, "bounds", bounds()).await;
    store(&db, "unknown", [("EntityType", Value::String("Stranger@7".into()))].into_iter().collect()).await;
    store(&db, "foreign", Properties::new()).await;
    let (moved, lines) = exported(&db).await;
    assert_eq!(moved, Transferred { rows: lines.lines().count() as u64, tables: 2 });
    let other = fresh().await;
    assert_eq!(other.import(lines.as_bytes()).await.unwrap(), moved);
    assert_eq!(exported(&other).await.1, lines);
    assert_eq!(rows(&other, "Company").await, rows(&db, "Company").await);
    let verified = other.verify().await.unwrap();
    assert!(verified.is_clean(), "{:?}", verified.violations);
    assert_eq!((verified.entities, verified.foreign), (250, 3));
    // The states came too: the imported store is in use without more ado.
    assert_eq!(Employee::by_email().department("d0/ä").count(&other).await.unwrap(), 42);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_row_comes_back(texts in prop::collection::vec(any::<String>(), 1..4), bits in any::<u64>(), n in any::<i64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let db = TestDatabase::new::<Company>().await.unwrap();
            let mut properties: Properties =
                texts.iter().enumerate().map(|(at, text)| (format!("T{at}"), Value::String(text.clone()))).collect();
            properties.insert("D", Value::Double(f64::from_bits(bits)));
            properties.insert("N", Value::Int64(n));
            properties.insert("B", Value::Binary(texts.concat().into_bytes()));
            store(&db, "row", properties).await;
            let lines = exported(&db).await.1;
            let other = fresh().await;
            other.import(lines.as_bytes()).await.unwrap();
            // By their text, since a NaN may come back with other bits.
            assert_eq!(format!("{:?}", rows(&other, "Company").await), format!("{:?}", rows(&db, "Company").await));
            assert_eq!(exported(&other).await.1, lines);
        });
    }
}

#[tokio::test]
async fn a_line_that_is_no_row_is_corrupt_and_named() {
    let good = r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"1","Timestamp":"2020-01-01T00:00:00Z","A":1}"#;
    let bad = [
        "{",
        "[]",
        "null",
        r#"{"PartitionKey":"p","RowKey":"2"}"#,
        r#"{"odata.table":"Company","RowKey":"2"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":2}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":null}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":[1]}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":3000000000}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":18446744073709551615}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":18446744073709551616}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":-9223372036854775809}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A":1,"A":2}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","RowKey":"3"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A@odata.type":"Edm.Int64","A":"x"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A@odata.type":"Edm.Int64"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A@odata.type":"Edm.Other","A":"x"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A@odata.type":"Edm.DateTime","A":"soon"}"#,
        r#"{"odata.table":"Company","PartitionKey":"p","RowKey":"2","A@odata.type":"Edm.Binary","A":"?"}"#,
    ];
    for bad in bad {
        let db = fresh().await;
        let error = db.import(format!("{good}\n\n{bad}\n").as_bytes()).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{bad}: {error}");
        assert!(error.to_string().contains("line 3 "), "{bad}: {error}");
    }
    let error = fresh().await.import(&b"\xFF\n"[..]).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("line 1 "), "{error}");
}

#[tokio::test]
async fn what_the_store_refuses_is_named_by_its_line_too() {
    let line = |table: &str, row: &str| {
        serde_json::json!({"odata.table": table, "PartitionKey": "p", "RowKey": row}).to_string()
    };
    let refusals = [
        (vec![line("Company", "1"), line("Company", "a/b")], ErrorKind::Invalid, 2),
        (vec![line("Company", "1"), line("no table", "1")], ErrorKind::Invalid, 2),
        (vec![line("Company", "1"), line("Company", "2"), line("Company", "1")], ErrorKind::AlreadyExists, 3),
        (vec![line("Company", "1"), line("Company", &"x".repeat(1025))], ErrorKind::TooLarge, 2),
    ];
    for (lines, kind, number) in refusals {
        let error = fresh().await.import(lines.join("\n").as_bytes()).await.unwrap_err();
        assert_eq!(*error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&format!("line {number} ")), "{error}");
    }
}

#[tokio::test]
async fn importing_over_rows_that_exist_is_refused_and_changes_none_of_them() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    let lines = exported(&db).await.1;
    db.update(Employee::find().department("d1/ä").id(1), |e| {
        e.name = "kept".into();
        Ok(())
    })
    .await
    .unwrap();
    let before = rows(&db, "Company").await;
    let error = db.import(lines.as_bytes()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("line 1 "), "{error}");
    assert!(error.to_string().contains("import into a fresh database, before `ensure_tables()`"), "{error}");
    assert_eq!(error.key().map(|key| key.row.as_str()), Some("empid_000001"));
    assert_eq!(rows(&db, "Company").await, before);
}

#[tokio::test]
async fn an_import_survives_a_busy_store_and_lost_replies() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    let report = db.bulk().insert_all(stream::iter((0..100).map(employee))).await.unwrap();
    assert_eq!(report.failed.len(), 0);
    let lines = exported(&db).await.1;
    let other = fresh().await;
    let mut calls = 0;
    other.fail(move |_: &Call<'_>| {
        calls += 1;
        match calls % 3 {
            0 => Some(Fault::LostReply),
            1 => Some(Fault::error(StoreErrorKind::Unavailable)),
            _ => None,
        }
    });
    other.import(lines.as_bytes()).await.unwrap();
    other.fail(Script::new());
    assert_eq!(exported(&other).await.1, lines);
}

#[tokio::test]
async fn an_export_survives_a_busy_store() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    let lines = exported(&db).await.1;
    let mut calls = 0;
    db.fail(move |_: &Call<'_>| {
        calls += 1;
        (calls % 2 == 1).then(|| Fault::error(StoreErrorKind::Unavailable))
    });
    assert_eq!(exported(&db).await.1, lines);
}

#[tokio::test]
async fn databases_of_two_prefixes_share_a_store_and_see_nothing_of_each_other() {
    let shared = fresh().await;
    let open = |prefix: &'static str| Database::builder().prefix(prefix).with_store::<Company>(shared.store());
    let (a, b) = (open("one").await.unwrap(), open("two").await.unwrap());
    a.ensure_tables().await.unwrap();
    b.ensure_tables().await.unwrap();
    a.insert(&employee(1)).await.unwrap();
    b.insert(&employee(2)).await.unwrap();
    assert_eq!(Employee::find().department("d1/ä").count(&a).await.unwrap(), 1);
    assert_eq!(Employee::find().department("d1/ä").count(&b).await.unwrap(), 0);
    assert_eq!(a.list_tables().await.unwrap(), ["Company", "tmschema"]);
    let all = shared.store().list_tables().await.unwrap();
    assert_eq!(all, ["oneCompany", "onetmschema", "twoCompany", "twotmschema"]);
    // What one prefix exports another imports, without a trace of the first.
    let lines = exported(&a).await.1;
    assert!(!lines.contains("oneCompany"));
    let c = open("three").await.unwrap();
    c.import(lines.as_bytes()).await.unwrap();
    assert_eq!(Employee::find().department("d1/ä").count(&c).await.unwrap(), 1);
    assert!(c.verify().await.unwrap().is_clean());
    a.drop_tables().await.unwrap();
    assert_eq!(a.list_tables().await.unwrap(), Vec::<String>::new());
    assert_eq!(Employee::find().department("d2/ä").count(&b).await.unwrap(), 1);
    let error = Employee::find().department("d1/ä").count(&a).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("ensure_tables"), "{error}");
    a.drop_tables().await.unwrap();
}

#[tokio::test]
async fn a_prefix_that_makes_no_table_name_is_refused_with_the_name_before_there_is_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("company.tablemodel");
    for prefix in ["9", "a-b", "ä", &"x".repeat(60)] {
        let builder = || Database::builder().prefix(prefix);
        let refused = [builder().in_memory::<Company>().await, builder().open::<Company>(&path).await];
        for error in refused.into_iter().map(Result::unwrap_err) {
            assert_eq!(*error.kind(), ErrorKind::Invalid, "{prefix}");
            assert!(error.to_string().contains(&format!("prefix `{prefix}`")), "{error}");
        }
        assert!(!path.exists());
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{department}", row = "{id:06}")]
#[table(index(
    by_email,
    table = "PeopleByEmailAddressAndDepartment",
    partition = "{email}",
    row = "{department}_{id:06}",
    keys_only
))]
struct Person {
    department: String,
    id: u32,
    email: String,
}

#[derive(TableModel)]
enum People {
    Person(Person),
}

#[tokio::test]
async fn a_prefix_that_is_too_long_for_the_table_of_an_index_is_refused_before_there_is_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.tablemodel");
    let prefix = "x".repeat(33);
    let error = Database::builder().prefix(prefix.as_str()).open::<People>(&path).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::Invalid, Some("Person")));
    let words = [prefix.as_str(), "PeopleByEmailAddressAndDepartment"];
    assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    assert!(!path.exists());
    let fits = Database::builder().prefix("x".repeat(30)).open::<People>(&path).await.unwrap();
    fits.ensure_tables().await.unwrap();
}

#[tokio::test]
async fn a_read_only_database_reads_and_writes_nothing_at_all() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    let mut stored = db.insert(&employee(1)).await.unwrap();
    let lines = exported(&db).await.1;
    let reader = Database::builder().read_only().with_store::<Company>(db.store()).await.unwrap();
    let path = || Employee::find().department("d1/ä").id(1);
    assert!(path().exists(&reader).await.unwrap());
    assert!(reader.verify().await.unwrap().is_clean());
    assert_eq!(exported(&reader).await.1, lines);
    db.forget_calls();
    stored.name = "new".into();
    let foreign = lines.replace("\"Company\"", "\"Newcomers\"");
    let refusals = [
        reader.insert(&employee(2)).await.map(drop).unwrap_err(),
        reader.upsert(&employee(2)).await.map(drop).unwrap_err(),
        reader.save(&mut stored).await.unwrap_err(),
        reader.delete(stored).await.unwrap_err(),
        reader.update(path(), |_| Ok(())).await.map(drop).unwrap_err(),
        path().delete_all(&reader).await.map(drop).unwrap_err(),
        reader.ensure_tables().await.unwrap_err(),
        reader.drop_tables().await.unwrap_err(),
        reader.import(foreign.as_bytes()).await.map(drop).unwrap_err(),
    ];
    for (place, error) in refusals.into_iter().enumerate() {
        assert_eq!(*error.kind(), ErrorKind::Denied, "{place}: {error}");
        assert!(error.to_string().contains("read-only"), "{place}: {error}");
    }
    let (tally, calls) = (db.tally(), db.calls());
    assert_eq!((tally.commits, tally.table_calls), (0, 0), "{calls:?}");
}

#[tokio::test]
async fn an_export_that_cannot_be_written_is_told() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let db = TestDatabase::new::<Company>().await.unwrap();
    let error = db.export(&mut Full).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied);
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is full");
}

#[tokio::test]
async fn only_calls_that_an_import_needs_are_made() {
    let db = TestDatabase::new::<Company>().await.unwrap();
    let report = db.bulk().insert_all(stream::iter((0..100).map(employee))).await.unwrap();
    assert_eq!(report.failed.len(), 0);
    let lines = exported(&db).await.1;
    let other = fresh().await;
    other.forget_calls();
    other.import(lines.as_bytes()).await.unwrap();
    // That it begins and ends; 250 rows in three partitions: a table, three batches; the states: a table, a batch; and the registry is read.
    assert_eq!((other.tally().commits, other.tally().table_calls), (2 + 4, 1 + 2));
    let _: Arc<dyn TableStore> = other.store();
    let is_commit = |call: &Call<'_>| matches!(call.request, Request::Commit(_));
    db.fail(move |call: &Call<'_>| is_commit(call).then(|| Fault::error(StoreErrorKind::Denied)));
    let error = db.import(lines.as_bytes()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied, "what no retry helps is not retried");
}
