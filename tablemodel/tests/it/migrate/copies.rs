//! Copies that are added to entities which are there already: filled, and kept in step from then on.

use std::time::Duration;

use tablemodel::{Consistency, IndexState, prelude::*, testing::TestDatabase};

use super::{MODES, all_rows, assert_clean, first, next, program, store_of};
use crate::crashes::replay;

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
    #[table(name = "Teams", partition = "{league}", row = "t_{number:04}")]
    pub(super) struct Team {
        pub(super) league: String,
        pub(super) number: u32,
        pub(super) club: String,
        pub(super) captain_id: Option<u32>,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "s_{number:04}")]
    pub(super) struct Squad {
        pub(super) club: String,
        pub(super) number: u32,
        pub(super) leader: u32,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Player(Player),
        Team(Team),
        Squad(Squad),
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

/// In another table than its captain; an index shows who that is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Teams", partition = "{league}", row = "t_{number:04}")]
struct Team {
    league: String,
    number: u32,
    club: String,
    captain_id: Option<u32>,
    #[table(copy_of(Player, key(club = club, id = captain_id), on_delete = clear))]
    captain: Option<Card>,
}

/// In the partition of its leader, who stays while it is there.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", partition = "{club}", row = "s_{number:04}")]
struct Squad {
    club: String,
    number: u32,
    leader: u32,
    #[table(copy_of(Player, key(club = club, id = leader), on_delete = restrict))]
    led_by: Option<Card>,
}

#[derive(TableModel)]
enum Model {
    Player(Player),
    Team(Team),
    Squad(Squad),
}

/// The next version of a team has its captain's name.
mod raised {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::{Card, Player};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Teams", entity_type = "Team", frozen, partition = "{league}", row = "t_{number:04}")]
    pub(super) struct TeamV1 {
        pub(super) league: String,
        pub(super) number: u32,
        pub(super) club: String,
        pub(super) captain_id: Option<u32>,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Teams", version = 2, previous = TeamV1, partition = "{league}", row = "t_{number:04}")]
    pub(super) struct Team {
        pub(super) league: String,
        pub(super) number: u32,
        pub(super) club: String,
        pub(super) captain_id: Option<u32>,
        #[table(copy_of(Player, key(club = club, id = captain_id), on_delete = clear))]
        pub(super) captain: Option<Card>,
    }

    impl Upgrade<TeamV1> for Team {
        fn upgrade(TeamV1 { league, number, club, captain_id }: TeamV1) -> Result<Self, UpgradeError> {
            Ok(Self { league, number, club, captain_id, captain: None })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Player(Player),
        Team(Team),
    }
}

const PLAYERS: u32 = 5;

/// A store of the first release; that program has ended.
async fn filled(mode: Consistency, each: u32) -> TestDatabase {
    let db = store_of::<before::Model>(mode).await;
    let club = || "c0".to_owned();
    let players = (0..PLAYERS).map(|id| before::Player { club: club(), id, name: format!("n{id}") });
    let teams = (0..each).map(|number| {
        let captain_id = (number % 6 != 5).then_some(number % 6);
        before::Team { league: format!("l{}", number % 2), number, club: club(), captain_id }
    });
    let squads = (0..each).map(|number| before::Squad { club: club(), number, leader: number % PLAYERS });
    let written = db.bulk().insert_all(futures_util::stream::iter(players)).await.expect("written");
    assert!(written.failed.is_empty(), "{written:?}");
    let written = db.bulk().insert_all(futures_util::stream::iter(teams)).await.expect("written");
    assert!(written.failed.is_empty(), "{written:?}");
    let written = db.bulk().insert_all(futures_util::stream::iter(squads)).await.expect("written");
    assert!(written.failed.is_empty(), "{written:?}");
    db.clock().advance(Duration::from_secs(130));
    db
}

/// That every copy says what its source is, now and after a change of each source.
async fn assert_built(db: &Database, each: u32, told: &str) {
    assert_clean(db, told).await;
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    for round in ["", "again "] {
        let name = async |id: u32| {
            let player = Player::find().club("c0").id(id).one(db).await.expect("read");
            player.map(|player| Card { name: player.name.clone() })
        };
        for number in 0..each {
            let team = Team::find().league(format!("l{}", number % 2)).number(number).one(db).await.unwrap().unwrap();
            let wanted = match team.captain_id {
                Some(id) => name(id).await,
                None => None,
            };
            assert_eq!(team.captain, wanted, "{told}: {round}team {number}");
            let squad = Squad::find().club("c0").number(number).one(db).await.unwrap().unwrap();
            assert_eq!(squad.led_by, name(squad.leader).await, "{told}: {round}squad {number}");
        }
        for id in 0..PLAYERS {
            db.update(Player::find().club("c0").id(id), |player| Ok(player.name += "x")).await.expect("updated");
        }
        if db.consistency() == Consistency::Azure {
            db.relay().drain().await.expect("drained");
        }
    }
    assert_clean(db, told).await;
}

#[tokio::test]
async fn copies_are_filled_and_follow_from_then_on() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = filled(mode, 110).await;
        let db = next::<Model>(&store).await;
        let steps = db.migrations().plan().await.unwrap().steps;
        let named: Vec<_> = steps.iter().map(|step| (step.entity.as_str(), step.index.as_str())).collect();
        assert_eq!(named, [("Team", "~captain"), ("Squad", "~led_by")], "{told}");
        assert_clean(&db, "a copy that is not built may say anything").await;
        let applied = db.migrations().apply().batch(40).await.expect("applied");
        assert!(applied.is_complete() && applied.touched == 220 && applied.failed == 0, "{told}: {applied:?}");
        assert_built(&db, 110, &told).await;
        let held = Player::find().club("c0").id(1).one(&db).await.unwrap().expect("there");
        let error = db.delete(held).await.expect_err("a squad keeps it");
        assert!(matches!(error.kind(), tablemodel::ErrorKind::Restricted { .. }), "{told}: {error}");
    }
}

#[tokio::test]
async fn a_small_store_of_one_program_has_them_with_its_tables() {
    let store = filled(Consistency::Atomic, 8).await;
    let db = next::<Model>(&store).await;
    assert_built(&db, 8, "small").await;
}

#[tokio::test]
async fn what_a_program_without_the_copy_changed_is_copied_all_the_same() {
    let store = filled(Consistency::Azure, 12).await;
    let old = program::<before::Model>(&store).await;
    old.update(before::Player::find().club("c0").id(1), |player| Ok(player.name = "old".into())).await.expect("alive");
    let db = next::<Model>(&store).await;
    let fill = |team: &mut Team| Ok(team.captain_id = Some(1));
    let team = || Team::find().league("l0").number(10);
    db.update(team(), fill).await.expect("written before it is built");
    db.migrations().apply().wait(Duration::from_secs(10)).await.expect_err("it waits for the old program");
    old.update(before::Player::find().club("c0").id(1), |player| Ok(player.name = "older".into()))
        .await
        .expect("still");
    assert_clean(&db, "meanwhile").await;
    let applied = db.migrations().apply().wait(Duration::from_secs(300)).await.expect("applied");
    assert!(applied.is_complete(), "{applied:?}");
    assert_eq!(team().one(&db).await.unwrap().unwrap().captain, Some(Card { name: "older".into() }));
    assert_built(&db, 12, "after").await;
}

/// It may write no team any more, and their captains as ever.
#[tokio::test]
async fn what_a_program_of_a_version_without_the_copy_changed_later_is_copied_with_the_next_application() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = filled(mode, 6).await;
        let db = next::<raised::Model>(&store).await;
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let old = program::<before::Model>(&store).await;
        let captain = before::Player::find().club("c0").id(1);
        old.update(captain, |player| Ok(player.name = "old".into())).await.expect("a player is as it was");
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = program::<raised::Model>(&store).await;
        let steps = db.migrations().plan().await.expect("planned").steps;
        assert!(steps.iter().any(|step| step.index == "~captain"), "{told}: {steps:?}");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        let team = raised::Team::find().league("l1").number(1).one(&db).await.expect("read").expect("there");
        assert_eq!(team.captain, Some(Card { name: "old".into() }), "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn they_are_taken_back_and_built_again_and_dropped() {
    for mode in MODES {
        let store = filled(mode, 110).await;
        let db = next::<Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        let references = async |db: &Database| {
            let rows = all_rows(db, "Club").await;
            rows.iter().filter(|row| row.key.row.starts_with("~~ref|") && row.properties.get("_dead").is_none()).count()
        };
        assert!(references(&db).await > 190, "{mode:?}");
        let gone = db.migrations().rollback().await.expect("taken back");
        assert!(gone.steps.iter().all(|step| step.state == IndexState::Absent), "{gone:?}");
        assert_eq!(references(&db).await, 0, "{mode:?}");
        db.update(Player::find().club("c0").id(2), |player| Ok(player.name = "alone".into())).await.expect("updated");
        assert_clean(&db, "taken back").await;
        db.migrations().apply().await.expect("applied again");
        assert_built(&db, 110, &format!("{mode:?}")).await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<before::Model>(&store).await;
        assert_eq!(db.migrations().plan().await.unwrap().dropped.len(), 2, "{mode:?}");
        db.migrations().contract().await.expect("taken away");
        assert_eq!(references(&db).await, 0, "{mode:?}");
        assert_clean(&db, "dropped").await;
    }
}

/// In one commit over several partitions a source that was not there has left a tombstone, which no model tells of by then.
#[tokio::test]
async fn a_copy_of_what_was_not_there_leaves_nothing_wrong_when_it_is_dropped() {
    const FENCES: Duration = Duration::from_secs(4_000);
    for mode in MODES {
        let store = store_of::<Model>(mode).await;
        let (league, club) = ("l0".to_owned(), "c0".to_owned());
        let db = next::<Model>(&store).await;
        let team = Team { league, number: 1, club, captain_id: Some(9), captain: None };
        db.insert(&team).await.expect("its captain is still to come");
        assert_clean(&db, "awaited").await;
        drop(db);
        store.clock().advance(FENCES);
        let db = next::<before::Model>(&store).await;
        assert_clean(&db, "dropped").await;
        assert_eq!(db.repair().await.expect("repaired").swept, 0, "{mode:?}: whoever has the copy waits for it");
        db.migrations().contract().await.expect("taken away");
        assert_clean(&db, "taken away").await;
        let swept = db.repair().await.expect("repaired").swept;
        assert_eq!(swept, u64::from(mode == Consistency::Atomic), "{mode:?}: nobody does");
        assert!(all_rows(&db, "Club").await.is_empty(), "{mode:?}");
        assert_clean(&db, "repaired").await;
    }
}

#[tokio::test]
async fn the_building_of_copies_that_died_anywhere_is_taken_up() {
    // In the atomic mode it comes with the tables.
    for (mode, each) in [(Consistency::Azure, 1), (Consistency::Atomic, 2)] {
        let calls = replay::<first::Club, _, _>(
            ("copies", 80),
            &filled(mode, each).await,
            async |store| program::<Model>(store).await,
            async |db| {
                db.ensure_tables().await?;
                db.migrations().apply().workers(1).await.map(drop)
            },
            async |store, told| {
                let db = next::<Model>(store).await;
                db.migrations().apply().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
                assert_built(&db, each, told).await;
            },
        )
        .await;
        assert!(calls > 20, "{calls} calls");
    }
}
