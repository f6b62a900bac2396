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
