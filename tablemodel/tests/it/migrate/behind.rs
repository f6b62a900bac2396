//! Older holders that are behind one of their sources, and cannot be written as new, or not because of another one: nothing of them is lost,
//! and what they lack is told.

use std::time::Duration;

use tablemodel::{
    Consistency, RowKey, ValueRef, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{MODES, assert_clean, next, program, store_of};
use crate::stall::Program;

/// Longer than a lease lives.
const LONG: Duration = Duration::from_secs(130);

/// Two releases: members keep the shirt of a team that is gone, whose colour is a number by now; and how each keeps their photos.
macro_rules! releases {
    ($name:ident, [$($was:tt)*] $old:ty, [$($is:tt)*] $new:ty, |$photo:ident| $made:expr) => {
        mod $name {
            pub(super) mod first {
                use tablemodel::prelude::*;

                #[derive(TableEntity)]
                #[table(name = "Teams", partition = "{name}", row = "team")]
                pub(crate) struct Team {
                    pub(crate) name: String,
                    pub(crate) colour: String,
                }

                #[derive(Projection)]
                #[table(of = Team)]
                #[allow(dead_code, reason = "the tests look at the rows")]
                pub(crate) struct Shirt {
                    pub(crate) colour: String,
                }

                #[derive(TableEntity)]
                #[table(name = "Halls", partition = "{city}", row = "hall")]
                pub(crate) struct Hall {
                    pub(crate) city: String,
                    pub(crate) seats: u32,
                }

                #[derive(Projection)]
                #[table(of = Hall)]
                pub(crate) struct Seats {
                    pub(crate) seats: u32,
                }

                #[derive(TableEntity)]
                #[table(name = "Members", partition = "{club}", row = "m_{id:04}")]
                pub(crate) struct Member {
                    pub(crate) club: String,
                    pub(crate) id: u32,
                    pub(crate) team: String,
                    pub(crate) city: String,
                    #[table(copy_of(Hall, key(city = city)))]
                    pub(crate) hall: Option<Seats>,
                    #[table(copy_of(Team, key(name = team), on_delete = keep))]
                    pub(crate) shirt: Shirt,
                    $($was)*
                    pub(crate) photo: $old,
                }

                #[derive(TableModel)]
                pub(crate) enum Model {
                    Team(Team),
                    Hall(Hall),
                    Member(Member),
                }
            }

            pub(super) mod second {
                use tablemodel::{Upgrade, UpgradeError, prelude::*};

                use super::first;
                pub(crate) use super::first::{Hall, Seats};

                #[derive(TableEntity)]
                #[table(name = "Teams", version = 2, previous = first::Team, partition = "{name}", row = "team")]
                pub(crate) struct Team {
                    pub(crate) name: String,
                    pub(crate) colour: u32,
                }

                impl Upgrade<first::Team> for Team {
                    fn upgrade(first::Team { name, colour }: first::Team) -> Result<Self, UpgradeError> {
                        Ok(Self { name, colour: colour.len() as u32 })
                    }
                }

                #[derive(Projection)]
                #[table(of = Team)]
                pub(crate) struct Shirt {
                    pub(crate) colour: u32,
                }

                #[derive(TableEntity)]
                #[table(name = "Members", version = 2, previous = first::Member, partition = "{club}", row = "m_{id:04}")]
                pub(crate) struct Member {
                    pub(crate) club: String,
                    pub(crate) id: u32,
                    pub(crate) team: String,
                    pub(crate) city: String,
                    #[table(copy_of(Hall, key(city = city)))]
                    pub(crate) hall: Option<Seats>,
                    #[table(copy_of(Team, key(name = team), on_delete = keep))]
                    pub(crate) shirt: Shirt,
                    $($is)*
                    pub(crate) photo: $new,
                }

                impl Upgrade<first::Member> for Member {
                    fn upgrade(old: first::Member) -> Result<Self, UpgradeError> {
                        let first::Member { club, id, team, city, photo: $photo, .. } = old;
                        Ok(Self { club, id, team, city, hall: None, shirt: Shirt { colour: 0 }, photo: $made })
                    }
                }

                #[derive(TableModel)]
                pub(crate) enum Model {
                    Team(Team),
                    Hall(Hall),
                    Member(Member),
                }
            }
        }
    };
}

releases!(in_rows, [] Vec<u8>, [] Vec<u8>, |photo| photo);
releases!(uploaded, [] Vec<u8>, [#[table(blob(inline_below = 0))]] Blob, |photo| photo.into());
releases!(fetched, [#[table(blob(inline_below = 0))]] Blob, [] Vec<u8>, |photo| photo.content()?.to_vec());

/// Before each call of who inserts the team once more, which another program does not find yet, that one changes the hall.
macro_rules! late {
    ($test:ident, $releases:ident) => {
        #[tokio::test]
        async fn $test() {
            use $releases::{first, second};
            for mode in MODES {
                let whole = store_of::<first::Model>(mode).await;
                let (team, city) = ("blue".to_owned(), "Oslo".to_owned());
                whole.insert(&first::Team { name: team.clone(), colour: "BLUE".into() }).await.expect("written");
                whole.insert(&first::Hall { city: city.clone(), seats: 3 }).await.expect("written");
                let shirt = first::Shirt { colour: String::new() };
                let photo = vec![7_u8; 3].into();
                let member = first::Member { club: "c".into(), id: 7, team, city, hall: None, shirt, photo };
                whole.insert(&member).await.expect("written");
                let blue = first::Team::find().name("blue").one(&whole).await.expect("read").expect("there");
                whole.delete(blue).await.expect("it is let go of");
                whole.clock().advance(LONG);
                for at in 0.. {
                    let told = format!("{mode:?}, before call {at}");
                    let store = whole.fork().expect("in memory");
                    let other = program::<second::Model>(&store).await;
                    let meanwhile = async move {
                        let hall = second::Hall::find().city("Oslo");
                        other.update(hall, |hall| Ok(hall.seats = 9)).await.expect("it is held up by nothing");
                    };
                    let late = Program::sleeping::<second::Model>(&store, at, Box::pin(meanwhile)).await;
                    late.db.insert(&second::Team { name: "blue".into(), colour: 5 }).await.expect("written");
                    if stringify!($releases) == "uploaded" && mode == Consistency::Atomic {
                        assert_eq!(late.db.repair().await.expect("repaired").left, [], "{told}");
                    }
                    assert_clean(&late.db, &told).await;
                    let found =
                        second::Member::find().club("c").id(7).one(&late.db).await.expect("read").expect("there");
                    let seats = if late.has_stalled() { 9 } else { 3 };
                    let copied = (found.hall.as_ref().map(|hall| hall.seats), found.shirt.colour);
                    assert_eq!(copied, (Some(seats), 5), "{told}");
                    if !late.has_stalled() {
                        assert!(at > 3, "{told}");
                        break;
                    }
                }
            }
        }
    };
}

late!(a_source_that_changes_while_another_is_inserted_is_followed, in_rows);
late!(so_it_is_by_holders_whose_blobs_are_put_elsewhere, uploaded);
late!(so_it_is_by_holders_whose_upgrade_fetches_a_blob, fetched);

/// The release before shirts.
mod plain {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) colour: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Halls", partition = "{city}", row = "hall")]
    pub(super) struct Hall {
        pub(super) city: String,
        pub(super) seats: u32,
    }

    #[derive(Projection)]
    #[table(of = Hall)]
    #[allow(dead_code, reason = "the tests look at the rows")]
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
        pub(super) goals: u32,
        #[table(copy_of(Hall, key(city = city)))]
        pub(super) hall: Option<Seats>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Hall(Hall),
        Member(Member),
    }
}

/// The one in which every member must have one.
mod added {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::plain;
    pub(super) use super::plain::{Hall, Seats, Team};

    #[derive(Projection)]
    #[table(of = Team)]
    #[allow(dead_code, reason = "the tests look at the rows")]
    pub(super) struct Shirt {
        pub(super) colour: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", version = 2, previous = plain::Member, partition = "{club}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
        pub(super) city: String,
        pub(super) goals: u32,
        #[table(copy_of(Hall, key(city = city)))]
        pub(super) hall: Option<Seats>,
        #[table(copy_of(Team, key(name = team), on_delete = keep))]
        pub(super) shirt: Shirt,
    }

    impl Upgrade<plain::Member> for Member {
        fn upgrade(old: plain::Member) -> Result<Self, UpgradeError> {
            let plain::Member { club, id, team, city, goals, .. } = old;
            Ok(Self { club, id, team, city, goals, hall: None, shirt: Shirt { colour: 0 } })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Team(Team),
        Hall(Hall),
        Member(Member),
    }
}

/// Two members, of whom one has no team.
async fn filled(mode: Consistency) -> TestDatabase {
    let store = store_of::<plain::Model>(mode).await;
    store.insert(&plain::Team { name: "red".into(), colour: 3 }).await.expect("written");
    store.insert(&plain::Hall { city: "Oslo".into(), seats: 3 }).await.expect("written");
    for (id, team) in [(1, "red"), (7, "blue")] {
        let (club, city) = ("c".into(), "Oslo".into());
        let member = plain::Member { club, id, team: team.into(), city, goals: 0, hall: None };
        store.insert(&member).await.expect("written");
    }
    store.clock().advance(LONG);
    store
}

/// That the member without a team, which is behind its hall, is told of for that it lacks, and nothing is said to be put right.
async fn assert_told(db: &Database, seats: u32, told: &str) {
    db.update(added::Hall::find().city("Oslo"), |hall| Ok(hall.seats = seats)).await.expect("written");
    if db.consistency() == Consistency::Azure {
        db.relay().drain().await.expect("drained");
    }
    let repaired = db.repair().await.expect("repaired");
    assert_eq!((repaired.repaired, repaired.left.len()), (0, 1), "{told}: {repaired:?}");
    let (of, _) = &repaired.left[0];
    assert_eq!((of.kind, of.key.row.as_str()), (ViolationKind::Corrupt, "m_0007"), "{told}: {of}");
    assert!(of.detail.contains("copy `shirt`"), "{told}: {of}");
}

#[tokio::test]
async fn an_older_holder_that_lacks_what_it_must_copy_is_not_said_to_be_put_right() {
    for mode in MODES {
        let (store, told) = (filled(mode).await, format!("{mode:?}"));
        let early = program::<added::Model>(&store).await;
        assert_told(&early, 9, &told).await;
        drop(early);
        store.clock().advance(LONG);
        let db = next::<added::Model>(&store).await;
        assert_eq!(db.migrations().apply().await.expect("applied").failed, 1, "{told}");
        assert_told(&db, 10, &told).await;
        db.insert(&added::Team { name: "blue".into(), colour: 5 }).await.expect("written");
        assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0, "{told}");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn an_older_holder_is_written_beside_a_source_that_cannot_be_read() {
    for mode in MODES {
        let (store, told) = (filled(mode).await, format!("{mode:?}"));
        let set = async |kind: &str| {
            let changed = tablemodel::Properties::from_iter([("EntityType", kind)]);
            let batch = Batch::new("Halls", "Oslo").with("hall", Action::Merge(changed, Condition::Exists));
            store.store().commit(&[batch]).await.expect("written");
        };
        let db = program::<added::Model>(&store).await;
        set("Hall@x").await;
        db.patch(added::Member::find().club("c").id(1), added::Member::GOALS.set(1_u32)).await.expect("written");
        let row = store.store().get("Members", &RowKey::new("c", "m_0001")).await.expect("read").expect("there");
        assert_eq!(row.properties.get("EntityType"), Some(ValueRef::String("Member@2")), "{told}");
        assert_eq!(row.properties.get("Hall_Seats"), Some(ValueRef::Int64(3)), "{told}");
        set("Hall@1").await;
        assert_clean(&db, &told).await;
    }
}
