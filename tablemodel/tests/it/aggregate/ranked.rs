//! The least and greatest of texts, dates and `u64`, beside their sources and elsewhere; of targets whose keys hold what
//! separates the pieces of the framework's own.

use chrono::NaiveDate;
use proptest::prelude::*;
use tablemodel::{Consistency, ErrorKind, prelude::*, store::key, testing::TestDatabase};

use super::{MODES, settle};
use crate::crashes::enumerate;

/// A note in a book. Its key is raw, and may end in anything.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Books", partition = "{shelf}", row = "note_{id:raw}")]
#[table(min(Book, key(shelf = shelf, title = book), of = text, into = first))]
#[table(max(Book, key(shelf = shelf, title = book), of = text, into = last))]
#[table(min(Book, key(shelf = shelf, title = book), of = day, into = begun))]
#[table(max(Book, key(shelf = shelf, title = book), of = day, into = ended))]
#[table(min(Book, key(shelf = shelf, title = book), of = serial, into = lowest))]
#[table(max(Book, key(shelf = shelf, title = book), of = serial, into = highest))]
#[table(min(Reader, key(name = reader), of = text, into = first), max(Reader, key(name = reader), of = text, into = last))]
#[table(max(Reader, key(name = reader), of = serial, into = highest), min(Reader, key(name = reader), of = day, into = begun))]
struct Note {
    shelf: String,
    id: String,
    book: String,
    reader: String,
    text: Option<String>,
    day: NaiveDate,
    serial: u64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Books", partition = "{shelf}", row = "b_{title:raw}")]
struct Book {
    shelf: String,
    title: String,
    #[table(aggregate)]
    first: Option<String>,
    #[table(aggregate)]
    last: Option<String>,
    #[table(aggregate)]
    begun: Option<NaiveDate>,
    #[table(aggregate)]
    ended: Option<NaiveDate>,
    #[table(aggregate)]
    lowest: Option<u64>,
    #[table(aggregate)]
    highest: Option<u64>,
}

/// All readers share a partition, each under a raw key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Readers", partition = "readers", row = "{name:raw}", allow(append_hotspot))]
struct Reader {
    name: String,
    #[table(aggregate)]
    first: Option<String>,
    #[table(aggregate)]
    last: Option<String>,
    #[table(aggregate)]
    begun: Option<NaiveDate>,
    #[table(aggregate)]
    highest: Option<u64>,
}

#[derive(TableModel)]
enum Model {
    Note(Note),
    Book(Book),
    Reader(Reader),
}

fn note(id: &str, book: &str, text: &str) -> Note {
    let (text, day) = (Some(text.to_owned()), NaiveDate::from_ymd_opt(2014, 7, 31).unwrap());
    Note { shelf: "A".into(), id: id.into(), book: book.into(), reader: book.into(), text, day, serial: 7 }
}

fn book(title: &str) -> Book {
    let (shelf, title) = ("A".into(), title.into());
    Book { shelf, title, first: None, last: None, begun: None, ended: None, lowest: None, highest: None }
}

fn reader(name: &str) -> Reader {
    Reader { name: name.into(), first: None, last: None, begun: None, highest: None }
}

async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

async fn notes(db: &Database) -> Vec<Note> {
    Note::find().shelf("A").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect()
}

/// What the notes come to, by hand: texts in the order of UTF-16 code units.
fn by_hand(notes: &[Note], is_of: impl Fn(&Note) -> bool) -> Book {
    let own: Vec<_> = notes.iter().filter(|note| is_of(note)).collect();
    let mut texts: Vec<_> = own.iter().filter_map(|note| note.text.clone()).collect();
    texts.sort_by(|a, b| key::compare(a, b));
    let days = || own.iter().map(|note| note.day);
    let serials = || own.iter().map(|note| note.serial);
    let (first, last) = (texts.first().cloned(), texts.last().cloned());
    let (begun, ended) = (days().min(), days().max());
    Book { first, last, begun, ended, lowest: serials().min(), highest: serials().max(), ..book("") }
}

/// That every target, there or not, is what its notes come to.
async fn assert_exact(db: &TestDatabase, titles: &[&str], told: &str) {
    let notes = notes(db).await;
    for title in titles {
        let wanted = by_hand(&notes, |note| note.book == *title);
        let path = || Book::find().shelf("A").title(*title);
        if let Some(found) = path().one(db).await.unwrap() {
            assert_eq!(*found, Book { title: (*title).into(), ..wanted.clone() }, "{told}");
        }
        assert_eq!(db.total(path(), Book::FIRST).await.unwrap(), wanted.first, "{told}: {title}");
        assert_eq!(db.total(path(), Book::LAST).await.unwrap(), wanted.last, "{told}: {title}");
        assert_eq!(db.total(path(), Book::ENDED).await.unwrap(), wanted.ended, "{told}: {title}");
        assert_eq!(db.total(path(), Book::HIGHEST).await.unwrap(), wanted.highest, "{told}: {title}");
        let wanted = by_hand(&notes, |note| note.reader == *title);
        let path = || Reader::find().name(*title);
        if let Some(found) = path().one(db).await.unwrap() {
            let Book { first, last, begun, highest, .. } = wanted.clone();
            assert_eq!(*found, Reader { name: (*title).into(), first, last, begun, highest }, "{told}");
        }
        assert_eq!(db.total(path(), Reader::FIRST).await.unwrap(), wanted.first, "{told}: {title} elsewhere");
        assert_eq!(db.total(path(), Reader::LAST).await.unwrap(), wanted.last, "{told}: {title} elsewhere");
        assert_eq!(db.total(path(), Reader::BEGUN).await.unwrap(), wanted.begun, "{told}: {title} elsewhere");
    }
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:#?}", verified.violations);
}

#[tokio::test]
async fn the_next_text_date_and_number_follow_when_the_first_goes() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&book("b")).await.unwrap();
        db.insert(&reader("b")).await.unwrap();
        let texts = ["", "a", "ab", "a!", "a|b", "B", "é", "\u{FFFD}", "\u{10437}", "~~"];
        for (nth, text) in texts.into_iter().enumerate() {
            let day = NaiveDate::from_ymd_opt(1 + nth as i32 * 1_000, 12, 31).unwrap();
            let serial = u64::MAX - nth as u64 * 3;
            db.insert(&Note { day, serial, ..note(&nth.to_string(), "b", text) }).await.unwrap();
            settle(&db).await;
            assert_exact(&db, &["b"], text).await;
        }
        for nth in [3, 0, 9, 8, 1, 7, 5, 2, 6, 4] {
            let gone = Note::find().shelf("A").id(nth.to_string()).one(&db).await.unwrap().unwrap();
            db.delete(gone).await.unwrap();
            settle(&db).await;
            assert_exact(&db, &["b"], &format!("without {nth}")).await;
        }
    }
}

/// A target's key that goes on as the framework's rows of another's do.
const TITLES: [&str; 8] = [
    "x",
    "x|First",
    "x|First|",
    "x|First|00000000000000000001!y",
    "x|First|061",
    "x|First|061!y|First",
    "x|Highest|00000000000000000007!A!note_1|Highest",
    "x!y",
];

#[tokio::test]
async fn targets_whose_keys_begin_alike_have_each_their_own() {
    for mode in MODES {
        let db = database(mode).await;
        for (nth, title) in TITLES.into_iter().enumerate() {
            if nth % 2 == 0 {
                db.insert(&book(title)).await.unwrap();
                db.insert(&reader(title)).await.unwrap();
            }
            for id in ["", "1", "y|First", "z|"] {
                db.insert(&note(&format!("{nth}{id}"), title, &format!("{id}{nth}"))).await.unwrap();
            }
            settle(&db).await;
        }
        assert_exact(&db, &TITLES, "inserted").await;
        for gone in notes(&db).await {
            let gone = Note::find().shelf("A").id(&gone.id).one(&db).await.unwrap().unwrap();
            db.delete(gone).await.unwrap();
            settle(&db).await;
            assert_exact(&db, &TITLES, "deleted").await;
        }
    }
}

#[tokio::test]
async fn a_text_too_long_for_a_key_is_refused_before_anything_is_written() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&note("1", "b", &"t".repeat(400))).await.unwrap();
        for (id, text) in [("2", "t".repeat(510)), ("3", "\u{10437}".repeat(90))] {
            db.forget_calls();
            let error = db.insert(&note(id, "b", &text)).await.unwrap_err();
            assert_eq!((error.kind(), error.entity()), (&ErrorKind::KeyTooLong, Some("Note")), "{error}");
            assert!(error.to_string().contains("`first`"), "{error}");
            assert!(!db.tally().to_string().contains("commit"), "{}", db.tally());
        }
        settle(&db).await;
        assert_exact(&db, &["b"], "as before").await;
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put { id: u8, title: usize, text: Option<String>, day: i32, serial: u64 },
    Delete(u8),
    Target(usize),
    Untarget(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = || prop::option::of(prop_oneof!["[a-b|!~é]{0,3}", "[\u{E000}-\u{10FFFF}]{0,2}"]);
    let serial = prop_oneof![0..3_u64, u64::MAX - 2..=u64::MAX];
    let put = (0..6_u8, 0..TITLES.len(), text(), 1..4_i32, serial);
    let step = prop_oneof![
        6 => put.prop_map(|(id, title, text, day, serial)| Step::Put { id, title, text, day, serial }),
        3 => (0..6_u8).prop_map(Step::Delete),
        1 => (0..TITLES.len()).prop_map(Step::Target),
        1 => (0..TITLES.len()).prop_map(Step::Untarget),
    ];
    prop::collection::vec(step, 1..20)
}

async fn run(db: &TestDatabase, step: &Step) {
    match step {
        Step::Put { id, title, text, day, serial } => {
            let day = NaiveDate::from_ymd_opt(*day * 3_000, 1, 1).unwrap();
            let of = note(&format!("{id}|"), TITLES[*title], "");
            db.upsert(&Note { text: text.clone(), day, serial: *serial, ..of }).await.unwrap();
        }
        Step::Delete(id) => {
            if let Some(gone) = Note::find().shelf("A").id(format!("{id}|")).one(db).await.unwrap() {
                db.delete(gone).await.unwrap();
            }
        }
        Step::Target(at) => {
            db.upsert(&book(TITLES[*at])).await.unwrap();
            db.upsert(&reader(TITLES[*at])).await.unwrap();
        }
        Step::Untarget(at) => {
            if let Some(gone) = Book::find().shelf("A").title(TITLES[*at]).one(db).await.unwrap() {
                db.delete(gone).await.unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_least_and_greatest_are_those_of_the_sources_after_any_operations(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            for mode in MODES {
                let db = database(mode).await;
                for step in &steps {
                    run(&db, step).await;
                }
                settle(&db).await;
                assert_exact(&db, &TITLES, &format!("{steps:?}")).await;
            }
        });
    }
}

/// The last of the notes goes, and another becomes the first.
async fn act(db: &TestDatabase) -> tablemodel::Result<()> {
    let Some(mut there) = Note::find().shelf("A").id("1|").one(db).await? else { return Ok(()) };
    (there.text, there.serial) = (Some("zz".into()), 9);
    db.save(&mut there).await
}

#[tokio::test]
async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_ranks_of_it() {
    let prepared = async |mode| {
        let db = database(mode).await;
        db.insert(&book("x")).await.unwrap();
        for (id, text) in [("1|", "a"), ("2|", "b"), ("3|", "")] {
            db.insert(&note(id, "x", text)).await.unwrap();
        }
        db.forget_calls();
        db
    };
    let mut points = 0;
    for mode in MODES {
        let of_note =
            async |db: &TestDatabase| Note::find().shelf("A").id("1|").one(db).await.unwrap().map(Stored::into_inner);
        let check = async |db: &TestDatabase, told: &str, _| assert_exact(db, &["x"], told).await;
        let settled = async |db: &TestDatabase| settle(db).await;
        points +=
            enumerate::<Model, _>(&format!("{mode:?}"), async || prepared(mode).await, act, settled, of_note, check)
                .await;
    }
    assert!(points > 40, "{points} points");
}
