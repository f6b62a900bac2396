//! A fault at every store call of every operation, in both modes: entities are as before or as after, and the aggregates
//! are those of the entities as they are.

use tablemodel::{Consistency, Result, prelude::*, testing::TestDatabase};

use super::{Employee, Model, Team, assert_exact, contractor, database, employee, employees, settle, team, teams};
use crate::crashes::enumerate;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Insert,
    InsertWithoutTarget,
    Move,
    Delete,
    InsertTarget,
    SaveTarget,
    DeleteTarget,
    Batch,
}

const KINDS: [Kind; 8] = [
    Kind::Insert,
    Kind::InsertWithoutTarget,
    Kind::Move,
    Kind::Delete,
    Kind::InsertTarget,
    Kind::SaveTarget,
    Kind::DeleteTarget,
    Kind::Batch,
];

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for id in [1, 2] {
        db.insert(&employee(id, id as u8)).await.unwrap();
    }
    db.insert(&team(1)).await.unwrap();
    db.insert(&contractor(1, 1)).await.unwrap();
    db
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    let first = || Employee::find().department("A").id(1);
    match kind {
        Kind::Insert => db.insert(&employee(9, 1)).await.map(drop),
        Kind::InsertWithoutTarget => db.insert(&employee(9, 3)).await.map(drop),
        Kind::Move => {
            let Some(mut jo) = first().one(db).await? else { return Ok(()) };
            (jo.team, jo.salary) = (2, 7);
            db.save(&mut jo).await
        }
        Kind::Delete => match first().one(db).await? {
            Some(jo) => db.delete(jo).await,
            None => Ok(()),
        },
        Kind::InsertTarget => db.insert(&team(2)).await.map(drop),
        Kind::SaveTarget => {
            let Some(mut team) = Team::find().company("A").number(1).one(db).await? else { return Ok(()) };
            (team.motto, team.members) = ("n".into(), 50);
            db.save(&mut team).await
        }
        Kind::DeleteTarget => match Team::find().company("A").number(1).one(db).await? {
            Some(team) => db.delete(team).await,
            None => Ok(()),
        },
        Kind::Batch => {
            let mut batch = db.batch(Team::in_partition("A"));
            batch.insert(&employee(5, 1)).insert(&team(3)).upsert(&employee(1, 3)).insert(&contractor(2, 3));
            batch.commit().await
        }
    }
}

async fn state(db: &TestDatabase) -> String {
    format!("{:?} {:?}", employees(db).await, teams(db).await)
}

#[tokio::test]
pub(crate) async fn a_fault_at_any_store_call_leaves_old_or_new_and_the_aggregates_of_it() {
    let mut points = 0;
    for mode in [Consistency::Azure, Consistency::Atomic] {
        for kind in KINDS {
            points += enumerate::<Model, _>(
                &format!("{mode:?} {kind:?}"),
                async || prepared(mode).await,
                async |db| run(db, kind).await,
                async |db| settle(db).await,
                async |db| state(db).await,
                async |db, told, _| assert_exact(db, told).await,
            )
            .await;
        }
    }
    assert!(points > 400, "{points} points");
}
