//! Holders of copies with an index over all partitions that is still being built: who writes their source claims for them,
//! and hears nothing of others who write the holder.

use futures_util::FutureExt;
use tablemodel::{Consistency, IndexState, Result, prelude::*, testing::TestDatabase};

use super::settle;
use crate::{
    migrate::{next, states},
    stall::Program,
};

mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Staff", partition = "{team}", row = "m_{id:04}")]
    pub(super) struct Member {
        pub(super) team: String,
        pub(super) id: u32,
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Member)]
    pub(super) struct Card {
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Staff", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) title: String,
        pub(super) badge: u32,
        pub(super) leader: u32,
        #[table(copy_of(Member, key(team = name, id = leader)))]
        pub(super) led_by: Option<Card>,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Member(Member),
        Team(Team),
    }
}

use before::{Card, Member};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{name}", row = "team")]
#[table(index(by_badge, table = "Badges", partition = "{badge:04}", row = "badge", unique, keys_only))]
struct Team {
    name: String,
    title: String,
    badge: u32,
    leader: u32,
    #[table(copy_of(Member, key(team = name, id = leader)))]
    led_by: Option<Card>,
}

#[derive(Debug, TableModel)]
enum Model {
    Member(Member),
    Team(Team),
}

/// A store whose new index waits, since two teams have one badge.
async fn waiting() -> TestDatabase {
    let store = TestDatabase::new::<before::Model>().await.unwrap();
    for (name, badge) in [("A", 1), ("B", 2), ("C", 2)] {
        let team = before::Team { name: name.into(), title: "first".into(), badge, leader: 1, led_by: None };
        store.insert(&team).await.unwrap();
    }
    store.insert(&Member { team: "A".into(), id: 1, name: "Ann".into() }).await.unwrap();
    settle(&store).await;
    store.clock().advance(std::time::Duration::from_secs(130));
    let db = next::<Model>(&store).await;
    assert_eq!(db.consistency(), Consistency::Azure);
    assert!(!db.migrations().apply().await.unwrap().is_complete());
    assert_eq!(states(&db).await, [IndexState::WriteOnly]);
    store
}

async fn rename(db: &Database) -> Result<()> {
    let mut leader = Member::find().team("A").id(1).one(db).await?.expect("nobody else takes it");
    leader.name = "Eva".into();
    db.save(&mut leader).await
}

#[tokio::test]
async fn who_writes_a_source_never_hears_that_its_holder_with_a_claim_changed() {
    let base = waiting().await;
    for at in 0.. {
        let told = format!("before call {at}");
        let db = base.fork().expect("in memory");
        let (other, during) = (next::<Model>(&db).await, told.clone());
        let retitle = async move {
            let retitled = other.update(Team::find().name("A"), |team| Ok(team.title = "second".into())).await;
            retitled.map(drop).unwrap_or_else(|error| panic!("{during}: {error:?}"));
        };
        let program = Program::stalling::<Model>(&db, at, retitle.boxed()).await;
        rename(&program.db).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        if !program.has_stalled() {
            assert!(at > 3, "{told}");
            break;
        }
        program.db.relay().drain().await.unwrap();
        let team = Team::find().name("A").one(&program.db).await.unwrap().unwrap();
        let led_by = team.led_by.as_ref().map(|card| card.name.as_str());
        assert_eq!((team.title.as_str(), led_by), ("second", Some("Eva")), "{told}");
        let violations = program.db.verify().await.unwrap().violations;
        let badges: Vec<_> = violations.iter().map(|violation| violation.key.partition.as_str()).collect();
        assert_eq!(badges, ["0002"], "{told}: {violations:?}"); // of two teams
    }
}
