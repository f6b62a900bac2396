//! Sources and holders of an older version whose upgrade reads a blob: they are written as new before anything is copied.

use tablemodel::{prelude::*, testing::TestDatabase};

use super::settle;

mod old {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) title: String,
        #[table(blob(inline_below = 0))]
        pub(super) body: Blob,
    }

    #[derive(Projection)]
    #[table(of = Note)]
    pub(super) struct Title {
        pub(super) title: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Cards", partition = "{drawer}", row = "c_{id:04}")]
    pub(super) struct Card {
        pub(super) drawer: String,
        pub(super) id: u32,
        pub(super) shelf: String,
        pub(super) note: u32,
        #[table(copy_of(Note, key(shelf = shelf, id = note)))]
        pub(super) of: Option<Title>,
        #[table(blob(inline_below = 0))]
        pub(super) body: Blob,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
        Card(Card),
    }
}

mod new {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::old;

    #[derive(Debug, TableEntity)]
    #[table(name = "Notes", version = 2, previous = old::Note, partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) title: String,
        pub(super) body: Vec<u8>,
    }

    impl Upgrade<old::Note> for Note {
        fn upgrade(old: old::Note) -> Result<Self, UpgradeError> {
            let body = old.body.content()?.to_vec();
            Ok(Self { shelf: old.shelf, id: old.id, title: old.title, body })
        }
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Note)]
    pub(super) struct Title {
        pub(super) title: String,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Cards", version = 2, previous = old::Card, partition = "{drawer}", row = "c_{id:04}")]
    pub(super) struct Card {
        pub(super) drawer: String,
        pub(super) id: u32,
        pub(super) shelf: String,
        pub(super) note: u32,
        #[table(copy_of(Note, key(shelf = shelf, id = note)))]
        pub(super) of: Option<Title>,
        pub(super) body: Vec<u8>,
    }

    impl Upgrade<old::Card> for Card {
        fn upgrade(old: old::Card) -> Result<Self, UpgradeError> {
            let body = old.body.content()?.to_vec();
            let of = old.of.map(|of| Title { title: of.title });
            Ok(Self { drawer: old.drawer, id: old.id, shelf: old.shelf, note: old.note, of, body })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
        Card(Card),
    }
}

/// The new release, with the struct of older cards as `diff` writes it: without the copy.
mod frozen {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::new::{Note, Title};

    #[derive(TableEntity)]
    #[table(name = "Cards", entity_type = "Card", frozen, partition = "{drawer}", row = "c_{id:04}")]
    pub(super) struct CardV1 {
        drawer: String,
        id: u32,
        shelf: String,
        note: u32,
        #[table(blob)]
        body: Blob,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Cards", version = 2, previous = CardV1, partition = "{drawer}", row = "c_{id:04}")]
    pub(super) struct Card {
        pub(super) drawer: String,
        pub(super) id: u32,
        pub(super) shelf: String,
        pub(super) note: u32,
        #[table(copy_of(Note, key(shelf = shelf, id = note)))]
        pub(super) of: Option<Title>,
        pub(super) body: Vec<u8>,
    }

    impl Upgrade<CardV1> for Card {
        fn upgrade(old: CardV1) -> Result<Self, UpgradeError> {
            let body = old.body.content()?.to_vec();
            Ok(Self { drawer: old.drawer, id: old.id, shelf: old.shelf, note: old.note, of: None, body })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
        Card(Card),
    }
}

/// Stores of the old release with one note, which so many cards copy.
async fn stores(cards: u32) -> [TestDatabase; 2] {
    let stores =
        [TestDatabase::new::<old::Model>().await.unwrap(), TestDatabase::atomic::<old::Model>().await.unwrap()];
    for db in &stores {
        let note = old::Note { shelf: "s".into(), id: 1, title: "old".into(), body: Blob::from(&b"note"[..]) };
        db.insert(&note).await.unwrap();
        for id in 0..cards {
            let (drawer, shelf, body) = ("d".into(), "s".into(), Blob::from(&b"card"[..]));
            db.insert(&old::Card { drawer, id, shelf, note: 1, of: None, body }).await.unwrap();
        }
        settle(db).await;
    }
    stores
}

async fn assert_copied(db: &TestDatabase, cards: usize, title: &str) {
    settle(db).await;
    let read = new::Card::find().drawer("d").all(db).await.unwrap();
    assert_eq!(read.len(), cards);
    for card in read {
        assert_eq!(card.of, Some(new::Title { title: title.into() }), "{:?}: {}", db.consistency(), card.id);
    }
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{:?}: {:?}", db.consistency(), verified.violations);
}

#[tokio::test]
async fn a_source_whose_upgrade_reads_a_blob_is_copied_and_verified() {
    for store in stores(2).await {
        let db = store.reopen::<new::Model>().await.unwrap();
        assert_copied(&db, 2, "old").await;
        let (drawer, shelf) = ("d".to_owned(), "s".to_owned());
        db.insert(&new::Card { drawer, id: 7, shelf, note: 1, of: None, body: Vec::new() }).await.unwrap();
        assert_copied(&db, 3, "old").await;
    }
}

#[tokio::test]
async fn holders_whose_upgrade_reads_a_blob_follow_however_many_stand_together() {
    for cards in [1, 3, 4, 30] {
        for store in stores(cards).await {
            let db = store.reopen::<new::Model>().await.unwrap();
            let path = new::Note::find().shelf("s").id(1);
            db.update(path, |note| Ok(note.title = "new".into())).await.unwrap();
            assert_copied(&db, cards as usize, "new").await;
        }
    }
}

#[tokio::test]
async fn so_do_those_whose_frozen_struct_leaves_the_copy_out() {
    for cards in [1, 3, 30] {
        for store in stores(cards).await {
            let db = store.reopen::<frozen::Model>().await.unwrap();
            let verified = db.verify().await.unwrap();
            assert!(verified.is_clean(), "{:?}: {:?}", db.consistency(), verified.violations);
            let path = new::Note::find().shelf("s").id(1);
            db.update(path, |note| Ok(note.title = "new".into())).await.unwrap();
            settle(&db).await;
            let read = frozen::Card::find().drawer("d").all(&db).await.unwrap();
            assert_eq!(read.len(), cards as usize);
            let is_new = |card: &Stored<frozen::Card>| card.of.as_ref().is_some_and(|of| of.title == "new");
            assert!(read.iter().all(is_new), "{:?}", db.consistency());
            let verified = db.verify().await.unwrap();
            assert!(verified.is_clean(), "{:?}: {:?}", db.consistency(), verified.violations);
        }
    }
}
