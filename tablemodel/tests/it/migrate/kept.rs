//! Copies that are kept of a source that is gone, in a form that the next release does not read: no holder is written so that it cannot be
//! read any more, and nothing that was kept is lost unsaid.

mod sources;

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, Row, RowKey, ValueRef, ViolationKind,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, all_rows, assert_clean, next, store_of};

/// Teams have a colour, and the halls that members play in so many seats. A card shows which team its member is of.
mod first {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) colour: String,
    }

    #[derive(Projection)]
    #[table(of = Team)]
    #[allow(dead_code, reason = "the tests look at the rows")]
    pub(super) struct Shirt {
        pub(super) colour: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Halls", partition = "{city}", row = "hall")]
    pub(super) struct Hall {
        pub(super) city: String,
        pub(super) seats: u32,
    }

    #[derive(Projection)]
    #[table(of = Hall)]
    pub(super) struct Seats {
        pub(super) seats: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) city: String,
        pub(super) nick: String,
        #[table(copy_of(Hall, key(city = city)))]
        pub(super) hall: Option<Seats>,
        #[table(copy_of(Team, key(name = team), on_delete = keep))]
        pub(super) shirt: Shirt,
        pub(super) photo: Vec<u8>,
    }

    #[derive(Projection)]
    #[table(of = Member)]
    #[allow(dead_code, reason = "the tests look at the rows")]
    pub(super) struct Side {
        pub(super) nick: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Cards", partition = "{club}", row = "card_{id:04}")]
    pub(super) struct Card {
        pub(super) club: String,
        pub(super) id: u32,
        #[table(copy_of(Member, key(club = club, id = id)))]
        pub(super) side: Option<Side>,
    }

    /// May be without a team.
    #[derive(TableEntity)]
    #[table(name = "Fans", partition = "{club}", row = "f_{id:04}")]
    pub(super) struct Fan {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team), on_delete = keep))]
        pub(super) shirt: Option<Shirt>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Hall(Hall),
        Member(Member),
        Card(Card),
        Fan(Fan),
    }
}

/// The next release: a colour is a number, and a photo perhaps a blob.
macro_rules! release {
    ($name:ident, [$($photo:tt)*] $type:ty, $($frozen:tt)*) => {
        mod $name {
            use tablemodel::{Upgrade, UpgradeError, prelude::*};

            use super::first;
            pub(super) use super::first::{Hall, Seats};

            $($frozen)*

            #[derive(Debug, TableEntity)]
            #[table(name = "Teams", version = 2, previous = first::Team, partition = "{name}", row = "team")]
            pub(super) struct Team {
                pub(super) name: String,
                pub(super) colour: u32,
            }

            impl Upgrade<first::Team> for Team {
                fn upgrade(first::Team { name, colour }: first::Team) -> Result<Self, UpgradeError> {
                    Ok(Self { name, colour: colour.len() as u32 })
                }
            }

            #[derive(Debug, PartialEq, Projection)]
            #[table(of = Team)]
            pub(super) struct Shirt {
                pub(super) colour: u32,
            }

            #[derive(TableEntity)]
            #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
            pub(super) struct Member {
                pub(super) club: String,
                pub(super) id: u32,
                pub(super) team: String,
                pub(super) city: String,
                pub(super) nick: String,
                #[table(copy_of(Hall, key(city = city)))]
                pub(super) hall: Option<Seats>,
                #[table(copy_of(Team, key(name = team), on_delete = keep))]
                pub(super) shirt: Shirt,
                $($photo)*
                pub(super) photo: $type,
            }

            impl Upgrade<MemberV1> for Member {
                fn upgrade(old: MemberV1) -> Result<Self, UpgradeError> {
                    let MemberV1 { club, id, team, city, nick, photo, .. } = old;
                    let (nick, photo) = (nick.to_uppercase(), photo.into());
                    Ok(Self { club, id, team, city, nick, hall: None, shirt: Shirt { colour: 0 }, photo })
                }
            }

            #[derive(Debug, PartialEq, Projection)]
            #[table(of = Member)]
            pub(super) struct Side {
                pub(super) nick: String,
            }

            #[derive(TableEntity)]
            #[table(name = "Cards", partition = "{club}", row = "card_{id:04}")]
            pub(super) struct Card {
                pub(super) club: String,
                pub(super) id: u32,
                #[table(copy_of(Member, key(club = club, id = id)))]
                pub(super) side: Option<Side>,
            }

            #[derive(TableEntity)]
            #[table(name = "Fans", version = 2, previous = FanV1, partition = "{club}", row = "f_{id:04}")]
            pub(super) struct Fan {
                pub(super) club: String,
                pub(super) id: u32,
                pub(super) team: String,
                #[table(copy_of(Team, key(name = team), on_delete = keep))]
                pub(super) shirt: Option<Shirt>,
            }

            impl Upgrade<FanV1> for Fan {
                fn upgrade(FanV1 { club, id, team, .. }: FanV1) -> Result<Self, UpgradeError> {
                    Ok(Self { club, id, team, shirt: None })
                }
            }

            #[derive(TableModel)]
            pub(super) enum Model {
                Team(Team),
                Hall(Hall),
                Member(Member),
                Card(Card),
                Fan(Fan),
            }
        }
    };
}

// Its frozen structs leave copies out, as `diff` writes them..
release! {
    leaves_out, [] Vec<u8>,
    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", frozen, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct MemberV1 {
        club: String,
        id: u32,
        team: String,
        city: String,
        nick: String,
        photo: Vec<u8>,
    }

    #[derive(TableEntity)]
    #[table(name = "Fans", entity_type = "Fan", frozen, partition = "{club}", row = "f_{id:04}")]
    pub(super) struct FanV1 {
        club: String,
        id: u32,
        team: String,
    }
}

// ..or declare them.
release! {
    declares, [] Vec<u8>,
    use super::first::{Fan as FanV1, Member as MemberV1};
}

release! {
    in_blobs, [#[table(blob(inline_below = 0))]] Blob,
    use super::first::{Fan as FanV1, Member as MemberV1};
}

/// So many members that opening does not write them anew: the seventh of the blue team, which is gone, and all others of the red one.
async fn filled(mode: Consistency) -> TestDatabase {
    let store = store_of::<first::Model>(mode).await;
    for name in ["red", "blue"] {
        let team = first::Team { name: name.into(), colour: name.to_uppercase() };
        store.insert(&team).await.expect("written");
    }
    store.insert(&first::Hall { city: "Oslo".into(), seats: 3 }).await.expect("written");
    let (club, city) = ("c".to_owned(), "Oslo".to_owned());
    for id in 0..210 {
        let team = if id == 7 { "blue" } else { "red" }.to_owned();
        let shirt = first::Shirt { colour: String::new() };
        let (city, nick) = (city.clone(), format!("n{id}"));
        let member = first::Member { club: club.clone(), id, team, city, nick, hall: None, shirt, photo: vec![7] };
        store.insert(&member).await.expect("written");
    }
    store.insert(&first::Card { club: club.clone(), id: 7, side: None }).await.expect("written");
    for id in [6, 7] {
        let team = if id == 7 { "blue" } else { "red" }.to_owned();
        store.insert(&first::Fan { club: club.clone(), id, team, shirt: None }).await.expect("written");
    }
    let blue = first::Team::find().name("blue").one(&store).await.expect("read").expect("there");
    store.delete(blue).await.expect("it is let go of");
    store.clock().advance(Duration::from_secs(130));
    store
}

/// The row of the seventh.
async fn seventh(db: &Database, table: &str, row: &str) -> Row {
    db.store().get(table, &RowKey::new("c", row)).await.expect("read").expect("there")
}

/// That the seventh member is as the first release left it, and is told of, alone.
async fn assert_told(db: &Database, told: &str) {
    let row = seventh(db, "Members", "m_0007").await;
    assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String("Member@1")), "{told}");
    assert_eq!(row.properties.get("Shirt_Colour"), Some(ValueRef::String("BLUE")), "{told}");
    let found = db.verify().await.expect("verify runs").violations;
    assert!(found.len() == 1 && found[0].kind == ViolationKind::Corrupt, "{told}: {found:?}");
    assert_eq!((found[0].table.as_str(), found[0].key.row.as_str()), ("Members", "m_0007"), "{told}");
}

macro_rules! kept {
    ($test:ident, $release:ident) => {
        #[tokio::test]
        async fn $test() {
            use $release::{Fan, Hall, Member, Model, Shirt, Team};
            for mode in MODES {
                let told = format!("{mode:?}");
                let store = filled(mode).await;
                let db = next::<Model>(&store).await;
                let applied = db.migrations().apply().await.expect("applied");
                assert!(!applied.is_complete() && applied.failed == 1, "{told}: {applied:?}");
                let failures = db.migrations().failures().await.expect("told");
                assert_eq!(failures[0].key.row, "m_0007", "{told}");
                assert!(failures[0].error.contains("copy `shirt`"), "{told}: {failures:?}");
                assert_told(&db, &told).await;

                // What can be without it is none, and keeps what it has.
                let fan = async |id| {
                    Fan::find().club("c").id(id).one(&db).await.expect("read").expect("there").into_inner().shirt
                };
                assert_eq!((fan(6).await, fan(7).await), (Some(Shirt { colour: 3 }), None), "{told}");
                let row = seventh(&db, "Fans", "f_0007").await;
                assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String("Fan@2")), "{told}");
                assert_eq!(row.properties.get("Shirt_Colour"), Some(ValueRef::String("BLUE")), "{told}");

                // However else it is written, and whatever else it copies.
                let (club, city, nick) = ("c".to_owned(), "Oslo".to_owned(), "N7".to_owned());
                let shirt = Shirt { colour: 0 };
                let photo = vec![8_u8].into();
                let again = Member { club, id: 7, team: "blue".into(), city, nick, hall: None, shirt, photo };
                let refused = db.upsert(&again).await.map(drop).expect_err("it could not be read");
                assert_eq!(refused.kind(), &ErrorKind::Corrupt, "{told}: {refused}");
                db.update(Hall::find().city("Oslo"), |hall| Ok(hall.seats = 9))
                    .await
                    .expect("it holds up nothing else");
                if mode == Consistency::Azure {
                    db.relay().drain().await.expect("drained");
                }
                assert_told(&db, &told).await;
                let repaired = db.repair().await.expect("repaired");
                assert_eq!((repaired.repaired, repaired.left.len()), (0, 1), "{told}: {repaired:?}");
                for id in (0..210).filter(|id| *id != 7) {
                    let member = Member::find().club("c").id(id).one(&db).await.expect("read").expect("there");
                    assert_eq!(member.hall.as_ref().map(|hall| hall.seats), Some(9), "{told}: {id}");
                    assert_eq!(member.shirt, Shirt { colour: 3 }, "{told}: {id}");
                }
                let unread = Member::find().club("c").id(7).one(&db).await.err().expect("it has no shirt that is read");
                assert_eq!(unread.kind(), &ErrorKind::Corrupt, "{told}: {unread}");

                // Once there is a source again, both have it.
                db.insert(&Team { name: "blue".into(), colour: 5 }).await.expect("written");
                assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0, "{told}");
                assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
                assert_clean(&db, &told).await;
                let member = Member::find().club("c").id(7).one(&db).await.expect("read").expect("there");
                assert_eq!((&member.shirt, fan(7).await), (&Shirt { colour: 5 }, Some(Shirt { colour: 5 })), "{told}");
                let is_old = |row: &Row| {
                    row.properties.get("Shirt_Colour").is_some_and(|colour| matches!(colour, ValueRef::String(_)))
                };
                assert!(!all_rows(&db, "Members").await.iter().any(is_old), "{told}");
            }
        }
    };
}

kept!(what_is_kept_in_a_form_that_is_read_no_more_is_told_or_is_none, leaves_out);
kept!(so_it_is_where_the_older_structs_declare_what_they_copy, declares);
kept!(so_it_is_where_blobs_are_put_elsewhere, in_blobs);

/// The source that it waited for comes by a commit, and what its upgrade makes of it was written in that: who copies it did not follow.
#[tokio::test]
async fn who_copies_a_holder_follows_it_once_the_source_that_it_lacked_is_there() {
    use declares::{Card, Member, Model, Shirt, Side, Team};
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = filled(mode).await;
        let db = next::<Model>(&store).await;
        assert_eq!(db.migrations().apply().await.expect("applied").failed, 1, "{told}");
        let side = async || {
            let card = Card::find().club("c").id(7).one(&db).await.expect("read").expect("there");
            card.into_inner().side
        };
        assert_eq!(side().await, Some(Side { nick: "n7".into() }), "{told}");
        db.insert(&Team { name: "blue".into(), colour: 5 }).await.expect("written");
        let member = Member::find().club("c").id(7).one(&db).await.expect("read").expect("there");
        assert_eq!((member.nick.as_str(), &member.shirt), ("N7", &Shirt { colour: 5 }), "{told}");
        assert_eq!(side().await, Some(Side { nick: "N7".into() }), "{told}");
        assert_clean(&db, &told).await;
    }
}

/// It was written as new, and what it copies in a second commit.
#[tokio::test]
async fn a_holder_that_waited_for_its_source_never_stands_as_new_without_it() {
    use declares::{Model, Team};
    let whole = filled(Consistency::Atomic).await;
    assert_eq!(next::<Model>(&whole).await.migrations().apply().await.expect("applied").failed, 1);
    let (mut calls, mut at) = (usize::MAX, 0);
    while at < calls {
        let db = whole.fork().expect("in memory").reopen::<Model>().await.expect("opened");
        db.forget_calls();
        if calls < usize::MAX {
            db.fail(Script::new().at(at, Fault::CrashAfter));
        }
        let _ = db.insert(&Team { name: "blue".into(), colour: 5 }).await;
        (calls, at) = if calls < usize::MAX { (calls, at + 1) } else { (db.calls().len(), 0) };
        let db = db.reopen::<Model>().await.expect("opened");
        for row in all_rows(&db, "Members").await {
            let is_new = row.properties.get("EntityType") == Some(ValueRef::String("Member@2"));
            let is_filled = matches!(row.properties.get("Shirt_Colour"), Some(ValueRef::Int64(_)));
            assert!(is_filled || !is_new, "died after call {at} of {calls}: {row:?}");
        }
    }
    assert!(calls > 4, "{calls} calls");
}
