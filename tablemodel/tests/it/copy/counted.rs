//! Entities that copy the very entity that counts them: one row is written for both.

use tablemodel::{
    Consistency, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::settle;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "w_{id:04}")]
#[table(count(Team, key(name = team), into = members))]
struct Worker {
    team: String,
    id: u32,
    #[table(copy_of(Team, key(name = team)))]
    of: Option<Title>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{name}", row = "team")]
struct Team {
    name: String,
    title: String,
    #[table(aggregate)]
    members: i64,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Team)]
struct Title {
    title: String,
}

#[derive(TableModel)]
enum Model {
    Worker(Worker),
    Team(Team),
}

fn worker(id: u32) -> Worker {
    Worker { team: "A".into(), id, of: None }
}

fn team(title: &str) -> Team {
    Team { name: "A".into(), title: title.into(), members: 77 }
}

async fn databases() -> [TestDatabase; 2] {
    [TestDatabase::new::<Model>().await.unwrap(), TestDatabase::atomic::<Model>().await.unwrap()]
}

async fn assert_true(db: &TestDatabase, title: Option<&str>, workers: &[u32], told: &str) {
    settle(db).await;
    let stored = Team::find().name("A").one(db).await.unwrap();
    assert_eq!(
        stored.as_deref().map(|team| (team.title.as_str(), team.members)),
        title.map(|t| (t, workers.len() as i64)),
        "{told}"
    );
    for id in workers {
        let found = Worker::find().team("A").id(*id).one(db).await.unwrap().unwrap();
        assert_eq!(found.of.as_ref().map(|of| of.title.as_str()), title, "{told}: {id}");
    }
    let report = db.verify().await.unwrap();
    assert!(report.violations.is_empty(), "{told}: {:?}", report.violations);
}

#[tokio::test]
async fn an_entity_may_copy_what_counts_it() {
    for db in databases().await {
        db.insert(&worker(1)).await.unwrap();
        assert_true(&db, None, &[1], "before its team").await;
        db.insert(&team("first")).await.unwrap();
        assert_true(&db, Some("first"), &[1], "the team came").await;
        let second = db.insert(&worker(2)).await.unwrap();
        assert_eq!(second.of.as_ref().map(|of| of.title.as_str()), Some("first"));
        assert_true(&db, Some("first"), &[1, 2], "one more").await;
        db.update(Team::find().name("A"), |team| Ok(team.title = "second".into())).await.unwrap();
        assert_true(&db, Some("second"), &[1, 2], "renamed").await;
        let mut batch = db.batch(Team::in_partition("A"));
        batch.insert(&worker(3)).insert(&worker(4));
        batch.commit().await.unwrap();
        assert_true(&db, Some("second"), &[1, 2, 3, 4], "two in a batch").await;
        let gone = Worker::find().team("A").id(2).one(&db).await.unwrap().unwrap();
        db.delete(gone).await.unwrap();
        assert_true(&db, Some("second"), &[1, 3, 4], "one less").await;
        let team = Team::find().name("A").one(&db).await.unwrap().unwrap();
        db.delete(team).await.unwrap();
        assert_true(&db, None, &[1, 3, 4], "the team went").await;
    }
}

/// What is changed by each of these steps: a source that counts, its count, or both in one batch.
async fn run(db: &TestDatabase, step: usize) -> Result<()> {
    match step {
        0 => db.insert(&worker(3)).await.map(drop),
        1 => db.update(Team::find().name("A"), |team| Ok(team.title = "second".into())).await.map(drop),
        2 => match Worker::find().team("A").id(1).one(db).await? {
            Some(gone) => db.delete(gone).await,
            None => Ok(()),
        },
        _ => {
            let Some(mut team) = Team::find().name("A").one(db).await? else { return Ok(()) };
            team.title = "third".into();
            let mut batch = db.batch(Team::in_partition("A"));
            batch.insert(&worker(4)).save(&mut team).insert(&worker(5));
            batch.commit().await
        }
    }
}

async fn prepared(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    db.insert(&team("first")).await.unwrap();
    db.insert(&worker(1)).await.unwrap();
    db.insert(&worker(2)).await.unwrap();
    db
}

async fn workers(db: &TestDatabase) -> Vec<u32> {
    Worker::find().team("A").all(db).await.unwrap().iter().map(|worker| worker.id).collect()
}

#[tokio::test]
async fn a_fault_at_any_call_leaves_counts_and_copies_as_they_were_or_will_be() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let whole = prepared(mode).await;
        for (step, title) in ["first", "second", "first", "third"].into_iter().enumerate() {
            let db = whole.fork().expect("in memory");
            db.forget_calls();
            run(&db, step).await.unwrap();
            let (calls, after) = (db.calls().len(), workers(&db).await);
            assert_true(&db, Some(title), &after, &format!("{mode:?} {step} without a fault")).await;
            for call in 0..calls {
                for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply] {
                    let told = format!("{mode:?} {step}, {fault:?} at call {call} of {calls}");
                    let db = whole.fork().expect("in memory");
                    db.fail(Script::new().at(call, fault));
                    let result = run(&db, step).await;
                    db.fail(Script::new());
                    let db = db.reopen::<Model>().await.unwrap();
                    settle(&db).await;
                    let is_new = Team::find().name("A").one(&db).await.unwrap().unwrap().title == title;
                    let now = workers(&db).await;
                    assert!(now == [1, 2] || now == after, "{told}: {now:?}");
                    assert!(result.is_err() || now == after && is_new, "{told}: acknowledged");
                    assert_true(&db, Some(if is_new { title } else { "first" }), &now, &told).await;
                }
            }
        }
    }
}

/// The same, of a team in a partition of its own.
mod elsewhere {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Workers", partition = "{site}", row = "w_{id:04}")]
    #[table(count(Team, key(name = team), into = members))]
    pub(super) struct Worker {
        pub(super) site: String,
        pub(super) id: u32,
        pub(super) team: String,
        #[table(copy_of(Team, key(name = team)))]
        pub(super) of: Option<Title>,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team")]
    pub(super) struct Team {
        pub(super) name: String,
        pub(super) title: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Team)]
    pub(super) struct Title {
        pub(super) title: String,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Worker(Worker),
        Team(Team),
    }
}

#[tokio::test]
async fn what_is_counted_elsewhere_by_what_it_copies_is_current_after_its_write() {
    use elsewhere::{Model, Team, Worker};
    for mode in crate::migrate::MODES {
        let db = crate::migrate::store_of::<Model>(mode).await;
        for name in ["A", "B"] {
            db.insert(&Team { name: name.into(), title: name.to_lowercase(), members: 0 }).await.unwrap();
        }
        let mut worker = db.insert(&Worker { site: "s".into(), id: 1, team: "A".into(), of: None }).await.unwrap();
        worker.team = "B".into();
        db.save(&mut worker).await.unwrap();
        assert_eq!(worker.of.as_ref().unwrap().title, "b");
        let team = Team::find().name("B").one(&db).await.unwrap().unwrap();
        assert_eq!(team.members, 1);
        db.delete(worker).await.unwrap();
        settle(&db).await;
        assert!(db.verify().await.unwrap().is_clean());
    }
}
