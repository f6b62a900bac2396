//! Patches of entities that show older programs what they are, while copies and lists of theirs are not complete: nothing is taken for
//! absent that was not read.

use tablemodel::{Consistency, Downgrade, Result, Upgrade, UpgradeError, prelude::*, testing::TestDatabase};

use super::MODES;
use crate::migrate::next;

/// The release before: no copies, and a list of all.
mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    pub(super) struct Player {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Team", partition = "{club}", row = "t_{number:04}")]
    #[table(list(of_stars, row = "stars_{stars}"))]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) number: u32,
        pub(super) captain: Option<u32>,
        pub(super) motto: String,
        pub(super) stars: i32,
        pub(super) loud: bool,
        pub(super) wins: i64,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Player(Player),
        Team(Team),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
struct Player {
    club: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Player)]
struct Card {
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", version = 2, previous = before::Team, readable_by = 1, downgrade)]
#[table(partition = "{club}", row = "t_{number:04}")]
#[table(list(of_stars, row = "stars_{stars}", when = loud))]
struct Team {
    club: String,
    number: u32,
    captain: Option<u32>,
    slogan: String,
    stars: i32,
    loud: bool,
    wins: i64,
    #[table(copy_of(Player, key(club = club, id = captain)))]
    card: Option<Card>,
}

impl Upgrade<before::Team> for Team {
    fn upgrade(old: before::Team) -> Result<Self, UpgradeError> {
        let before::Team { club, number, captain, motto, stars, loud, wins } = old;
        Ok(Self { club, number, captain, slogan: motto, stars, loud, wins, card: None })
    }
}

impl Downgrade<before::Team> for Team {
    fn downgrade(&self) -> before::Team {
        let Self { club, number, captain, slogan, stars, loud, wins, .. } = self.clone();
        before::Team { club, number, captain, motto: slogan, stars, loud, wins }
    }
}

#[derive(Debug, TableModel)]
enum Model {
    Player(Player),
    Team(Team),
}

/// A store of the release before, of which so many entities are there that nothing is built unasked.
async fn older(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<before::Model>(mode).await;
    let players = (0..210).map(|id| before::Player { club: "c".into(), id, name: format!("n{id}") });
    let report = db.bulk().insert_all(futures_util::stream::iter(players)).await.unwrap();
    assert!(report.failed.is_empty());
    for number in [7, 8] {
        db.insert(&before::Team {
            club: "c".into(),
            number,
            captain: Some(2),
            motto: "m".into(),
            stars: 3,
            loud: true,
            wins: 0,
        })
        .await
        .unwrap();
    }
    db
}

fn team(number: u32) -> Team {
    Team { club: "c".into(), number, captain: Some(1), slogan: "s".into(), stars: 3, loud: true, wins: 0, card: None }
}

#[tokio::test]
async fn a_patch_keeps_copies_and_lists_that_are_not_complete_yet() {
    for mode in MODES {
        let db = older(mode).await.reopen::<Model>().await.unwrap();
        db.ensure_tables().await.unwrap();
        for number in 1..=2 {
            let inserted = db.insert(&team(number)).await.unwrap();
            assert_eq!(inserted.card, Some(Card { name: "n1".into() }), "{mode:?}");
        }
        let path = |number: u32| Team::find().club("c").number(number);
        for number in [1, 2, 7] {
            db.patch(path(number), Team::WINS.set(3))
                .await
                .unwrap_or_else(|error| panic!("{mode:?} {number}: {error:?}"));
            let name = if number == 7 { "n2" } else { "n1" };
            let patched = path(number).one(&db).await.unwrap().expect("there");
            assert_eq!(
                (patched.wins, patched.card.clone()),
                (3, Some(Card { name: name.into() })),
                "{mode:?} {number}"
            );
        }
        let db = next::<Model>(&db).await;
        let applied = db.migrations().apply().await.unwrap();
        assert!(applied.is_complete(), "{mode:?}: {applied:?}");
        let listed = Team::of_stars().club("c").stars(3).keys(&db).await.unwrap();
        assert_eq!(listed.len(), 4, "{mode:?}: {listed:?}");
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}
