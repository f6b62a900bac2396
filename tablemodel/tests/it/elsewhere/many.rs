//! An entity with hundreds of rows elsewhere: its outbox rows name them all, and one that could not be named whole is refused
//! before anything is written.

use tablemodel::{
    ErrorKind, RowKey, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::{Script, TestDatabase},
};

use super::{rows_in, settle};
use crate::tools::DieInDelivery;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Notes", entity_type = "Note", partition = "{book}", row = "n_{id:04}")]
#[table(index(by_word, partition = "word_{words}", row = "w_{book}_{id:04}_{title}", each(words), keys_only))]
struct Note {
    book: String,
    id: u32,
    title: String,
    #[table(json)]
    words: Vec<String>,
}

#[derive(TableModel)]
enum Model {
    Note(Note),
}

fn note(words: std::ops::Range<u32>) -> Note {
    let words = words.map(|word| format!("w{word}")).collect();
    Note { book: "A".into(), id: 1, title: "t".repeat(150), words }
}

/// The rows that stand in the table.
async fn count(db: &TestDatabase) -> usize {
    rows_in(&*db.store(), "Notes").await.len()
}

#[tokio::test]
async fn hundreds_of_rows_elsewhere_come_change_and_go_with_their_entity() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let mut stored = db.insert(&note(0..400)).await.unwrap();
    for more in [800, 1_200] {
        stored.words = note(0..more).words;
        db.save(&mut stored).await.expect("four hundred more");
    }
    assert_eq!(count(&db).await, 1_201);
    stored.words = note(5_000..6_200).words;
    db.save(&mut stored).await.expect("all of them others");
    assert_eq!(Note::by_word().words("w6199").all(&db).await.unwrap().len(), 1);
    assert_eq!(Note::by_word().words("w1199").all(&db).await.unwrap().len(), 0);
    assert!(db.verify().await.unwrap().is_clean());
    db.delete(stored).await.expect("it can go, too");
    settle(&db).await;
    db.clock().advance(std::time::Duration::from_secs(3_600));
    settle(&db).await;
    assert_eq!(count(&db).await, 0, "tombstones and outbox rows are swept");
}

/// All rows of the index are in one partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Essays", entity_type = "Essay", partition = "{book}", row = "e_{id:04}")]
#[table(index(by_word, partition = "words", row = "w_{words}_{book}_{id:04}", each(words), keys_only))]
#[table(allow(append_hotspot))]
struct Essay {
    book: String,
    id: u32,
    #[table(json)]
    words: Vec<String>,
}

#[derive(TableModel)]
enum Essays {
    Essay(Essay),
}

/// A walk that read the entity for each of its rows, and told anew what it wants, would take a time that is quadratic in their number.
#[tokio::test]
async fn verify_reads_an_entity_of_many_rows_few_times() {
    const WORDS: u32 = 1_200;
    let notes = TestDatabase::new::<Model>().await.unwrap();
    notes.insert(&note(0..WORDS)).await.unwrap();
    let essays = TestDatabase::new::<Essays>().await.unwrap();
    essays.insert(&Essay { book: "A".into(), id: 1, words: note(0..WORDS).words }).await.unwrap();
    for db in [notes, essays] {
        settle(&db).await;
        db.forget_calls();
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean() && verified.derived == u64::from(WORDS), "{verified:?}");
        let of_entity = db.tally().point_reads - WORDS as usize;
        assert!(of_entity <= 16, "{of_entity} reads of the entity, or of its outbox");
    }
}

/// What is kept of an entity in a walk reports nothing that a fresh look does not find, and hides nothing that was there before.
#[tokio::test]
async fn rows_that_an_entity_of_many_does_not_want_are_found() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&note(0..100)).await.unwrap();
    settle(&db).await;
    for (word, away) in [("w7", true), ("w50", true), ("zz", false)] {
        let (partition, row) = (format!("word_{word}"), format!("w_A_0001_{}", "t".repeat(150)));
        let there = db.store().get("Notes", &RowKey::new("word_w1", row.clone())).await.unwrap().unwrap();
        let action = match away {
            true => Action::Delete(Condition::Exists),
            false => Action::Insert(there.properties),
        };
        db.store().commit(&[Batch::new("Notes", partition).with(row, action)]).await.unwrap();
    }
    let verified = db.verify().await.unwrap();
    let mut told: Vec<_> = verified.violations.iter().map(|it| (it.kind, it.key.partition.as_str())).collect();
    told.sort_unstable();
    let expected = [
        (ViolationKind::Missing, "word_w50"),
        (ViolationKind::Missing, "word_w7"),
        (ViolationKind::Dangling, "word_zz"),
    ];
    assert_eq!(told, expected);
    drop(db.repair().await.unwrap());
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn what_a_crash_left_of_hundreds_of_rows_a_relay_delivers() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.fail(DieInDelivery);
    let _ = db.insert(&note(0..1_000)).await;
    db.fail(Script::new());
    let db = db.reopen::<Model>().await.unwrap();
    let left = rows_in(&*db.store(), "Notes").await;
    let outbox = left.iter().find(|((.., row), _)| row.starts_with("~~out|")).expect("an outbox row");
    assert!(outbox.1.get("_entries_01").is_some(), "the list is in several properties");
    assert_eq!(left.len(), 2);
    settle(&db).await;
    assert_eq!(count(&db).await, 1_001);
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn an_entity_that_could_not_go_any_more_is_refused() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let error = db.insert(&note(0..1_400)).await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooLarge, Some("Note")), "{error}");
    assert!(error.to_string().contains("outbox"), "{error}");
    assert_eq!((count(&db).await, db.tally().commits), (0, 0));
    let mut stored = db.insert(&note(0..1_200)).await.unwrap();
    stored.words = note(0..1_400).words;
    let error = db.save(&mut stored).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::TooLarge, "{error}");
    assert_eq!(count(&db).await, 1_201);
    stored.words = note(8_000..9_200).words;
    db.save(&mut stored).await.expect("as many others");
    db.delete(stored).await.expect("it can go");
}

#[tokio::test]
async fn in_one_commit_with_its_entity_no_list_bounds_its_rows() {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    let stored = db.insert(&note(0..1_400)).await.expect("no outbox row is written");
    assert_eq!(count(&db).await, 1_401);
    db.delete(stored).await.unwrap();
    assert_eq!(count(&db).await, 0);
}
