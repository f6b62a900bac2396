//! Cursors from release to release, where an entity of one row comes to be several.

use std::ops::Bound;

use tablemodel::{Cursor, prelude::*, testing::TestDatabase};

mod one {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}")]
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
    #[table(name = "Notes", version = 2, previous = NoteV1, partition = "{shelf}", row = "n_{id:04}")]
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

#[tokio::test]
async fn a_cursor_goes_on_where_the_entity_may_be_several_rows_in_one_of_the_releases() {
    let before = TestDatabase::new::<one::Notes>().await.expect("a database");
    for id in 1..=4 {
        before.insert(&one::Note { shelf: "s".into(), id, text: "t".into() }).await.expect("written");
    }
    let after = before.reopen::<several::Notes>().await.expect("opened");
    for range in RANGES {
        let (first, at) = old(&before, range, None).await;
        let (second, at) = new(&after, range, at.as_ref()).await;
        let (third, _) = old(&before, range, at.as_ref()).await;
        assert_eq!([first, second, third], [[1], [2], [3]], "{range:?}");
    }
}
