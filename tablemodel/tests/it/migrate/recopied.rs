//! Copies whose source has its properties under other names, or of which more is copied, than what is stored: until `apply` wrote their
//! holders anew.

use std::time::Duration;

use tablemodel::{
    Consistency, Error, ErrorKind, Row, Violation, ViolationKind,
    prelude::*,
    store::fault::{Call, Request},
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, all_rows, assert_clean, next, store_of};

/// As the lock had it.
mod before {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) colour: String,
        pub(super) city: String,
    }

    #[derive(Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team), on_delete = restrict))]
        pub(super) shirt: Shirt,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// A colour is called otherwise, and the city is copied too.
mod after {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before;

    #[derive(Debug, TableEntity)]
    #[table(name = "Teams", version = 2, previous = before::Team, partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) shade: String,
        pub(super) city: String,
    }

    impl Upgrade<before::Team> for Team {
        fn upgrade(before::Team { name, colour, city }: before::Team) -> Result<Self, UpgradeError> {
            Ok(Self { name, shade: colour, city })
        }
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) shade: String,
        pub(super) city: String,
    }

    /// As `diff` writes it: without the copy.
    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", frozen, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct MemberV1 {
        club: String,
        id: u32,
        team: String,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team), on_delete = restrict))]
        pub(super) shirt: Shirt,
    }

    impl Upgrade<MemberV1> for Member {
        fn upgrade(MemberV1 { club, id, team }: MemberV1) -> Result<Self, UpgradeError> {
            let nothing = String::new;
            Ok(Self { club, id, team, shirt: Shirt { shade: nothing(), city: nothing() } })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

async fn filled(mode: Consistency) -> TestDatabase {
    let db = store_of::<before::Model>(mode).await;
    for name in ["red", "blue"] {
        let team = before::Team { name: name.into(), colour: name.to_uppercase(), city: "Oslo".into() };
        db.insert(&team).await.expect("written");
    }
    // So many that opening does not write them anew.
    for id in 0..210 {
        let team = ["red", "blue"][id as usize % 2].to_owned();
        let member =
            before::Member { club: format!("c{}", id % 3), id, team, shirt: before::Shirt { colour: String::new() } };
        db.insert(&member).await.expect("written");
    }
    db.clock().advance(Duration::from_secs(130));
    db
}

#[tokio::test]
async fn a_copy_of_another_form_names_the_migration_that_fills_it_and_nothing_else_is_wrong() {
    for mode in MODES {
        let store = filled(mode).await;
        let db = next::<after::Model>(&store).await;
        let member = || after::Member::find().club("c1").id(1);
        let unread = member().one(&db).await.unwrap_err();
        assert_eq!(unread.kind(), &ErrorKind::Corrupt, "{mode:?}: {unread}");
        assert!(unread.to_string().contains("`Shirt`") && unread.to_string().contains("apply"), "{mode:?}: {unread}");
        let verified = db.verify().await.expect("verify runs");
        let is_stale = |found: &Violation| found.kind == ViolationKind::Stale && found.table == "Members";
        assert_eq!(verified.violations.len(), 210, "{mode:?}");
        assert!(verified.violations.iter().all(is_stale), "{mode:?}: {:?}", verified.violations);

        db.migrations().apply().await.expect("applied").into_result().expect("over");
        let member = member().one(&db).await.expect("readable").expect("there");
        assert_eq!(member.shirt, after::Shirt { shade: "BLUE".into(), city: "Oslo".into() }, "{mode:?}");
        let has_old = |row: &Row| row.properties.get("Shirt_Colour").is_some();
        assert!(!all_rows(&db, "Members").await.iter().any(has_old), "{mode:?}: nothing is left under the old name");
        assert_clean(&db, "applied").await;
    }
}

/// The next release of a holder, whose copy is as it was: its frozen struct is without it, as `diff` writes it.
mod noted {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    pub(super) use super::before::{Shirt, Team};

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", frozen, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct MemberV1 {
        club: String,
        id: u32,
        team: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) side: String,
        #[table(copy_of(Team, key(name = side), on_delete = restrict))]
        pub(super) shirt: Shirt,
    }

    impl Upgrade<MemberV1> for Member {
        fn upgrade(MemberV1 { club, id, team }: MemberV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, side: team, shirt: Shirt { colour: String::new() } })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

async fn team(db: &Database, name: &str) -> Stored<before::Team> {
    before::Team::find().name(name).one(db).await.expect("read").expect("there")
}

fn is_restricted(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Restricted { .. }), "{error}");
}

#[tokio::test]
async fn an_older_holder_that_names_another_source_leaves_nothing_with_the_one_before() {
    for mode in MODES {
        let store = filled(mode).await;
        let db = next::<noted::Model>(&store).await;
        for id in (0..210).filter(|id| id % 2 == 0) {
            let path = noted::Member::find().club(format!("c{}", id % 3)).id(id);
            db.update(path, |member| Ok(member.side = "blue".into())).await.expect("written");
        }
        assert_clean(&db, &format!("{mode:?}")).await;
        db.delete(team(&db, "red").await).await.expect("nobody has it any more");
        is_restricted(&db.delete(team(&db, "blue").await).await.unwrap_err());
        let member = noted::Member::find().club("c1").id(1).one(&db).await.expect("read").expect("there");
        db.delete(member).await.expect("it was written by the first release");
        assert_clean(&db, &format!("{mode:?}: deleted")).await;
    }
}

#[tokio::test]
async fn what_older_holders_have_is_theirs_it_restricts_and_follows_and_is_not_repaired_away() {
    for mode in MODES {
        let store = filled(mode).await;
        let db = next::<noted::Model>(&store).await;
        assert_clean(&db, &format!("{mode:?}: opened")).await;
        for name in ["red", "blue"] {
            is_restricted(&db.delete(team(&db, name).await).await.unwrap_err());
        }
        let change = |team: &mut before::Team| Ok(team.colour = "crimson".into());
        db.update(before::Team::find().name("red"), change).await.expect("written");
        assert_clean(&db, &format!("{mode:?}: followed")).await;
        let member = noted::Member::find().club("c2").id(2).one(&db).await.expect("read").expect("there");
        assert_eq!(member.shirt.colour, "crimson", "{mode:?}");
        let before = all_rows(&db, "Teams").await;
        let repaired = db.repair().await.expect("repaired");
        assert_eq!(repaired.repaired, 0, "{mode:?}: {repaired:?}");
        assert_eq!(all_rows(&db, "Teams").await, before, "{mode:?}");
        db.migrations().apply().await.expect("applied").into_result().expect("over");
        assert_clean(&db, &format!("{mode:?}: applied")).await;
        is_restricted(&db.delete(team(&db, "blue").await).await.unwrap_err());
    }
}

#[tokio::test]
async fn what_an_older_program_left_to_be_delivered_is_delivered_as_it_meant_it() {
    let store = filled(Consistency::Azure).await;
    store.fail(|call: &Call<'_>| match call.request {
        Request::Get(_, key) if key.row.starts_with("~~out|") => Some(Fault::CrashBefore),
        _ => None,
    });
    let shirt = before::Shirt { colour: String::new() };
    let member = before::Member { club: "c1".into(), id: 900, team: "red".into(), shirt };
    let _ = store.insert(&member).await;
    let references = |rows: &[Row]| rows.iter().filter(|row| row.key.row.starts_with("~~ref|")).count();
    store.fail(Script::new());
    let db = store.reopen::<noted::Model>().await.expect("opened");
    db.clock().advance(Duration::from_secs(2_000));
    db.ensure_tables().await.expect("ensured");
    assert!(all_rows(&db, "Members").await.iter().any(|row| row.key.row.starts_with("~~out|")), "it died");
    assert_clean(&db, "delivered").await;
    assert_eq!(references(&all_rows(&db, "Teams").await), 211);
    is_restricted(&db.delete(team(&db, "red").await).await.unwrap_err());
}

/// More is copied, and the struct of the version before declares what it had: of its copy, which is kept when its source goes.
mod declared {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before::Team;

    pub(super) mod old {
        use tablemodel::prelude::*;

        use super::super::before::{Shirt, Team};

        #[derive(TableEntity)]
        #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
        pub(in crate::migrate::recopied) struct Member {
            pub(in crate::migrate::recopied) club: String,
            pub(in crate::migrate::recopied) id: u32,
            pub(in crate::migrate::recopied) team: String,
            #[table(copy_of(Team, key(name = team), on_delete = keep))]
            pub(in crate::migrate::recopied) shirt: Shirt,
        }

        #[derive(TableModel)]
        pub(in crate::migrate::recopied) enum Model {
            Team(Team),
            Member(Member),
        }
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Shirt {
        pub(super) colour: String,
        #[table(default)]
        pub(super) city: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = old::Member, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team), on_delete = keep))]
        pub(super) shirt: Shirt,
    }

    impl Upgrade<old::Member> for Member {
        fn upgrade(old::Member { club, id, team, shirt }: old::Member) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, team, shirt: Shirt { colour: shirt.colour, city: String::new() } })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// Members of the older release, of one team.
async fn declaring(mode: Consistency) -> TestDatabase {
    let store = store_of::<declared::old::Model>(mode).await;
    let red = before::Team { name: "red".into(), colour: "RED".into(), city: "Oslo".into() };
    store.insert(&red).await.expect("written");
    for id in 0..210 {
        let shirt = before::Shirt { colour: String::new() };
        let member = declared::old::Member { club: "c".into(), id, team: "red".into(), shirt };
        store.insert(&member).await.expect("written");
    }
    store.clock().advance(Duration::from_secs(130));
    store
}

async fn shirt(db: &Database, id: u32) -> declared::Shirt {
    let member = declared::Member::find().club("c").id(id).one(db).await.expect("read").expect("there");
    let declared::Shirt { colour, city } = &member.shirt;
    declared::Shirt { colour: colour.clone(), city: city.clone() }
}

#[tokio::test]
async fn more_of_a_source_is_copied_once_it_is_applied_where_the_older_struct_declares_the_copy_too() {
    for mode in MODES {
        let store = declaring(mode).await;
        let db = next::<declared::Model>(&store).await;
        db.migrations().apply().await.expect("applied").into_result().expect("over");
        let whole = declared::Shirt { colour: "RED".into(), city: "Oslo".into() };
        assert_eq!(shirt(&db, 7).await, whole, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn what_is_kept_of_a_source_that_is_gone_stays_with_an_older_holder_however_it_is_written() {
    for mode in MODES {
        let store = declaring(mode).await;
        store.delete(team(&store, "red").await).await.expect("it is let go of");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<declared::Model>(&store).await;
        let kept = declared::Shirt { colour: "RED".into(), city: String::new() };
        db.update(declared::Member::find().club("c").id(1), |_| Ok(())).await.expect("written");
        assert_eq!(shirt(&db, 1).await, kept, "{mode:?}: updated");
        db.migrations().apply().await.expect("applied").into_result().expect("over");
        assert_eq!(shirt(&db, 2).await, kept, "{mode:?}: applied");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}
