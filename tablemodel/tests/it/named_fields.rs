//! Whose field an error names: that of the struct which is written, also where the key at fault is another entity's; and in a batch
//! the operation with it. And what an error is as text.

use std::{
    error::Error as _,
    time::{Duration, SystemTime},
};

use tablemodel::{Error, ErrorKind, prelude::*, testing::TestDatabase};

/// Copied by desks.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "person_{id:03}")]
struct Person {
    team: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Person)]
struct Card {
    name: String,
}

/// Counts desks.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "floor_{id:02}")]
struct Floor {
    team: String,
    id: u32,
    #[table(aggregate)]
    desks: i64,
}

/// Properties of the desk's own row.
#[derive(Debug, Clone, PartialEq, Property)]
struct Lease {
    until: Option<SystemTime>,
}

/// Its `id` is neither the person's nor the floor's.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "desk_{id:06}")]
#[table(index(by_badge, table = "Badges", partition = "{badge:04}", row = "{team}_{id:06}", keys_only))]
#[table(count(Floor, key(team = team, id = level), into = desks))]
struct Desk {
    team: String,
    id: u32,
    level: u32,
    badge: u32,
    sitter: Option<u32>,
    #[table(copy_of(Person, key(team = team, id = sitter)))]
    who: Option<Card>,
    #[table(flatten)]
    lease: Lease,
}

#[derive(TableModel)]
enum Staff {
    Person(Person),
    Floor(Floor),
    Desk(Desk),
}

fn desk(id: u32) -> Desk {
    Desk { team: "t".into(), id, level: 1, badge: 1, sitter: None, who: None, lease: Lease { until: None } }
}

fn check(error: &Error, kind: &ErrorKind, about: (&str, Option<&str>), word: &str) {
    assert_eq!((error.kind(), error.entity()), (kind, Some("Desk")), "{error}");
    assert_eq!((error.field(), error.index()), (Some(about.0), about.1), "{error}");
    assert!(error.to_string().contains(word), "{error} should name {word}");
}

#[tokio::test]
async fn a_field_is_that_of_the_struct_which_is_written_alone_or_in_a_batch() {
    let db = TestDatabase::new::<Staff>().await.unwrap();
    let before_1601 = SystemTime::UNIX_EPOCH - Duration::from_secs(12_000_000_000);
    let overflow = ErrorKind::KeyOverflow;
    let cases = [
        (Desk { sitter: Some(1_000), ..desk(2) }, &overflow, ("sitter", None), "copy `who`"),
        (Desk { level: 100, ..desk(2) }, &overflow, ("level", None), "aggregate `desks`"),
        (Desk { badge: 10_000, ..desk(2) }, &overflow, ("badge", Some("by_badge")), "index `by_badge`"),
        (Desk { id: 1_000_000, ..desk(2) }, &overflow, ("id", None), "`id`"),
        (
            Desk { lease: Lease { until: Some(before_1601) }, ..desk(2) },
            &ErrorKind::Invalid,
            ("until", None),
            "field `until`",
        ),
    ];
    for (bad, kind, about, word) in cases {
        let error = db.insert(&bad).await.unwrap_err();
        check(&error, kind, about, word);
        assert_eq!(error.operation(), None, "{error}");
        let mut batch = db.batch(Desk::in_partition("t"));
        batch.insert(&desk(1)).insert(&bad);
        let error = batch.commit().await.unwrap_err();
        check(&error, kind, about, word);
        assert_eq!(error.operation(), Some(1), "{error}");
    }
    assert_eq!(Desk::find().team("t").count(&db).await.unwrap(), 0);
}

#[tokio::test]
async fn a_taken_value_and_what_is_no_single_fields_fault_name_no_field() {
    let db = crate::writes::database().await;
    let (first, second) = (crate::writes::member("A", 1), crate::writes::member("A", 2));
    db.insert(&first).await.unwrap();
    let taken = db.insert(&crate::writes::Member { email: first.email.clone(), ..second }).await.unwrap_err();
    assert_eq!((taken.field(), taken.index()), (None, Some("by_email")), "{taken}");
    let exists = db.insert(&first).await.unwrap_err();
    assert_eq!((exists.field(), exists.index()), (None, None), "{exists}");
}

#[test]
fn an_error_is_one_sentence_and_keeps_its_kind_and_source_in_debug() {
    let error = Error::new(ErrorKind::TooMany, "too many rows");
    assert_eq!(error.to_string(), "too many rows");
    assert_eq!(format!("{error:?}"), "TooMany: too many rows");
    assert!(error.source().is_none());
}
