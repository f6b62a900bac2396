//! Random operations against a naive model: the people that are there, from which every aggregate is made anew.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{Employee, Team, assert_exact, contractor, database, employee, employees, on_disk, settle, team, teams};
use crate::tools::block_on;

#[derive(Debug, Clone)]
enum One {
    Employee { id: u8, team: u8, salary: i16, hours: Option<i8>, active: bool },
    Contractor { id: u8, team: u8 },
    Team { number: u8, motto: u8 },
}

#[derive(Debug, Clone)]
enum Step {
    Put(One),
    Batch(Vec<One>),
    DeleteEmployee(u8),
    DeleteTeam(u8),
    Rename { id: u8, to: u8 },
}

fn ones() -> impl Strategy<Value = One> {
    let people = (0..6_u8, 0..3_u8, any::<i16>(), prop::option::of(any::<i8>()), any::<bool>());
    prop_oneof![
        3 => people.prop_map(|(id, team, salary, hours, active)| One::Employee { id, team, salary, hours, active }),
        1 => (0..6_u8, 0..3_u8).prop_map(|(id, team)| One::Contractor { id, team }),
        2 => (0..3_u8, 0..2_u8).prop_map(|(number, motto)| One::Team { number, motto }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => ones().prop_map(Step::Put),
        3 => prop::collection::vec(ones(), 1..8).prop_map(Step::Batch),
        2 => (0..6_u8).prop_map(Step::DeleteEmployee),
        1 => (0..3_u8).prop_map(Step::DeleteTeam),
        1 => (0..6_u8, 0..6_u8).prop_map(|(id, to)| Step::Rename { id, to }),
    ];
    prop::collection::vec(step, 1..16)
}

fn person(id: u8, team: u8, salary: i16, hours: Option<i8>, active: bool) -> Employee {
    let hours = hours.map(|hours| f64::from(hours) / 16.0);
    Employee { salary: salary.into(), hours, active, ..employee(id.into(), team) }
}

async fn run(db: &TestDatabase, naive: &mut BTreeMap<u32, Employee>, step: &Step) {
    let mut note = |one: &One| {
        if let One::Employee { id, team, salary, hours, active } = *one {
            naive.insert(id.into(), person(id, team, salary, hours, active));
        }
    };
    match step {
        Step::Put(one) => {
            match *one {
                One::Employee { id, team, salary, hours, active } => {
                    db.upsert(&person(id, team, salary, hours, active)).await.map(drop).unwrap();
                }
                One::Contractor { id, team } => db.upsert(&contractor(id.into(), team)).await.map(drop).unwrap(),
                One::Team { number, motto } => {
                    db.upsert(&Team { motto: format!("m{motto}"), ..team(number) }).await.map(drop).unwrap();
                }
            }
            note(one);
        }
        Step::Batch(ones) => {
            let mut batch = db.batch(Team::in_partition("A"));
            for one in ones {
                match *one {
                    One::Employee { id, team, salary, hours, active } => {
                        batch.upsert(&person(id, team, salary, hours, active));
                    }
                    One::Contractor { id, team } => drop(batch.upsert(&contractor(id.into(), team))),
                    One::Team { number, motto } => {
                        batch.upsert(&Team { motto: format!("m{motto}"), ..team(number) });
                    }
                }
            }
            batch.commit().await.unwrap();
            ones.iter().for_each(note);
        }
        Step::DeleteEmployee(id) => {
            if let Some(there) = Employee::find().department("A").id(u32::from(*id)).one(db).await.unwrap() {
                db.delete(there).await.unwrap();
            }
            naive.remove(&(*id).into());
        }
        Step::DeleteTeam(number) => {
            if let Some(there) = Team::find().company("A").number(*number).one(db).await.unwrap() {
                db.delete(there).await.unwrap();
            }
        }
        Step::Rename { id, to } => {
            let there = Employee::find().department("A").id(u32::from(*id)).one(db).await.unwrap();
            let Some(mut there) = there.filter(|_| id != to && !naive.contains_key(&(*to).into())) else { return };
            there.id = (*to).into();
            db.save(&mut there).await.unwrap();
            naive.remove(&(*id).into());
            naive.insert(there.id, there.into_inner());
        }
    }
}

async fn check(db: TestDatabase, steps: &[Step]) {
    let mut naive = BTreeMap::new();
    for (number, step) in steps.iter().enumerate() {
        run(&db, &mut naive, step).await;
        let told = format!("step {number} of {steps:?}");
        assert_eq!(employees(&db).await, naive.values().cloned().collect::<Vec<_>>(), "{told}");
        settle(&db).await;
        assert_exact(&db, &told).await;
    }
    for team in teams(&db).await {
        assert_ne!(team.members, -7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn aggregates_are_those_of_the_sources_after_any_operations(steps in steps()) {
        block_on(async {
            for mode in [Consistency::Azure, Consistency::Atomic] {
                check(database(mode).await, &steps).await;
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn the_same_holds_in_a_file(steps in steps()) {
        block_on(async {
            let (db, _folder) = on_disk().await;
            check(db, &steps).await;
        });
    }
}
