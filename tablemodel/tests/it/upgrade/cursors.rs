//! Cursors from release to release, where an entity of one row comes to be several.

use std::ops::Bound;

use tablemodel::{Cursor, prelude::*, testing::TestDatabase};

mod one {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}", allow_scan)]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) text: String,
    }

    #[derive(Debug, TableModel)]
    #[allow(dead_code, reason = "read by path")]
    pub(super) enum Notes {
        Note(Note),
    }
}

mod several {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", entity_type = "Note", frozen, partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct NoteV1 {
        shelf: String,
        id: u32,
        text: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", version = 2, previous = NoteV1, partition = "{shelf}", row = "n_{id:04}", allow_scan)]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        #[table(chunked)]
        pub(super) text: String,
    }

    impl Upgrade<NoteV1> for Note {
        fn upgrade(NoteV1 { shelf, id, text }: NoteV1) -> Result<Self, UpgradeError> {
            Ok(Self { shelf, id, text })
        }
    }

    #[derive(Debug, TableModel)]
    #[allow(dead_code, reason = "read by path")]
    pub(super) enum Notes {
        Note(Note),
    }
}

type Range = (Bound<u32>, Bound<u32>);

const RANGES: [Range; 4] = [
    (Bound::Included(1), Bound::Included(3)),
    (Bound::Excluded(0), Bound::Excluded(4)),
    (Bound::Excluded(0), Bound::Included(3)),
    (Bound::Included(1), Bound::Excluded(4)),
];

async fn old(db: &Database, range: Range, cursor: Option<&Cursor>) -> (Vec<u32>, Option<Cursor>) {
    let page = one::Note::find().shelf("s").id_between(range).page(1, cursor, db).await.expect("the same query");
    (page.items.iter().map(|note| note.id).collect(), page.cursor)
}

async fn new(db: &Database, range: Range, cursor: Option<&Cursor>) -> (Vec<u32>, Option<Cursor>) {
    let page = several::Note::find().shelf("s").id_between(range).page(1, cursor, db).await.expect("the same query");
    (page.items.iter().map(|note| note.id).collect(), page.cursor)
}

/// A program of each release over four notes.
async fn programs() -> (TestDatabase, TestDatabase) {
    let before = TestDatabase::new::<one::Notes>().await.expect("a database");
    for id in 1..=4 {
        before.insert(&one::Note { shelf: "s".into(), id, text: "t".into() }).await.expect("written");
    }
    let after = before.reopen::<several::Notes>().await.expect("opened");
    (before, after)
}

#[tokio::test]
async fn a_cursor_goes_on_where_the_entity_may_be_several_rows_in_one_of_the_releases() {
    let (before, after) = programs().await;
    for range in RANGES {
        let (first, at) = old(&before, range, None).await;
        let (second, at) = new(&after, range, at.as_ref()).await;
        let (third, _) = old(&before, range, at.as_ref()).await;
        assert_eq!([first, second, third], [[1], [2], [3]], "{range:?}");
    }
}

#[tokio::test]
async fn so_does_one_of_a_scan() {
    let (before, after) = programs().await;
    let first = one::Note::scan_table().page(1, None, &before).await.expect("read");
    let second = several::Note::scan_table().page(2, first.cursor.as_ref(), &after).await.expect("the same scan");
    let last = one::Note::scan_table().page(1, second.cursor.as_ref(), &before).await.expect("the same scan");
    assert_eq!(first.items[0].id, 1);
    assert_eq!(second.items.iter().map(|note| note.id).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((last.items[0].id, last.cursor), (4, None));
}

#[tokio::test]
async fn so_does_one_of_rows_of_several_types() {
    let (before, after) = programs().await;
    let old = || one::Notes::rows(one::Note::in_partition("s")).row_starts_with("n_");
    let new = || several::Notes::rows(several::Note::in_partition("s")).row_starts_with("n_");
    let first = old().page(1, None, &before).await.expect("read");
    let second = new().page(2, first.cursor.as_ref(), &after).await.expect("the same rows");
    let last = old().page(1, second.cursor.as_ref(), &before).await.expect("the same rows");
    let ids: Vec<_> = second.items.iter().map(|several::Notes::Note(note)| note.id).collect();
    assert_eq!(ids, [2, 3]);
    let [one::Notes::Note(first)] = &first.items[..] else { panic!("one note") };
    let [one::Notes::Note(end)] = &last.items[..] else { panic!("one note") };
    assert_eq!((first.id, end.id, last.cursor), (1, 4, None));
}
