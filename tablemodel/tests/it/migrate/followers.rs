//! Older holders that follow their source: as many as there are, whatever counts them, and with those that copy them in turn.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Properties,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{MODES, assert_clean, next, store_of};

/// Members copy their team, which counts them and knows the latest of them; badges copy members.
mod before {
    use tablemodel::prelude::*;

    #[derive(Clone, TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) title: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Title {
        pub(super) title: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) nick: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Member)]
    pub(super) struct Nick {
        pub(super) nick: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Badges", partition = "{number:06}", row = "badge")]
    pub(super) struct Badge {
        pub(super) number: u32,
        pub(super) club: String,
        pub(super) id: u32,
        #[table(copy_of(Member, key(club = club, id = id)))]
        pub(super) bearer: Option<Nick>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
        Badge(Badge),
    }

    #[derive(TableModel)]
    pub(super) enum WithoutBadges {
        Team(Team),
        Member(Member),
    }
}

/// Nicks are in capitals.
mod after {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before;
    pub(super) use super::before::{Team, Title};

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = before::Member, partition = "{club}", row = "m_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) nick: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    impl Upgrade<before::Member> for Member {
        fn upgrade(old: before::Member) -> Result<Self, UpgradeError> {
            let before::Member { club, id, team, nick, of } = old;
            Ok(Self { club, id, team, nick: nick.to_uppercase(), of })
        }
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Member)]
    pub(super) struct Nick {
        pub(super) nick: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Badges", partition = "{number:06}", row = "badge")]
    pub(super) struct Badge {
        pub(super) number: u32,
        pub(super) club: String,
        pub(super) id: u32,
        #[table(copy_of(Member, key(club = club, id = id)))]
        pub(super) bearer: Option<Nick>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
        Badge(Badge),
    }

    #[derive(TableModel)]
    pub(super) enum WithoutBadges {
        Team(Team),
        Member(Member),
    }
}

/// Titles are in capitals too.
mod both {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before;

    #[derive(TableEntity)]
    #[table(name = "Teams", version = 2, previous = before::Team, partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) title: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    impl Upgrade<before::Team> for Team {
        fn upgrade(before::Team { name, title, members }: before::Team) -> Result<Self, UpgradeError> {
            Ok(Self { name, title: title.to_uppercase(), members })
        }
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Title {
        pub(super) title: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = before::Member, partition = "{club}", row = "m_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) nick: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    impl Upgrade<before::Member> for Member {
        fn upgrade(old: before::Member) -> Result<Self, UpgradeError> {
            let before::Member { club, id, team, nick, of } = old;
            Ok(Self { club, id, team, nick: nick.to_uppercase(), of: of.map(|of| Title { title: of.title }) })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// So many that opening does not write them anew.
const MEMBERS: u32 = 230;

/// All in one team; one in ten has a badge, if there are any.
async fn filled<M: TableModel>(mode: Consistency, badges: bool) -> TestDatabase {
    let db = store_of::<M>(mode).await;
    db.insert(&before::Team { name: "red".into(), title: "Reds".into(), members: 0 }).await.expect("written");
    for id in 0..MEMBERS {
        let (club, nick) = (format!("c{}", id % 60), format!("n{id}"));
        let member = before::Member { club: club.clone(), id, team: "red".into(), nick, of: None };
        db.insert(&member).await.expect("written");
        if badges && id % 10 == 0 {
            let badge = before::Badge { number: id, club, id, bearer: None };
            db.insert(&badge).await.expect("written");
        }
    }
    db.clock().advance(Duration::from_secs(130));
    db
}

async fn assert_followed(db: &Database, title: &str, told: &str) {
    for id in 0..MEMBERS {
        let member = after::Member::find().club(format!("c{}", id % 60)).id(id).one(db).await.expect("read");
        let member = member.expect("there");
        assert_eq!(member.nick, format!("N{id}"), "{told}");
        assert_eq!(member.of, Some(after::Title { title: title.into() }), "{told}: {id}");
    }
    let team = after::Team::find().name("red").one(db).await.expect("read").expect("there");
    assert_eq!(team.members, i64::from(MEMBERS), "{told}");
}

/// Changes the team by the new release; its members follow.
async fn change_of_team(db: &Database, told: &str) {
    let mut team = after::Team::find().name("red").one(db).await.expect("read").expect("there");
    let mut read = team.clone();
    team.title = "Crimsons".into();
    db.save(&mut team).await.expect("written");
    assert_clean(db, &format!("{told}: saved")).await;
    assert_followed(db, "Crimsons", &format!("{told}: saved")).await;
    // What was saved is current, and what was read before is not.
    team.title = "Reds".into();
    db.save(&mut team).await.expect("written");
    let stale = db.save(&mut read).await.unwrap_err();
    assert!(matches!(stale.kind(), ErrorKind::Conflict { .. }), "{told}: {stale}");
    assert_clean(db, &format!("{told}: again")).await;
    assert_followed(db, "Reds", &format!("{told}: again")).await;
}

#[tokio::test]
async fn a_source_is_changed_however_many_older_holders_it_counts() {
    for mode in MODES {
        let store = filled::<before::WithoutBadges>(mode, false).await;
        let db = next::<after::WithoutBadges>(&store).await;
        change_of_team(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn who_copies_an_older_holder_follows_what_its_upgrade_makes_of_it() {
    for mode in MODES {
        let store = filled::<before::Model>(mode, true).await;
        let db = next::<after::Model>(&store).await;
        change_of_team(&db, &format!("{mode:?}")).await;
        for id in (0..MEMBERS).step_by(10) {
            let badge = after::Badge::find().number(id).one(&db).await.expect("read").expect("there");
            assert_eq!(badge.bearer, Some(after::Nick { nick: format!("N{id}") }), "{mode:?}: {id}");
        }
    }
}

#[tokio::test]
async fn who_copies_an_older_holder_that_is_repaired_follows_it_too() {
    for mode in MODES {
        let store = filled::<before::Model>(mode, true).await;
        let mut stale = Properties::new();
        stale.insert("Of_Title", "Blues");
        let damage = Batch::new("Members", "c10").with("m_0010", Action::Merge(stale, Condition::Exists));
        store.store().commit(&[damage]).await.expect("damaged");
        let db = next::<after::Model>(&store).await;
        let repaired = db.repair().await.expect("repaired");
        assert_eq!((repaired.repaired, repaired.left), (1, Vec::new()), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
        let badge = after::Badge::find().number(10).one(&db).await.expect("read").expect("there");
        assert_eq!(badge.bearer, Some(after::Nick { nick: "N10".into() }), "{mode:?}");
    }
}

#[tokio::test]
async fn a_source_and_all_that_it_counts_are_written_as_new_by_one_migration() {
    for mode in MODES {
        let store = filled::<before::WithoutBadges>(mode, false).await;
        let db = next::<both::Model>(&store).await;
        let applied = db.migrations().apply().await.expect("applied").into_result().expect("over");
        assert_eq!((applied.failed, applied.left), (0, 0), "{mode:?}: {applied:?}");
        assert_clean(&db, &format!("{mode:?}: applied")).await;
        for id in 0..MEMBERS {
            let member = both::Member::find().club(format!("c{}", id % 60)).id(id).one(&db).await.expect("read");
            let of = member.expect("there").into_inner().of;
            assert_eq!(of, Some(both::Title { title: "REDS".into() }), "{mode:?}: {id}");
        }
        let team = both::Team::find().name("red").one(&db).await.expect("read").expect("there");
        assert_eq!((team.title.as_str(), team.members), ("REDS", i64::from(MEMBERS)), "{mode:?}");
    }
}

/// Members add their points to a row of their own beside the team.
mod scored {
    use tablemodel::prelude::*;

    pub(super) use super::before::{Team, Title};

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{team}", row = "score_{id:04}")]
    pub(super) struct Score {
        pub(super) team: String,
        pub(super) id: u32,
        #[table(aggregate)]
        pub(super) points: i64,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    #[table(sum(Score, key(team = team, id = id), of = points, into = points))]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) points: i64,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Score(Score),
        Member(Member),
    }
}

/// Points are ten times as many.
mod rescored {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::scored;
    pub(super) use super::scored::{Score, Team, Title};

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = scored::Member, partition = "{club}", row = "m_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    #[table(sum(Score, key(team = team, id = id), of = points, into = points))]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) points: i64,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    impl Upgrade<scored::Member> for Member {
        fn upgrade(old: scored::Member) -> Result<Self, UpgradeError> {
            let scored::Member { club, id, team, points, of } = old;
            Ok(Self { club, id, team, points: 10 * points, of })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Score(Score),
        Member(Member),
    }
}

/// Each of those targets is written by the commit too, and no change of the caller's is about it.
#[tokio::test]
async fn older_holders_may_add_to_as_many_targets_beside_their_source() {
    for mode in MODES {
        let store = store_of::<scored::Model>(mode).await;
        store.insert(&scored::Team { name: "red".into(), title: "Reds".into(), members: 0 }).await.expect("written");
        for id in 0..MEMBERS {
            store.insert(&scored::Score { team: "red".into(), id, points: 0 }).await.expect("written");
            let club = format!("c{}", id % 60);
            let member = scored::Member { club, id, team: "red".into(), points: id.into(), of: None };
            store.insert(&member).await.expect("written");
        }
        store.clock().advance(Duration::from_secs(130));
        let db = next::<rescored::Model>(&store).await;
        db.update(rescored::Team::find().name("red"), |team| Ok(team.title = "Crimsons".into()))
            .await
            .expect("written");
        assert_clean(&db, &format!("{mode:?}")).await;
        for id in 0..MEMBERS {
            let score = rescored::Score::find().team("red").id(id).one(&db).await.expect("read").expect("there");
            assert_eq!(score.points, 10 * i64::from(id), "{mode:?}");
            let member = rescored::Member::find().club(format!("c{}", id % 60)).id(id).one(&db).await.expect("read");
            let of = member.expect("there").into_inner().of;
            assert_eq!(of, Some(rescored::Title { title: "Crimsons".into() }), "{mode:?}: {id}");
        }
    }
}
