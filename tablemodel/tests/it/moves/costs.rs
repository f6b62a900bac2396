//! What writes cost while shadows are written, by the calls that reach the store.

use std::sync::Arc;

use tablemodel::{Consistency, blob::ObjectStore, prelude::*, testing::TestDatabase};

use crate::{
    blob::faulty::FaultyBlobs,
    migrate::{MODES, store_of},
};

/// A note, of one row and without blobs, in a release that moves it nowhere.
mod staying {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) title: String,
        pub(super) stars: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Note(Note),
    }
}

/// The same on its way to another table, in rows of this layout.
macro_rules! moving {
    ($name:ident, [$($layout:tt)*] $(, part = $part:literal)?) => {
        mod $name {
            use tablemodel::{Upgrade, UpgradeError, prelude::*};

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}", moves_to = NoteV2)]
            pub(super) struct Note {
                pub(super) shelf: String,
                pub(super) id: u32,
                pub(super) title: String,
                pub(super) stars: i64,
            }

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Titles", entity_type = "Note", version = 2, $($layout)* partition = "{title}", row = "t_{shelf}_{id:04}")]
            pub(super) struct NoteV2 {
                title: String,
                shelf: String,
                id: u32,
                $(#[table(part = $part)])?
                stars: i64,
            }

            impl Upgrade<Note> for NoteV2 {
                fn upgrade(Note { shelf, id, title, stars }: Note) -> Result<Self, UpgradeError> {
                    Ok(Self { title, shelf, id, stars })
                }
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Model {
                Note(Note),
            }
        }
    };
}

moving!(moving, []);
moving!(parting, [wide,], part = "stars");

/// The calls of an insert, of a save of another value, of one to another key of the new form, of a patch and of a delete.
macro_rules! costs {
    ($release:ident, $mode:expr) => {{
        let db = store_of::<$release::Model>($mode).await;
        let note = |id| $release::Note { shelf: "s".into(), id, title: "a".into(), stars: 1 };
        db.insert(&note(1)).await.expect("the first of its partition");
        db.forget_calls();
        let mut told = Vec::new();
        let mut costs = |db: &TestDatabase| {
            told.push(db.tally().to_string().replace(", 0 scans", ""));
            db.forget_calls();
        };
        let mut one = db.insert(&note(2)).await.expect("inserted");
        costs(&db);
        one.stars = 2;
        db.save(&mut one).await.expect("saved");
        costs(&db);
        one.title = "b".into();
        db.save(&mut one).await.expect("saved");
        costs(&db);
        db.patch($release::Note::find().shelf("s").id(2), $release::Note::STARS.set(3)).await.expect("patched");
        costs(&db);
        let one = $release::Note::find().shelf("s").id(2).one(&db).await.expect("read").expect("there");
        db.forget_calls();
        db.delete(one).await.expect("deleted");
        costs(&db);
        told
    }};
}

#[tokio::test]
async fn what_a_write_costs_while_shadows_are_written() {
    let plain = ["1 commit of 1 operation", "1 commit of 1 operation", "1 commit of 1 operation"];
    let plain = [&plain[..], &["1 point read, 1 commit of 1 operation", "1 commit of 1 operation"]].concat();
    let same = "4 point reads, 3 commits of 4 operations"; // the key, the outbox row, the entity, and the shadow
    let two_keys = "6 point reads, 4 commits of 5 operations";
    let delivered = vec![same, same, two_keys, "5 point reads, 3 commits of 4 operations", same];
    let first = "4 point reads, 1 range query page, 4 commits of 5 operations"; // one is the part's
    let next = "4 point reads, 1 range query page, 5 commits of 6 operations"; // and one takes the old part away
    let two_keys = "6 point reads, 2 range query pages, 6 commits of 7 operations";
    let patch = "5 point reads, 1 range query page, 5 commits of 6 operations";
    let in_parts = vec![first, next, two_keys, patch, first];
    assert_eq!(costs!(staying, Consistency::Azure), plain);
    assert_eq!(costs!(moving, Consistency::Azure), delivered);
    assert_eq!(costs!(parting, Consistency::Azure), in_parts);

    let same = "1 point read, 1 commit of 2 operations";
    let two_keys = "2 point reads, 1 commit of 3 operations";
    let together = vec![same, same, two_keys, "2 point reads, 1 commit of 2 operations", same];
    let first = "1 range query page, 1 commit of 3 operations";
    let next = "1 range query page, 1 commit of 4 operations";
    let two_keys = "2 range query pages, 1 commit of 5 operations";
    let patch = "1 point read, 1 range query page, 1 commit of 4 operations";
    let in_parts = vec![first, next, two_keys, patch, first];
    assert_eq!(costs!(staying, Consistency::Atomic), plain);
    assert_eq!(costs!(moving, Consistency::Atomic), together);
    assert_eq!(costs!(parting, Consistency::Atomic), in_parts);
}

/// With a blob, on its way to another table.
mod linking {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}", moves_to = NoteV2)]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) title: String,
        pub(super) stars: i64,
        #[table(blob(inline_below = 0))]
        pub(super) text: Blob,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Titles", entity_type = "Note", version = 2, partition = "{title}", row = "t_{shelf}_{id:04}")]
    pub(super) struct NoteV2 {
        title: String,
        shelf: String,
        id: u32,
        stars: i64,
        #[table(blob(inline_below = 0))]
        text: Blob,
    }

    impl Upgrade<Note> for NoteV2 {
        fn upgrade(Note { shelf, id, title, stars, text }: Note) -> Result<Self, UpgradeError> {
            Ok(Self { title, shelf, id, stars, text })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Note(Note),
    }
}

async fn counted<M: TableModel>(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>) {
    let mut blobs = None;
    let wrap = |inner| {
        let faulty = Arc::new(FaultyBlobs::new(inner));
        blobs = Some(faulty.clone());
        faulty as Arc<dyn ObjectStore>
    };
    let db = store_of::<M>(mode).await.with_blobs::<M>(wrap).await.expect("opened");
    (db, blobs.expect("wrapped"))
}

#[tokio::test]
async fn what_a_shadow_that_links_a_blob_asks_of_the_object_store() {
    for mode in MODES {
        let (db, blobs) = counted::<linking::Model>(mode).await;
        let calls = || {
            let calls = blobs.calls();
            blobs.heal();
            calls
        };
        blobs.heal();
        let note = linking::Note { shelf: "s".into(), id: 2, title: "a".into(), stars: 1, text: vec![7; 5_000].into() };
        let mut one = db.insert(&note).await.expect("inserted");
        assert_eq!(calls(), 3, "{mode:?}: one is the upload");
        one.stars = 2;
        db.save(&mut one).await.expect("saved");
        assert_eq!(calls(), 2, "{mode:?}");
        for (title, places) in [("b", 2), ("c", 3)] {
            one.title = title.into();
            db.save(&mut one).await.expect("saved");
            assert_eq!(calls(), places + 1, "{mode:?}: the first time at `{title}`");
            one.stars += 1;
            db.save(&mut one).await.expect("saved");
            assert_eq!(calls(), places + 1, "{mode:?}: the second time at `{title}`");
        }
        db.delete(one).await.expect("deleted");
        assert_eq!(calls(), 0, "{mode:?}");
    }
}
