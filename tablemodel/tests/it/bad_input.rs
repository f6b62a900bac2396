//! Bad input: a typed error that says what was wrong and where, before anything is written, and never a value.

use std::{error::Error as _, time::SystemTime};

use tablemodel::{
    Database, DateTime, Error, ErrorKind, Properties, RowKey, Value,
    prelude::*,
    store::{Action, Batch, StoreError, StoreErrorKind},
    testing::{Fault, Script, TestDatabase},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", partition = "{owner:raw}", row = "thing!{name}!{id:03}")]
#[table(index(by_weight, row = "weight_{weight:sortable}_{name}!{id:03}", keys_only))]
#[table(index(by_note, row = "note!{note}!{name}!{id:03}", keys_only))]
struct Thing {
    owner: String,
    name: String,
    id: u32,
    weight: Option<f64>,
    note: Option<String>,
    at: Option<SystemTime>,
    text: String,
    bytes: Vec<u8>,
    small: i8,
}

#[derive(TableModel)]
enum Model {
    Thing(Thing),
}

const SECRET: &str = "hunter2";

/// The field and the index that an error is about.
type About = (Option<&'static str>, Option<&'static str>);

fn thing() -> Thing {
    Thing {
        owner: "o".into(),
        name: "n".into(),
        id: 1,
        weight: None,
        note: None,
        at: None,
        text: SECRET.into(),
        bytes: Vec::new(),
        small: 1,
    }
}

/// The error says who and where, also as data, shows no value, and was made without a single call.
fn check(db: &TestDatabase, error: &Error, about: About, words: &[&str]) {
    let texts = [error.to_string(), format!("{error:?}")];
    assert_eq!(error.entity(), Some("Thing"), "{error}");
    assert_eq!((error.field(), error.index()), about, "{error}");
    for text in &texts {
        assert!(words.iter().all(|word| text.contains(word)), "{text} should name {words:?}");
        assert!(!text.contains(SECRET), "{text}");
    }
    assert_eq!(db.calls(), [], "{error}");
}

#[tokio::test]
async fn what_no_key_can_hold_is_refused_before_any_call() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let long = "x".repeat(1020);
    let owner = (Some("owner"), None);
    let before_1601 = SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(12_000_000_000);
    let cases: [(Thing, ErrorKind, About, &[&str]); 9] = [
        (Thing { owner: "a/b".into(), ..thing() }, ErrorKind::Invalid, owner, &["`owner`", "'/'", "codec"]),
        (Thing { owner: "a\u{7F}".into(), ..thing() }, ErrorKind::Invalid, owner, &["`owner`", "codec"]),
        (Thing { owner: "~~x".into(), ..thing() }, ErrorKind::Invalid, owner, &["~~", "`owner`", "codec"]),
        (
            Thing { owner: "x".repeat(1025), ..thing() },
            ErrorKind::KeyTooLong,
            owner,
            &["1025", "1024", "partition key", "`owner`"],
        ),
        (
            Thing { name: long.clone(), ..thing() },
            ErrorKind::KeyTooLong,
            (Some("name"), None),
            &["1024", "row key", "`name`"],
        ),
        (
            Thing { note: Some(long), ..thing() },
            ErrorKind::KeyTooLong,
            (Some("note"), Some("by_note")),
            &["`by_note`", "`note`", "1024"],
        ),
        (
            Thing { id: 1000, ..thing() },
            ErrorKind::KeyOverflow,
            (Some("id"), None),
            &["`id`", "3 digits", "leave the width out"],
        ),
        (
            Thing { weight: Some(f64::NAN), ..thing() },
            ErrorKind::Invalid,
            (Some("weight"), Some("by_weight")),
            &["`by_weight`", "`weight`", "NaN"],
        ),
        (Thing { at: Some(before_1601), ..thing() }, ErrorKind::Invalid, (Some("at"), None), &["`at`", "1601"]),
    ];
    db.forget_calls();
    for (bad, kind, about, words) in cases {
        let mut batch = db.batch(Thing::in_partition("o"));
        batch.insert(&Thing { id: 2, ..thing() }).insert(&bad);
        let of_batch = batch.commit().await.unwrap_err();
        assert_eq!(of_batch.operation(), Some(1), "{of_batch}");
        for error in [db.insert(&bad).await.unwrap_err(), of_batch] {
            assert_eq!(*error.kind(), kind, "{error}");
            check(&db, &error, about, words);
        }
    }
    let patch = Thing::AT.set(Some(before_1601));
    let error = db.patch(Thing::find().owner("o").name("n").id(1), patch).await.unwrap_err();
    check(&db, &error, (Some("at"), None), &["`at`", "1601"]);
}

#[tokio::test]
async fn a_path_over_values_that_do_not_fit_makes_no_call_either() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.forget_calls();
    let o = || Thing::find().owner("o");
    let (invalid, overflow) = (ErrorKind::Invalid, ErrorKind::KeyOverflow);
    let weightless = Thing::by_weight().owner("o").weight(f64::NAN).all(&db).await;
    let errors = [
        (Thing::find().owner("a/b").all(&db).await.map(drop), &invalid, (Some("owner"), None)),
        (o().name("n").id(1000).one(&db).await.map(drop), &overflow, (Some("id"), None)),
        (o().name("x".repeat(1100)).all(&db).await.map(drop), &ErrorKind::KeyTooLong, (None, None)),
        (o().name("n").id_between(..1000).count(&db).await.map(drop), &overflow, (Some("id"), None)),
        (weightless.map(drop), &invalid, (Some("weight"), Some("by_weight"))),
        (o().name("n").get_many([1, 1000], &db).await.map(drop), &overflow, (Some("id"), None)),
    ];
    for (answer, kind, about) in errors {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), (error.field(), error.index())), (kind, about), "{error}");
        assert_eq!(error.entity(), Some("Thing"), "{error}");
    }
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn what_is_too_large_is_named_by_its_field_and_leaves_nothing() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let cases: [(Thing, &str, &[&str]); 2] = [
        (Thing { text: SECRET.repeat(5_000), ..thing() }, "text", &["`text`", "32768", "chunked"]),
        (Thing { bytes: vec![0; 65_537], ..thing() }, "bytes", &["`bytes`", "65537", "65536", "chunked"]),
    ];
    for (thing, field, words) in cases {
        let error = db.insert(&thing).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::TooLarge, "{error}");
        db.forget_calls();
        check(&db, &error, (Some(field), None), words);
        assert_eq!(error.key(), Some(&RowKey::new("o", "thing!n!001")));
    }
    assert_eq!(Thing::find().owner("o").count(&db).await.unwrap(), 0);
    let fits = Thing { text: "x".repeat(32_768), bytes: vec![0; 65_536], ..thing() };
    db.insert(&fits).await.unwrap();
}

/// With a row for each of its words.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "Texts", partition = "{owner}", row = "text!{id:03}")]
#[table(index(by_word, row = "word!{words}!{id:03}", each(words), keys_only))]
struct Text {
    owner: String,
    id: u32,
    #[table(json)]
    words: Vec<String>,
}

#[derive(TableModel)]
enum Texts {
    Text(Text),
}

#[tokio::test]
async fn one_entity_that_no_batch_takes_is_named_and_is_not_sent_to_bulk() {
    let db = TestDatabase::new::<Texts>().await.unwrap();
    let words = (0..120).map(|word| format!("w{word}")).collect();
    let text = Text { owner: "o".into(), id: 7, words };
    let mut report = db.bulk().insert_iter([text.clone()]).await.unwrap();
    for error in [db.insert(&text).await.unwrap_err(), db.upsert(&text).await.unwrap_err(), report.failed.remove(0)] {
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooMany, Some("Text")), "{error}");
        assert_eq!(error.key(), Some(&RowKey::new("o", "text!007")), "{error}");
        assert!(error.to_string().contains("`each`") && !error.to_string().contains("bulk"), "{error}");
    }
}

#[tokio::test]
async fn what_others_stored_wrongly_is_corrupt_and_never_a_default() {
    let cases: [(&str, Value, &str); 5] = [
        ("Small", Value::String(SECRET.into()), "small"),
        ("Small", Value::Int32(1000), "small"),
        ("Text", Value::Int32(1), "text"),
        ("Bytes", Value::Boolean(true), "bytes"),
        ("At", Value::String(SECRET.into()), "at"),
    ];
    for (name, value, field) in cases {
        let db = TestDatabase::new::<Model>().await.unwrap();
        let stored = db.insert(&Thing { weight: Some(1.0), ..thing() }).await.unwrap();
        let mut properties = stored.row().properties.clone();
        properties.insert(name.to_owned(), value);
        plant(&db, "thing!n!001", properties).await;
        let path = || Thing::find().owner("o").name("n").id(1);
        for error in [
            path().one(&db).await.map(drop).unwrap_err(),
            Thing::find().owner("o").all(&db).await.map(drop).unwrap_err(),
            Thing::by_weight().owner("o").all(&db).await.map(drop).unwrap_err(),
            db.update(path(), |_| Ok(())).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
            assert_eq!(error.key(), Some(&RowKey::new("o", "thing!n!001")));
            db.forget_calls();
            check(&db, &error, (Some(field), None), &[name, "thing!n!001"]);
        }
        assert!(path().exists(&db).await.unwrap(), "it is there, whatever it holds");
    }
}

#[tokio::test]
async fn a_missing_property_and_a_key_of_another_form_are_corrupt_too() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let stored = db.insert(&thing()).await.unwrap();
    let mut properties = stored.row().properties.clone();
    properties.remove("Text");
    plant(&db, "thing!n!001", properties.clone()).await;
    let error = Thing::find().owner("o").all(&db).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (&ErrorKind::Corrupt, Some("text")));
    assert!(error.to_string().contains("Text") && error.to_string().contains("missing"), "{error}");
    plant(&db, "thing!n!1", properties).await;
    let error = Thing::find().owner("o").name("n").all(&db).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
}

async fn plant(db: &TestDatabase, row: &str, properties: Properties) {
    let batch = Batch::new("Things", "o").with(row, Action::InsertOrReplace(properties));
    db.store().commit(&[batch]).await.unwrap();
}

#[tokio::test]
async fn every_error_of_a_store_becomes_the_kind_that_is_documented() {
    let kinds = [
        (StoreErrorKind::TableNotFound, ErrorKind::NotFound),
        (StoreErrorKind::InvalidInput, ErrorKind::Invalid),
        (StoreErrorKind::TooLarge, ErrorKind::TooLarge),
        (StoreErrorKind::InvalidBatch, ErrorKind::Invalid),
        (StoreErrorKind::Closed, ErrorKind::Denied),
        (StoreErrorKind::Denied, ErrorKind::Denied),
        (StoreErrorKind::Corrupt, ErrorKind::Corrupt),
        (StoreErrorKind::Unsupported, ErrorKind::Unsupported),
    ];
    let db = TestDatabase::new::<Model>().await.unwrap();
    for (of_store, kind) in kinds {
        let fault = || Script::new().at(0, Fault::error(of_store));
        db.fail(fault());
        let error = Thing::find().owner("o").name("n").id(1).one(&db).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&kind, Some("Thing")), "{of_store:?}");
        assert_eq!(error.key(), Some(&RowKey::new("o", "thing!n!001")), "{of_store:?}");
        assert_eq!(error.source().unwrap().downcast_ref::<StoreError>().unwrap().kind(), of_store);
        db.fail(fault());
        let error = Thing::find().owner("o").all(&db).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&kind, Some("Thing")), "{of_store:?}");
        db.fail(fault());
        let error = db.insert(&thing()).await.unwrap_err();
        assert_eq!(error.kind(), &kind, "{of_store:?}");
        assert!(!error.is_retryable());
    }
    db.fail(|_: &tablemodel::store::fault::Call<'_>| Some(Fault::error(StoreErrorKind::Unavailable)));
    let error = Thing::find().owner("o").all(&db).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (&ErrorKind::Unavailable, true));
}

#[test]
fn only_unavailable_is_worth_repeating_unchanged() {
    let kinds = [
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::UniqueViolation { index: "i", owner: None },
        ErrorKind::Conflict { current: None },
        ErrorKind::OutcomeUnknown,
        ErrorKind::KeyChanged,
        ErrorKind::KeyTooLong,
        ErrorKind::KeyOverflow,
        ErrorKind::TooLarge,
        ErrorKind::TooMany,
        ErrorKind::WrongPartition,
        ErrorKind::UnknownVersion,
        ErrorKind::IndexNotReady { index: "i" },
        ErrorKind::Denied,
        ErrorKind::Corrupt,
        ErrorKind::Unsupported,
        ErrorKind::Invalid,
    ];
    assert!(kinds.into_iter().all(|kind| !Error::new(kind, "x").is_retryable()));
    assert!(Error::new(ErrorKind::Unavailable, "x").is_retryable());
}

#[tokio::test]
async fn a_write_over_a_row_of_another_type_says_whose_it_is() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let key = db.insert(&thing()).await.unwrap().key().clone();
    let mut moved = db.insert(&Thing { id: 2, ..thing() }).await.unwrap();
    moved.id = thing().id;
    let other = ["a row of `Other` has this key", "a row of `its own`, of another program, has this key"];
    let none = "a row that is no entity's has this key; `adopt` takes such rows over";
    for (written, word) in [("Other@3", other[0]), ("its own", other[1]), ("Thing", none), ("", none)] {
        let row = Properties::from_iter([("EntityType", Value::from(written))]);
        let batch = Batch::new("Things", &*key.partition).with(key.row.clone(), Action::InsertOrReplace(row));
        db.store().commit(&[batch]).await.unwrap();
        let saved = db.save(&mut moved).await.unwrap_err();
        for error in [db.upsert(&thing()).await.unwrap_err(), db.insert(&thing()).await.unwrap_err(), saved] {
            assert_eq!((error.kind(), error.key()), (&ErrorKind::AlreadyExists, Some(&key)));
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Notes", partition = "{owner}", row = "{id:03}", allow_scan)]
#[table(index(by_text, row = "text_{text}_{id:03}"))]
struct Note {
    owner: String,
    id: u32,
    text: String,
}

#[derive(TableModel)]
enum Notes {
    Note(Note),
}

/// Futures, streams and the database travel between threads.
#[test]
fn futures_and_streams_are_send_and_static() {
    fn travels<T: Send + 'static>(_: T) {}
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Database>();
    shared::<Error>();
    #[expect(dead_code, reason = "compiled, not run")]
    fn all(db: &Database) {
        let owner = String::from("o");
        let path = || Thing::find().owner(owner.as_str());
        travels(path().name("n").id(1).one(db));
        travels(path().name("n").id(1).exists(db));
        travels(path().name("n").get_many([1, 2], db));
        travels(path().all(db));
        travels(path().first(1, db));
        travels(path().page(1, None, db));
        travels(path().count(db));
        travels(path().delete_all(db));
        travels(path().stream(db));
        travels(Thing::by_note().owner("o").stream(db));
        travels(Note::scan_table().all(db));
        travels(Note::scan_partition(owner.as_str()).first(1, db));
        travels(Note::scan_table().stream(db));
        travels(Note::scan_table().page(1, None, db));
        travels(Note::scan_table().count(db));
        let rows = || Notes::rows(Note::in_partition(owner.as_str()));
        travels(rows().all(db));
        travels(rows().first(1, db));
        travels(rows().page(1, None, db));
        travels(rows().count(db));
        travels(rows().stream(db));
        travels(db.get_many::<Thing>([]));
        travels(db.find_many([path().name("n").id(1)]));
        travels(|seen: &Seen<Note>| drop::<tablemodel::Running<Stored<Note>>>(seen.load(&db_of())));
        travels(async {
            let db = db_of();
            db.insert(&thing()).await
        });
        travels(async {
            let db = db_of();
            db.export(&mut Vec::new()).await
        });
        travels(async {
            let db = db_of();
            db.import(&b""[..]).await
        });
        travels(async {
            let db = db_of();
            db.verify().await
        });
        travels(async {
            let db = db_of();
            db.bulk().insert_all(futures_util::stream::iter([thing()])).await
        });
        travels(async {
            let db = db_of();
            db.backup("x").await
        });
    }
    fn db_of() -> Database {
        unreachable!("compiled, not run")
    }
    let _ = DateTime::UNIX_EPOCH;
}
