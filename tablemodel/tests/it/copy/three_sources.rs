//! A holder of three sources: one beside it, which counts it, and two in other partitions.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tablemodel::{
    Consistency,
    prelude::*,
    store::{Batch, Receipts, StoreError, TableStore},
    testing::TestDatabase,
};

use super::settle;
use crate::{
    between::{Around, Between},
    migrate::{MODES, program, program_over},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sites", partition = "{site}", row = "j_{id:04}")]
#[table(count(Site, key(name = site), into = jobs))]
struct Job {
    site: String,
    id: u32,
    firm: String,
    town: String,
    #[table(copy_of(Site, key(name = site)))]
    at: Option<Owner>,
    #[table(copy_of(Firm, key(name = firm)))]
    of: Option<Boss>,
    #[table(copy_of(Town, key(name = town)))]
    in_town: Option<Mayor>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sites", partition = "{name}", row = "site")]
struct Site {
    name: String,
    owner: String,
    #[table(aggregate)]
    jobs: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Firms", partition = "{name}", row = "firm")]
struct Firm {
    name: String,
    boss: String,
    floor: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{name}", row = "town")]
struct Town {
    name: String,
    mayor: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Site)]
struct Owner {
    owner: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Firm)]
struct Boss {
    boss: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Town)]
struct Mayor {
    mayor: String,
}

#[derive(TableModel)]
enum Model {
    Job(Job),
    Site(Site),
    Firm(Firm),
    Town(Town),
}

fn job(id: u32) -> Job {
    Job { site: "s".into(), id, firm: "f".into(), town: "A".into(), at: None, of: None, in_town: None }
}

/// The sources.
async fn filled(mode: Consistency) -> TestDatabase {
    let db = crate::migrate::store_of::<Model>(mode).await;
    db.insert(&Site { name: "s".into(), owner: "o".into(), jobs: 0 }).await.unwrap();
    db.insert(&Firm { name: "f".into(), boss: "b".into(), floor: 1 }).await.unwrap();
    for name in ["A", "B"] {
        db.insert(&Town { name: name.into(), mayor: name.to_lowercase() }).await.unwrap();
    }
    db
}

#[tokio::test]
async fn what_names_another_source_is_current_though_one_that_it_keeps_changed_in_what_is_not_copied() {
    for mode in MODES {
        let db = filled(mode).await;
        let mut first = db.insert(&job(1)).await.unwrap(); // counted beside, so that its site has another number
        first.town = "B".into();
        db.save(&mut first).await.unwrap();
        db.insert(&job(2)).await.unwrap();
        db.patch(Firm::find().name("f"), Firm::FLOOR.set(2_u32)).await.unwrap();
        first.town = "A".into();
        db.save(&mut first).await.unwrap();
        first.town = "B".into();
        db.save(&mut first).await.unwrap();
        assert_eq!(first.in_town.as_ref().unwrap().mayor, "b");

        db.patch(Firm::find().name("f"), Firm::BOSS.set("c")).await.unwrap();
        let found = Job::find().site("s").id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(found.of.as_ref().unwrap().boss, "c");
        db.delete(found).await.unwrap();
        settle(&db).await;
        assert!(db.verify().await.unwrap().is_clean());
    }
}

/// Another program changes the site, and its holders, right before jobs are written for the first time.
struct Before {
    other: Database,
    is_done: AtomicBool,
}

#[async_trait]
impl Between for Before {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let is_of_jobs = |batch: &Batch| batch.operations.iter().any(|write| write.row.starts_with("j_"));
        if batches.iter().any(is_of_jobs) && !self.is_done.swap(true, Ordering::SeqCst) {
            self.other.patch(Site::find().name("s"), Site::OWNER.set("p")).await.expect("patched");
            self.other.relay().drain().await.expect("drained");
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn who_follows_one_source_once_more_looks_at_the_others_once_more() {
    for mode in MODES {
        let db = filled(mode).await;
        for id in 1..=3 {
            db.insert(&job(id)).await.unwrap();
        }
        let before = Before { other: program::<Model>(&db).await, is_done: AtomicBool::new(false) };
        let program = program_over::<Model>(&db, Around::over(db.store(), before)).await;
        program.patch(Firm::find().name("f"), Firm::BOSS.set("c")).await.unwrap();
        program.relay().drain().await.unwrap();
        for id in 1..=3 {
            let job = Job::find().site("s").id(id).one(&db).await.unwrap().unwrap();
            let said = (job.at.as_ref().unwrap().owner.as_str(), job.of.as_ref().unwrap().boss.as_str());
            assert_eq!(said, ("p", "c"), "{mode:?}: {id}");
        }
        settle(&db).await;
        assert!(db.verify().await.unwrap().is_clean());
    }
}
