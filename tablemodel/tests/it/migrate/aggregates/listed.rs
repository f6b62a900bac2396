//! A list or a unique index over entities that count others, while it is being built: whoever writes what is counted is not
//! held up by it.

use tablemodel::{Consistency, IndexState, prelude::*, testing::TestDatabase};

use super::super::{MODES, next, states};

mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    #[table(count(Team, key(club = club, name = team), into = members))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team_{name}")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) name: String,
        pub(super) motto: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Team(Team),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", partition = "{club}", row = "team_{name}")]
#[table(list(of_motto, row = "l_{motto}"), index(by_motto, row = "m_{motto}", unique, keys_only))]
struct Team {
    club: String,
    name: String,
    motto: String,
    #[table(aggregate)]
    members: i64,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Club {
    Person(before::Person),
    Team(Team),
}

fn person(club: &str, id: u32) -> before::Person {
    before::Person { club: club.into(), id, team: "t".into() }
}

/// A database whose new list and index wait in the state write-only, since one entity can be in neither.
async fn waiting(mode: Consistency) -> (TestDatabase, Database) {
    let store = crate::migrate::store_of::<before::Club>(mode).await;
    for (club, motto) in [("bad", "m".repeat(1_025)), ("good", "m".into())] {
        store.insert(&before::Team { club: club.into(), name: "t".into(), motto, members: 0 }).await.expect("inserted");
        store.insert(&person(club, 0)).await.expect("inserted");
    }
    store.clock().advance(std::time::Duration::from_secs(130));
    let db = next::<Club>(&store).await;
    assert!(!db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
    assert!(states(&db).await.iter().all(|state| *state == IndexState::WriteOnly), "{mode:?}");
    (store, db)
}

#[tokio::test]
async fn what_is_counted_is_written_while_a_list_of_the_target_is_being_built() {
    for mode in MODES {
        let (_store, db) = waiting(mode).await;
        for club in ["good", "bad"] {
            for id in 1..4 {
                db.insert(&person(club, id)).await.expect("inserted");
            }
            let person = before::Person::find().club(club).id(2).one(&db).await.unwrap().expect("it is there");
            db.delete(person).await.expect("deleted");
            let team = Team::find().club(club).name("t").one(&db).await.unwrap().expect("it is there");
            assert_eq!(team.members, 3, "{mode:?}");
        }
        db.update(Team::find().club("bad").name("t"), |team| Ok(team.motto = "n".into())).await.expect("put right");
        assert_eq!(db.migrations().retry_failures().await.expect("tried"), 0, "{mode:?}");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        for (club, motto) in [("good", "m"), ("bad", "n")] {
            let listed = Team::of_motto().club(club).motto(motto).all(&db).await.expect("readable");
            assert_eq!(listed.iter().map(|team| team.members).collect::<Vec<_>>(), [3], "{mode:?}");
        }
        super::assert_clean(&db, &format!("{mode:?}")).await;
    }
}
