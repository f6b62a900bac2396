//! Aggregates that were built, and then written beside by a program that does not have them.

use std::time::Duration;

use tablemodel::prelude::*;

use super::{
    super::{MODES, assert_clean, next, program, store_of},
    Club, Person, assert_counted, before, filled, old_person,
};

/// What nobody counted can be changed and taken away, and is counted with the rest.
#[tokio::test]
async fn sources_that_no_cell_knows_of_are_changed_and_counted_when_it_is_built_anew() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = filled(mode, 2, 6).await;
        next::<Club>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let old = next::<before::Club>(&store).await;
        for id in 1..4 {
            old.insert(&old_person("c3", id)).await.expect("inserted"); // of a club without a team, and without cells
        }
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = program::<Club>(&store).await;
        let path = |id: u32| Person::find().club("c3").id(id);
        db.update(path(1), |person| Ok(person.visits = 99)).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let gone = path(2).one(&db).await.expect("read").expect("there");
        db.delete(gone).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        assert_counted(&db, &told).await;
    }
}

/// Teams that hold nothing, beside persons and by themselves.
mod plain {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) motto: String,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Both {
        Person(Person),
        Team(Team),
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Teams {
        Team(Team),
    }
}

/// Teams of persons of a newer version, which hold their sum.
mod summed {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", frozen, partition = "{club}", row = "p_{id:04}")]
    pub(super) struct PersonV1 {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", version = 2, previous = PersonV1, partition = "{club}", row = "p_{id:04}")]
    #[table(sum(Team, key(club = club), of = visits, into = visits))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) visits: i64,
    }

    impl Upgrade<PersonV1> for Person {
        fn upgrade(PersonV1 { club, id, visits }: PersonV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, id, visits })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) motto: String,
        #[table(aggregate, default)]
        pub(super) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Team(Team),
    }
}

/// A program that may write no source any more, or knows of none, may still write what holds their totals.
async fn a_team_without_the_property<M: TableModel>() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<summed::Club>(mode).await;
        store.insert(&summed::Person { club: "c0".into(), id: 1, visits: 7 }).await.expect("inserted");
        assert!(store.migrations().apply().await.expect("applied").is_complete(), "{told}");
        store.clock().advance(Duration::from_secs(130));
        let old = program::<M>(&store).await; // which ensures nothing: the tables are there
        old.insert(&plain::Team { club: "c0".into(), motto: "On".into() }).await.expect("inserted");
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = program::<summed::Club>(&store).await;
        assert!(!db.migrations().plan().await.expect("planned").is_empty(), "{told}: the team lacks its total");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        let team = summed::Team::find().club("c0").one(&db).await.expect("read").expect("there");
        assert_eq!(team.visits, 7, "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn a_program_whose_sources_are_of_an_older_version_takes_totals_out_of_use_that_its_targets_lack() {
    a_team_without_the_property::<plain::Both>().await;
}

#[tokio::test]
async fn a_program_without_the_sources_takes_totals_out_of_use_that_its_targets_lack() {
    a_team_without_the_property::<plain::Teams>().await;
}
