//! Rows in other partitions: whatever fails between, they are in the end exactly those that the entities want.

mod aside;
mod crashes;
mod delivery;
mod dropped;
mod later;
mod many;
mod meanwhile;
mod oversized;
mod reads;
mod relays;
mod repeated;
mod rows;
mod sabotage;
mod set_back;
mod worklist;

use tablemodel::{Value, ValueRef, prelude::*, testing::TestDatabase};

pub(super) use crate::tools::{Rows, rows_in, settle};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", entity_type = "Worker")]
#[table(partition = "{department}", row = "w_{id:04}")]
#[table(index(here, row = "n_{name}_{id:04}", keys_only))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{department}_{id:04}", keep(name)))]
#[table(index(by_skill, partition = "skill_{skills}", row = "s_{department}_{id:04}", each(skills), keys_only))]
#[table(index(by_badge, table = "Badges", partition = "{badge}", row = "{department}_{id:04}", when = active))]
pub(super) struct Worker {
    pub(super) department: String,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) city: String,
    pub(super) active: bool,
    pub(super) badge: Option<u32>,
    #[table(json)]
    pub(super) skills: Vec<String>,
    pub(super) age: u8,
}

#[derive(TableModel)]
pub(super) enum Model {
    Worker(Worker),
}

pub(super) fn worker(department: &str, id: u32) -> Worker {
    Worker {
        department: department.into(),
        id,
        name: format!("name{id}"),
        city: "Rome".into(),
        active: true,
        badge: Some(7),
        skills: vec!["sql".into(), "rust".into(), "sql".into()],
        age: 30,
    }
}

macro_rules! at {
    ($department:expr, $id:expr) => {
        crate::elsewhere::Worker::find().department($department).id($id)
    };
}
pub(super) use at;

/// The rows of the three tables: live ones, by what they are, without tombstones and the outbox.
pub(super) async fn live_rows(db: &TestDatabase) -> Rows {
    let mut rows = Rows::new();
    for table in ["Company", "Cities", "Badges"] {
        rows.extend(rows_in(&*db.store(), table).await);
    }
    rows.retain(|(_, _, row), properties| {
        let is_dead = properties.get("_dead").is_some();
        let is_tombstone =
            matches!(properties.get("EntityType"), Some(ValueRef::String(kind)) if kind.contains("~dead"));
        !is_dead && !is_tombstone && !row.starts_with("~~")
    });
    rows
}

/// Whatever stands in the tables that is not a live row.
pub(super) async fn leftovers(db: &TestDatabase) -> Vec<(String, String, String)> {
    let live = live_rows(db).await;
    let mut all = Rows::new();
    for table in ["Company", "Cities", "Badges"] {
        all.extend(rows_in(&*db.store(), table).await);
    }
    all.into_keys().filter(|key| !live.contains_key(key)).collect()
}

/// The keys of the rows that these workers want, made by hand from what the struct says.
pub(super) fn wanted_keys(workers: &[Worker]) -> Vec<(String, String, String)> {
    let mut keys = Vec::new();
    for w in workers {
        let own = format!("{}_{:04}", w.department, w.id);
        let mut key = |table: &str, partition: String, row: String| keys.push((table.to_owned(), partition, row));
        key("Company", w.department.clone(), format!("w_{:04}", w.id));
        key("Company", w.department.clone(), format!("n_{}_{:04}", w.name, w.id));
        key("Cities", w.city.clone(), own.clone());
        if let (true, Some(badge)) = (w.active, w.badge) {
            key("Badges", format!("{badge:010}"), own.clone());
        }
        let mut skills = w.skills.clone();
        skills.sort();
        skills.dedup();
        for skill in skills {
            key("Company", format!("skill_{skill}"), format!("s_{own}"));
        }
    }
    keys.sort();
    keys
}

/// That the tables hold exactly the rows of these workers, with right contents.
pub(super) async fn assert_exact(db: &TestDatabase, workers: &[Worker], told: &str) {
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
    let rows = live_rows(db).await;
    let keys: Vec<_> = rows.keys().cloned().collect();
    assert_eq!(keys, wanted_keys(workers), "{told}");
    for w in workers {
        let city = &rows[&("Cities".into(), w.city.clone(), format!("{}_{:04}", w.department, w.id))];
        assert_eq!(city.get("Name").map(|v| v.to_value()), Some(Value::String(w.name.clone())), "{told}");
        if let (true, Some(badge)) = (w.active, w.badge) {
            let whole = &rows[&("Badges".into(), format!("{badge:010}"), format!("{}_{:04}", w.department, w.id))];
            assert_eq!(whole.get("Age").map(|v| v.to_value()), Some(Value::Int32(w.age.into())), "{told}");
        }
    }
}

/// Every worker that is there.
pub(super) async fn workers(db: &TestDatabase) -> Vec<Worker> {
    let mut workers = Vec::new();
    for department in ["A", "B"] {
        let found = Worker::find().department(department).all(db).await.expect("read");
        workers.extend(found.into_iter().map(Stored::into_inner));
    }
    workers
}
