//! Writes by which alone a program takes indexes out of use that it lacks.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::{Action, Batch, Condition},
};

use super::{
    Club, MODES, assert_clean, first,
    lapsed::{assert_not_ready, built},
    next, program, store_of, unique,
};

#[tokio::test]
async fn a_program_that_only_moves_entities_takes_an_index_out_of_use() {
    for mode in MODES {
        let (store, told) = (built(mode).await, format!("{mode:?}"));
        let old = program::<first::Club>(&store).await; // which ensures nothing: the tables are there
        let mut found = first::Person::find().club("c0").id(0).one(&old).await.expect("read").expect("there");
        found.club = "c1".into();
        found.id = 900;
        old.rekey(&mut found).await.expect("moved");
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        assert_not_ready(&next::<Club>(&store).await, &told).await;
    }
}

/// Teams whose persons stand in another table, without an index and with one.
mod counted {
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Persons", partition = "{name}", row = "person")]
        #[table(sum(Team, key(club = club), of = visits, into = visits))]
        pub(crate) struct Person {
            pub(crate) name: String,
            pub(crate) club: String,
            pub(crate) visits: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Teams", partition = "{club}", row = "team")]
        pub(crate) struct Team {
            pub(crate) club: String,
            pub(crate) motto: String,
            #[table(aggregate)]
            pub(crate) visits: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
            Team(Team),
        }
    }

    pub(super) mod after {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Persons", partition = "{name}", row = "person")]
        #[table(sum(Team, key(club = club), of = visits, into = visits))]
        pub(crate) struct Person {
            pub(crate) name: String,
            pub(crate) club: String,
            pub(crate) visits: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Teams", partition = "{club}", row = "team")]
        #[table(index(by_motto, row = "m_{motto}", keep(visits)))]
        pub(crate) struct Team {
            pub(crate) club: String,
            pub(crate) motto: String,
            #[table(aggregate)]
            pub(crate) visits: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
            Team(Team),
        }
    }
}

/// What it adds no more is taken off without a write of the source.
#[tokio::test]
async fn a_repair_that_takes_a_lost_source_off_a_total_takes_an_index_of_the_target_out_of_use() {
    use counted::{after, before};
    let store = store_of::<before::Club>(Consistency::Atomic).await;
    let team = before::Team { club: "c0".into(), motto: "On".into(), visits: 0 };
    store.insert(&team).await.expect("inserted");
    let person = before::Person { name: "Ann".into(), club: "c0".into(), visits: 3 };
    store.insert(&person).await.expect("inserted");
    let by_motto = async |db: &Database| after::Team::by_motto().club("c0").motto("On").exists(db).await;
    assert!(by_motto(&next::<after::Club>(&store).await).await.expect("few are built when tables are ensured"));
    let lost = Batch::new("Persons", "Ann").with("person", Action::Delete(Condition::Exists));
    store.store().commit(&[lost]).await.expect("lost");
    store.clock().advance(Duration::from_secs(3_600));
    let old = program::<before::Club>(&store).await;
    drop(old.repair().await.expect("repaired"));
    let found = before::Team::find().club("c0").one(&old).await.expect("read").expect("there");
    assert_eq!(found.visits, 0, "it is counted no more");
    let error = by_motto(&program::<after::Club>(&store).await).await.expect_err("its row says what was");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{error}");
}

/// The row of the value still names who had it, which has another by now, or is gone.
#[tokio::test]
async fn a_value_that_a_program_without_the_index_passed_on_is_free_when_it_is_built_anew() {
    for mode in MODES {
        for is_gone in [false, true] {
            let told = format!("{mode:?}, gone: {is_gone}");
            let store = store_of::<unique::Club>(mode).await;
            for (id, badge) in [(1, Some(7)), (2, None)] {
                let first::Person { club, id, name, city, visits, .. } = first::person("c0", id);
                store.insert(&unique::Person { club, id, name, city, badge, visits }).await.expect("inserted");
            }
            store.clock().advance(Duration::from_secs(130));
            let old = program::<first::Club>(&store).await;
            let path = |id: u32| first::Person::find().club("c0").id(id);
            match is_gone {
                true => old.delete(path(1).one(&old).await.expect("read").expect("there")).await.expect("deleted"),
                false => drop(old.update(path(1), |person| Ok(person.badge = Some(8))).await.expect("updated")),
            }
            old.update(path(2), |person| Ok(person.badge = Some(7))).await.expect("updated");
            drop(old);
            store.clock().advance(Duration::from_secs(130));
            let db = program::<unique::Club>(&store).await;
            let applied = db.migrations().apply().await.expect("applied");
            assert!(applied.is_complete() && applied.failed == 0, "{told}: {applied:?}");
            let found = unique::Person::by_badge().club("c0").badge(7).one(&db).await.expect("readable");
            assert_eq!(found.map(|person| person.id), Some(2), "{told}");
            assert_clean(&db, &told).await;
        }
    }
}
