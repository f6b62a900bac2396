//! Copies that a release has otherwise than the one before: what it copies no more is not kept, and what it must have is there, or is
//! missed.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind, ViolationKind, prelude::*, testing::TestDatabase};

use super::{MODES, all_rows, assert_clean, next, store_of};

/// Members copy the colour and the city of their team, if there is one.
mod first {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) colour: String,
        pub(super) city: String,
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
        pub(super) city: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) shirt: Option<Shirt>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// As `diff` writes it: without the copy.
#[derive(TableEntity)]
#[table(name = "Members", entity_type = "Member", frozen, partition = "{club}", row = "m_{id:04}")]
struct MemberV1 {
    club: String,
    id: u32,
    team: String,
}

/// The colour alone.
mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::MemberV1;
    pub(super) use super::first::Team;

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) shirt: Option<Shirt>,
    }

    impl Upgrade<MemberV1> for Member {
        fn upgrade(MemberV1 { club, id, team }: MemberV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, team, shirt: None })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// The city too, as before.
mod third {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::MemberV1;
    pub(super) use super::first::{Shirt, Team};

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", frozen)]
    #[table(version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct MemberV2 {
        club: String,
        id: u32,
        team: String,
    }

    impl Upgrade<MemberV1> for MemberV2 {
        fn upgrade(MemberV1 { club, id, team }: MemberV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, team })
        }
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 3, previous = MemberV2, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) shirt: Option<Shirt>,
    }

    impl Upgrade<MemberV2> for Member {
        fn upgrade(MemberV2 { club, id, team }: MemberV2) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, team, shirt: None })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// The copy is a must.
mod must {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::MemberV1;
    pub(super) use super::first::{Shirt, Team};

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) shirt: Shirt,
    }

    impl Upgrade<MemberV1> for Member {
        fn upgrade(MemberV1 { club, id, team }: MemberV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, team, shirt: Shirt { colour: String::new(), city: String::new() } })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

fn team(name: &str) -> first::Team {
    first::Team { name: name.into(), colour: name.to_uppercase(), city: "Oslo".into() }
}

/// So many members that opening does not write them anew: all of one team, but for one.
async fn filled(mode: Consistency) -> TestDatabase {
    let db = store_of::<first::Model>(mode).await;
    for name in ["red", "blue"] {
        db.insert(&team(name)).await.expect("written");
    }
    for id in 0..210 {
        let team = if id == 7 { "blue" } else { "red" }.to_owned();
        db.insert(&first::Member { club: "c".into(), id, team, shirt: None }).await.expect("written");
    }
    db.clock().advance(Duration::from_secs(130));
    db
}

#[tokio::test]
async fn what_a_release_copied_no_more_is_not_taken_for_what_the_source_says_by_one_that_copies_it_again() {
    for mode in MODES {
        let store = filled(mode).await;
        let db = next::<second::Model>(&store).await;
        db.migrations().apply().await.expect("applied").into_result().expect("over");
        let rows = all_rows(&db, "Members").await;
        let cities = rows.iter().filter(|row| row.properties.get("Shirt_City").is_some());
        assert_eq!(cities.count(), 0, "{mode:?}: nobody keeps them in step");
        db.update(first::Team::find().name("red"), |team| Ok(team.city = "Rome".into())).await.expect("written");
        assert_clean(&db, &format!("{mode:?}: without cities")).await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));

        let db = next::<third::Model>(&store).await;
        let shirt = || async {
            let member = third::Member::find().club("c").id(1).one(&db).await.expect("read").expect("there");
            member.into_inner().shirt
        };
        assert_eq!(shirt().await, None, "{mode:?}: not of long ago");
        db.migrations().apply().await.expect("applied").into_result().expect("over");
        let whole = first::Shirt { colour: "RED".into(), city: "Rome".into() };
        assert_eq!(shirt().await, Some(whole), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}: with cities again")).await;
    }
}

#[tokio::test]
async fn a_copy_that_becomes_a_must_is_missed_where_its_source_is_gone_until_that_is_there() {
    for mode in MODES {
        let store = filled(mode).await;
        let blue = first::Team::find().name("blue").one(&store).await.expect("read").expect("there");
        store.delete(blue).await.expect("it is let go of");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<must::Model>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(!applied.is_complete() && applied.failed == 1, "{mode:?}: {applied:?}");
        let failures = db.migrations().failures().await.expect("told");
        assert!(failures[0].error.contains("there is no Team"), "{mode:?}: {failures:?}");
        let unread = must::Member::find().club("c").id(7).one(&db).await.err().expect("it has no shirt");
        assert_eq!(unread.kind(), &ErrorKind::Corrupt, "{mode:?}: {unread}");
        let found = db.verify().await.expect("verify runs").violations;
        assert!(found.len() == 1 && found[0].kind == ViolationKind::Corrupt, "{mode:?}: {found:?}");
        assert_eq!(found[0].key.row, "m_0007", "{mode:?}");

        db.insert(&team("blue")).await.expect("written");
        assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0, "{mode:?}");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        let member = must::Member::find().club("c").id(7).one(&db).await.expect("read").expect("there");
        assert_eq!(member.shirt, first::Shirt { colour: "BLUE".into(), city: "Oslo".into() }, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}
