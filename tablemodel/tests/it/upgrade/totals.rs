//! Totals of entities whose rows are of a version that did not hold any.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

use super::{super::migrate::next, MODES, assert_clean};

mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Boards", partition = "{board}", row = "board")]
    pub(crate) struct Board {
        pub(crate) board: String,
        pub(crate) motto: String,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Forum {
        Board(Board),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Boards", version = 2, previous = before::Board, partition = "{board}", row = "board")]
struct Board {
    board: String,
    motto: String,
    #[table(aggregate, default)]
    posts: i64,
}

impl Upgrade<before::Board> for Board {
    fn upgrade(old: before::Board) -> Result<Self, UpgradeError> {
        Ok(Self { board: old.board, motto: old.motto, posts: 0 })
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Boards", partition = "{board}", row = "post_{id:04}", count(Board, key(board = board), into = posts))]
struct Post {
    board: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Forum {
    Board(Board),
    Post(Post),
}

#[tokio::test]
async fn the_last_source_of_a_target_of_a_version_without_totals_leaves_nothing() {
    for mode in MODES {
        let old = crate::migrate::store_of::<before::Forum>(mode).await;
        old.insert(&before::Board { board: "b".into(), motto: "On".into() }).await.unwrap();
        let db = next::<Forum>(&old).await;
        let post = db.insert(&Post { board: "b".into(), id: 1 }).await.unwrap();
        assert_eq!(db.total(Board::find().board("b"), Board::POSTS).await.unwrap(), 1);
        assert_clean(&db, "one post").await;
        db.delete(post).await.unwrap();
        assert_clean(&db, "none").await;
        // The board takes its total with its next write.
        db.insert(&Post { board: "b".into(), id: 2 }).await.unwrap();
        let set = |board: &mut Board| {
            board.motto = "Off".into();
            Ok(())
        };
        let board = db.update(Board::find().board("b"), set).await.unwrap();
        assert_eq!((board.motto.as_str(), board.posts), ("Off", 1));
        assert_clean(&db, "another").await;
    }
}

/// The release after, which counts no more: the board says nothing, and posts of before are still counted in its cell.
mod after {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Boards", version = 3, previous = super::Board, partition = "{board}", row = "board")]
    pub(super) struct Board {
        pub(super) board: String,
        pub(super) motto: String,
    }

    impl Upgrade<super::Board> for Board {
        fn upgrade(old: super::Board) -> Result<Self, UpgradeError> {
            Ok(Self { board: old.board, motto: old.motto })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Boards", version = 2, previous = super::Post, partition = "{board}", row = "post_{id:04}")]
    pub(super) struct Post {
        pub(super) board: String,
        pub(super) id: u32,
    }

    impl Upgrade<super::Post> for Post {
        fn upgrade(old: super::Post) -> Result<Self, UpgradeError> {
            Ok(Self { board: old.board, id: old.id })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Forum {
        Board(Board),
        Post(Post),
    }
}

#[tokio::test]
async fn sources_of_a_version_with_a_total_that_none_after_it_has_are_right_as_they_are() {
    for mode in MODES {
        let old = crate::migrate::store_of::<Forum>(mode).await;
        old.insert(&Board { board: "b".into(), motto: "On".into(), posts: 0 }).await.unwrap();
        // More than are migrated with the tables.
        for id in 0..202 {
            old.insert(&Post { board: "b".into(), id }).await.unwrap();
        }
        old.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<after::Forum>(&old).await;
        assert_clean(&db, "as they were").await;
        assert_eq!(db.repair().await.unwrap().repaired, 0, "{mode:?}");
        db.insert(&after::Post { board: "b".into(), id: 300 }).await.unwrap();
        let set = |board: &mut after::Board| {
            board.motto = "Off".into();
            Ok(())
        };
        db.update(after::Board::find().board("b"), set).await.unwrap();
        db.delete(after::Post::find().board("b").id(7).one(&db).await.unwrap().unwrap()).await.unwrap();
        assert_clean(&db, "of both versions").await;
        assert!(db.migrations().apply().await.unwrap().is_complete(), "{mode:?}");
        db.migrations().contract().await.unwrap();
        assert_clean(&db, "as new").await;
    }
}
