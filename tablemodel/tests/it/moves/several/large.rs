//! Entities whose new form is more rows, or more bytes, than one batch takes.

use tablemodel::{ErrorKind, Upgrade, UpgradeError, prelude::*};

use super::{MODES, assert_clean, next, program};
use crate::migrate::{all_rows, store_of};

/// So many bytes are more than one batch takes.
const BYTES: usize = 5 * 1024 * 1024;

mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Books", entity_type = "Book", partition = "{shelf}", row = "b_{id:05}", wide)]
    pub(super) struct Book {
        pub(super) shelf: String,
        pub(super) id: u32,
        #[table(chunked)]
        pub(super) text: String,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Book(Book),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Books", partition = "{shelf}", row = "b_{id:05}", wide, moves_to = BookV2)]
struct Book {
    shelf: String,
    id: u32,
    #[table(chunked)]
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Volumes", entity_type = "Book", version = 2, partition = "{id:05}", row = "v_{shelf}", wide)]
struct BookV2 {
    shelf: String,
    id: u32,
    #[table(chunked)]
    text: String,
    #[table(chunked)]
    index: Vec<u8>,
}

/// The index is as long as the first word says.
impl Upgrade<Book> for BookV2 {
    fn upgrade(Book { shelf, id, text }: Book) -> Result<Self, UpgradeError> {
        let length = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Ok(Self { shelf, id, text, index: vec![7; length] })
    }
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Model {
    Book(Book),
}

mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Books", entity_type = "Book", frozen, partition = "{shelf}", row = "b_{id:05}", wide)]
    pub(super) struct BookV1 {
        pub(super) shelf: String,
        pub(super) id: u32,
        #[table(chunked)]
        pub(super) text: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Volumes", version = 2, partition = "{id:05}", row = "v_{shelf}", wide, moved_from = BookV1)]
    pub(super) struct Book {
        pub(super) shelf: String,
        pub(super) id: u32,
        #[table(chunked)]
        pub(super) text: String,
        #[table(chunked)]
        pub(super) index: Vec<u8>,
    }

    impl Upgrade<BookV1> for Book {
        fn upgrade(BookV1 { shelf, id, text }: BookV1) -> Result<Self, UpgradeError> {
            let old = super::Book { shelf, id, text };
            let super::BookV2 { shelf, id, text, index } = super::BookV2::upgrade(old)?;
            Ok(Self { shelf, id, text, index })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Model {
        Book(Book),
    }
}

fn text(index: usize, words: usize) -> String {
    format!("{index} {}", "word ".repeat(words))
}

#[tokio::test]
async fn an_entity_that_takes_several_batches_moves_whole_changes_and_goes() {
    for mode in MODES {
        let store = store_of::<before::Model>(mode).await;
        let db = program::<before::Model>(&store).await;
        let book = |id, text| before::Book { shelf: "A".into(), id, text };
        db.insert(&book(1, text(BYTES, 1_000_000))).await.expect("written");
        db.insert(&book(2, text(10, 1))).await.expect("written");
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));

        let db = next::<Model>(&store).await;
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        assert_clean(&db, "applied").await;
        let find = |id| Book::find().shelf("A").id(id);
        for (id, new) in [(1, text(BYTES / 2, 10)), (2, text(BYTES, 900_000)), (1, text(BYTES, 5))] {
            let mut book = find(id).one(&db).await.expect("read").expect("there");
            book.text = new;
            db.save(&mut book).await.unwrap_or_else(|error| panic!("{mode:?}: {error:?}"));
            assert_clean(&db, "saved").await;
        }
        let beyond = db.update(find(2), |book| {
            book.text = text(99 * 1024 * 1024, 1);
            Ok(())
        });
        let refused = beyond.await.expect_err("more than an entity may be");
        assert_eq!(refused.kind(), &ErrorKind::TooLarge, "{mode:?}: {refused:?}");
        let texts = [text(BYTES, 5), text(BYTES, 900_000)];
        drop(db);

        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        for switched in [false, true] {
            for (id, text) in [1, 2].into_iter().zip(&texts) {
                let book = second::Book::find().id(id).shelf("A").one(&db).await.expect("read").expect("there");
                assert_eq!((&book.text, book.index.len()), (text, BYTES), "{mode:?} {switched}");
            }
            db.migrations().contract().await.expect("switched");
        }
        assert!(all_rows(&db, "Books").await.is_empty(), "{mode:?}");
        for id in [1, 2] {
            let book = second::Book::find().id(id).shelf("A").one(&db).await.expect("read").expect("there");
            db.delete(book).await.expect("deleted");
        }
        assert_clean(&db, "deleted").await;
        assert!(all_rows(&db, "Volumes").await.is_empty(), "{mode:?}");
    }
}
