//! Two programs that change what an aggregate comes to, one stalled before each of its calls while the other runs.

use futures_util::FutureExt;
use tablemodel::{Consistency, ErrorKind, Result, prelude::*, testing::TestDatabase};

use super::{Employee, Model, Team, assert_exact, database, employee, settle, team};
use crate::{points::points, stall::Program};

/// What a program does to team 1 and its three employees, of whom the first has the least salary.
#[derive(Debug, Clone, Copy)]
enum Op {
    InsertTeam,
    DeleteTeam,
    Rename,
    /// With this salary, also none.
    Hire(i64),
    Fire(u32),
    Pay(u32, i64),
    Switch(u32),
}

const OPS: [Op; 10] = [
    Op::InsertTeam,
    Op::DeleteTeam,
    Op::Rename,
    Op::Hire(0),
    Op::Hire(20),
    Op::Fire(1),
    Op::Pay(1, 40),
    Op::Pay(3, 15),
    Op::Pay(3, 35),
    Op::Switch(2),
];

async fn change(db: &Database, id: u32, with: impl Fn(&mut Employee) + Send + Sync) -> Result<()> {
    let path = Employee::find().department("A").id(id);
    let updated = db.update(path, |employee| {
        with(employee);
        Ok(())
    });
    updated.await.map(drop)
}

async fn run(db: &Database, op: Op) -> Result<()> {
    let path = || Team::find().company("A").number(1);
    match op {
        Op::InsertTeam => db.insert(&team(1)).await.map(drop),
        Op::DeleteTeam => match path().one(db).await? {
            Some(there) => db.delete(there).await,
            None => Ok(()),
        },
        Op::Rename => match path().one(db).await? {
            Some(mut there) => {
                there.budget += 1;
                db.save(&mut there).await
            }
            None => Ok(()),
        },
        Op::Hire(salary) => db.insert(&Employee { salary, ..employee(9, 1) }).await.map(drop),
        Op::Fire(id) => match Employee::find().department("A").id(id).one(db).await? {
            Some(there) => db.delete(there).await,
            None => Ok(()),
        },
        Op::Pay(id, salary) => change(db, id, |employee| employee.salary = salary).await,
        Op::Switch(id) => change(db, id, |employee| employee.active = !employee.active).await,
    }
}

async fn prepared(with_team: bool) -> TestDatabase {
    let db = database(Consistency::Azure).await;
    if with_team {
        db.insert(&team(1)).await.unwrap();
    }
    for (id, salary) in [(1, 10), (2, 20), (3, 30)] {
        db.insert(&Employee { salary, ..employee(id, 1) }).await.unwrap();
    }
    db
}

fn assert_lost_at_most(result: Result<()>, told: &str) {
    if let Err(error) = result {
        let is_race = matches!(
            error.kind(),
            ErrorKind::Conflict { .. } | ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::Unavailable
        );
        assert!(is_race, "{told}: {error:?}");
    }
}

/// How often who runs this alone calls the store.
async fn calls(base: &TestDatabase, op: Op) -> usize {
    let db = base.fork().unwrap();
    let program = Program::stalling::<Model>(&db, usize::MAX, async {}.boxed()).await;
    assert_lost_at_most(run(&program.db, op).await, "alone");
    program.calls()
}

/// Whether the first came as far as the call before which it was to stall.
async fn race(base: &TestDatabase, first: Op, second: Op, at: usize, told: &str) -> bool {
    let db = base.fork().unwrap();
    let other = db.database().clone();
    let during = told.to_owned();
    let meanwhile = async move { assert_lost_at_most(run(&other, second).await, &during) };
    let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
    assert_lost_at_most(run(&program.db, first).await, told);
    settle(&db).await;
    assert_exact(&db, told).await;
    program.has_stalled()
}

#[tokio::test]
async fn cells_and_targets_are_exact_wherever_a_writer_stalls() {
    let mut races = 0;
    for with_team in [true, false] {
        let base = prepared(with_team).await;
        for first in OPS {
            let calls = calls(&base, first).await;
            for second in OPS {
                let told = format!("team: {with_team}, {first:?}, and {second:?}");
                let mut tried = 0;
                for at in points(calls, 3, &told) {
                    let told = format!("{told} before its call {at}");
                    assert!(race(&base, first, second, at, &told).await, "{told}");
                    tried += 1;
                }
                assert!(tried >= calls.min(3), "{told}: {tried} of {calls} calls");
                races += calls;
            }
        }
    }
    assert!(races > 600, "{races} races may be run");
}
