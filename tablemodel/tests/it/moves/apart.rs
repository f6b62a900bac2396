//! An entity that holds a total and is copied: neither can move with it. Both are taken away before, and added after, by the program
//! that runs; every step is online, and what stands at the end is what it would be had there been no move.

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{MODES, assert_clean, program};

/// The release before: a total and copies.
mod tied {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Teams", partition = "{league}", row = "t_{name}")]
    pub(super) struct Team {
        pub(super) league: String,
        pub(super) name: String,
        pub(super) colour: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Members", partition = "{league}", row = "m_{id:06}")]
    #[table(count(Team, key(league = league, name = team), into = members))]
    pub(super) struct Member {
        pub(super) league: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(league = league, name = team), on_delete = keep))]
        pub(super) shirt: Option<Shirt>,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// Nothing ties them any more: what was counted and copied stays as it was written.
macro_rules! apart {
    ($($team:item)*) => {
        use tablemodel::{Upgrade, UpgradeError, prelude::*};

        #[derive(TableEntity)]
        #[table(name = "Members", entity_type = "Member", frozen, partition = "{league}", row = "m_{id:06}")]
        pub(super) struct MemberV1 {
            league: String,
            id: u32,
            team: String,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Members", version = 2, previous = MemberV1, partition = "{league}", row = "m_{id:06}")]
        pub(super) struct Member {
            pub(super) league: String,
            pub(super) id: u32,
            pub(super) team: String,
        }

        impl Upgrade<MemberV1> for Member {
            fn upgrade(MemberV1 { league, id, team }: MemberV1) -> Result<Self, UpgradeError> {
                Ok(Self { league, id, team })
            }
        }

        $($team)*

        #[derive(Debug, TableModel)]
        pub(super) enum Model {
            Team(Team),
            Member(Member),
        }
    };
}

/// A version of the team, at these keys, in which nothing is counted.
macro_rules! team {
    ($name:ident at ($table:literal, $partition:literal, $row:literal), $($words:tt)*) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = $table, entity_type = "Team", partition = $partition, row = $row, $($words)*)]
        pub(super) struct $name {
            pub(super) league: String,
            pub(super) name: String,
            pub(super) colour: String,
            pub(super) members: i64,
        }
    };
}

macro_rules! as_it_was {
    ($old:ident => $new:ident) => {
        impl Upgrade<$old> for $new {
            fn upgrade($old { league, name, colour, members }: $old) -> Result<Self, UpgradeError> {
                Ok(Self { league, name, colour, members })
            }
        }
    };
}

/// The first release: both are taken away, and `members` is a property as any other.
mod alone {
    apart! {
        team!(TeamV1 at ("Teams", "{league}", "t_{name}"), frozen);
        team!(Team at ("Teams", "{league}", "t_{name}"), version = 2, previous = TeamV1);
        as_it_was!(TeamV1 => Team);
    }
}

/// The second: both forms are kept.
mod both {
    apart! {
        team!(Team at ("Teams", "{league}", "t_{name}"), version = 2, moves_to = TeamV3);
        team!(TeamV3 at ("Clubs", "{name}", "c_{league}"), version = 3);
        as_it_was!(Team => TeamV3);
    }
}

/// The third: it takes the new form.
mod moved {
    apart! {
        team!(TeamV2 at ("Teams", "{league}", "t_{name}"), version = 2, frozen);
        team!(Team at ("Clubs", "{name}", "c_{league}"), version = 3, moved_from = TeamV2);
        as_it_was!(TeamV2 => Team);
    }
}

/// The last: tied again, by the new keys.
mod again {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    team!(TeamV3 at ("Clubs", "{name}", "c_{league}"), version = 3, frozen);

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Clubs", version = 4, previous = TeamV3, partition = "{name}", row = "c_{league}")]
    pub(super) struct Team {
        pub(super) league: String,
        pub(super) name: String,
        pub(super) colour: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    as_it_was!(TeamV3 => Team);

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", version = 2, frozen, partition = "{league}", row = "m_{id:06}")]
    pub(super) struct MemberV2 {
        league: String,
        id: u32,
        team: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Members", version = 3, previous = MemberV2, partition = "{league}", row = "m_{id:06}")]
    #[table(count(Team, key(league = league, name = team), into = members))]
    pub(super) struct Member {
        pub(super) league: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(league = league, name = team), on_delete = keep))]
        pub(super) shirt: Option<Shirt>,
    }

    impl Upgrade<MemberV2> for Member {
        fn upgrade(MemberV2 { league, id, team }: MemberV2) -> Result<Self, UpgradeError> {
            Ok(Self { league, id, team, shirt: None })
        }
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

const TEAMS: [&str; 4] = ["Bears", "Cubs", "Doves", "Emus"];
const MEMBERS: u32 = 140;

async fn filled(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<tied::Model>(mode).await;
    for name in TEAMS {
        let (league, name, colour) = ("north".to_owned(), name.to_owned(), "red".to_owned());
        db.insert(&tied::Team { league, name, colour, members: 0 }).await.expect("inserted");
    }
    for id in 0..MEMBERS {
        let (league, team) = ("north".to_owned(), TEAMS[id as usize % 3].to_owned());
        db.insert(&tied::Member { league, id, team, shirt: None }).await.expect("inserted");
    }
    settle(&db).await;
    db.clock().advance(Duration::from_secs(130));
    db
}

/// Delivers what is under way.
async fn settle(db: &Database) {
    if db.consistency() == Consistency::Azure {
        db.relay().drain().await.expect("drained");
    }
}

/// Opens the next release, and does what its plan says: the release before has ended.
async fn released<M: TableModel>(store: &TestDatabase) -> Database {
    store.clock().advance(Duration::from_secs(130));
    let db = program::<M>(store).await;
    db.ensure_tables().await.expect("ensured");
    let applied = db.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{applied:?}");
    db
}

async fn contracted(store: &TestDatabase, db: &Database, told: &str) {
    store.clock().advance(Duration::from_secs(130));
    db.migrations().contract().await.expect("contracted");
    settle(db).await;
    assert_clean(db, told).await;
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
}

/// Each team with its colour and how many it counts, as all rows say.
async fn told_by_rows(db: &Database) -> BTreeMap<String, (String, i64)> {
    let mut teams = BTreeMap::new();
    for name in TEAMS {
        if let Some(team) = again::Team::find().name(name).league("north").one(db).await.expect("read") {
            teams.insert(name.to_owned(), (team.colour.clone(), 0));
        }
    }
    for member in again::Member::find().league("north").all(db).await.expect("read") {
        teams.get_mut(&member.team).expect("a team of its own").1 += 1;
    }
    teams
}

async fn assert_tied(db: &Database, told: &str) {
    settle(db).await;
    assert_clean(db, told).await;
    let teams = told_by_rows(db).await;
    for (name, (_, members)) in &teams {
        let team = again::Team::find().name(name).league("north").one(db).await.unwrap().unwrap();
        assert_eq!(team.members, *members, "{told}: {name}");
    }
    for member in again::Member::find().league("north").all(db).await.expect("read") {
        let shirt = member.shirt.as_ref().map(|shirt| shirt.colour.as_str());
        assert_eq!(shirt, Some(teams[&member.team].0.as_str()), "{told}: {}", member.id);
    }
}

#[tokio::test]
async fn what_cannot_move_with_its_entity_is_taken_away_before_and_added_after() {
    for mode in MODES {
        let store = filled(mode).await;

        let db = released::<alone::Model>(&store).await;
        contracted(&store, &db, "alone").await;
        // What nobody counts and copies goes on changing.
        db.update(alone::Team::find().league("north").name("Cubs"), |team| {
            team.colour = "blue".into();
            Ok(())
        })
        .await
        .expect("updated");
        let (league, team) = ("north".to_owned(), "Emus".to_owned());
        db.insert(&alone::Member { league, id: MEMBERS, team }).await.expect("inserted");

        let db = released::<both::Model>(&store).await;
        assert_clean(&db, "both").await;
        db.update(both::Team::find().league("north").name("Bears"), |team| {
            team.colour = "green".into();
            Ok(())
        })
        .await
        .expect("updated");
        settle(&db).await;
        drop(db);

        let db = released::<moved::Model>(&store).await;
        contracted(&store, &db, "moved").await;
        db.update(moved::Team::find().name("Doves").league("north"), |team| {
            team.colour = "grey".into();
            Ok(())
        })
        .await
        .expect("updated");

        let db = released::<again::Model>(&store).await;
        assert_tied(&db, &format!("{mode:?}: tied again")).await;
        assert_eq!(told_by_rows(&db).await["Doves"], ("grey".to_owned(), 46), "{mode:?}");
        db.update(again::Team::find().name("Cubs").league("north"), |team| {
            team.colour = "white".into();
            Ok(())
        })
        .await
        .expect("updated");
        db.update(again::Member::find().league("north").id(7), |member| {
            member.team = "Emus".into();
            Ok(())
        })
        .await
        .expect("updated");
        contracted(&store, &db, "contracted").await;
        assert_tied(&db, &format!("{mode:?}: and from then on")).await;
    }
}
