//! Lists of keys: whatever is written, in whatever order, with whatever failing between, each list holds exactly the keys
//! of the entities that want to be in it.

mod crashes;
mod in_blobs;
mod long;
mod oracle;
mod rows;

use std::{collections::BTreeMap, sync::Arc};

use tablemodel::{
    Consistency, Properties, RowKey, ValueRef,
    prelude::*,
    store::{Durability, EmbeddedStore, TableStore},
    testing::TestDatabase,
};
use tempfile::TempDir;

use crate::tools::rows_of;
pub(super) use crate::tools::settle;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", entity_type = "Worker")]
#[table(partition = "{department}", row = "w_{tag}_{id:06}")]
#[table(list(by_name, row = "n_{name}"))]
#[table(list(by_skill, row = "s_{skills}", each(skills), when = active))]
#[table(list(by_badge, row = "b_{badge}"))]
#[table(list(by_city, table = "Cities", partition = "{city}", row = "in_{name}"))]
pub(super) struct Worker {
    pub(super) department: String,
    /// Long ones make long lists of few workers.
    pub(super) tag: String,
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

pub(super) fn worker(id: u32) -> Worker {
    Worker {
        department: "A".into(),
        tag: "x".into(),
        id,
        name: "Jones".into(),
        city: "Rome".into(),
        active: true,
        badge: Some(7),
        skills: vec!["sql".into(), "rust".into(), "sql".into()],
        age: 30,
    }
}

macro_rules! at {
    ($worker:expr) => {{
        let worker = &$worker;
        crate::list::Worker::find().department(&worker.department).tag(&worker.tag).id(worker.id)
    }};
}
pub(super) use at;

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

/// Over a file, with the outbox.
pub(super) async fn on_disk() -> (TestDatabase, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lists");
    let open = |clock| {
        let builder = EmbeddedStore::builder().clock(clock).durability(Durability::Relaxed);
        Arc::new(builder.open(&path).unwrap()) as Arc<dyn TableStore>
    };
    (TestDatabase::over::<Model>(open).await.unwrap(), folder)
}

/// Which list, and what is in it.
pub(super) type Lists = BTreeMap<(&'static str, String, String), Vec<RowKey>>;

/// The lists that these workers make, by hand.
pub(super) fn expected(workers: &[Worker]) -> Lists {
    let mut lists = Lists::new();
    for w in workers {
        let key = RowKey::new(w.department.clone(), format!("w_{}_{:06}", w.tag, w.id));
        let mut add = |list, partition: &str, of: &str| {
            lists.entry((list, partition.to_owned(), of.to_owned())).or_default().push(key.clone());
        };
        add("name", &w.department, &w.name);
        add("city", &w.city, &w.name);
        if let Some(badge) = w.badge {
            add("badge", &w.department, &badge.to_string());
        }
        let mut skills = w.skills.clone();
        skills.sort();
        skills.dedup();
        for skill in skills.iter().filter(|_| w.active) {
            add("skill", &w.department, skill);
        }
    }
    lists.values_mut().for_each(|keys| keys.sort());
    lists
}

/// The lists of these names, as their paths give them.
pub(super) async fn read(db: &TestDatabase, names: impl IntoIterator<Item = (&'static str, String, String)>) -> Lists {
    let mut lists = Lists::new();
    for (list, partition, of) in names {
        let (keys, count) = match list {
            "name" => {
                let path = || Worker::by_name().department(&partition).name(&of);
                (path().keys(db).await.unwrap(), path().count(db).await.unwrap())
            }
            "city" => {
                let path = || Worker::by_city().city(&partition).name(&of);
                (path().keys(db).await.unwrap(), path().count(db).await.unwrap())
            }
            "badge" => {
                let path = || Worker::by_badge().department(&partition).badge(of.parse::<u32>().unwrap());
                (path().keys(db).await.unwrap(), path().count(db).await.unwrap())
            }
            _ => {
                let path = || Worker::by_skill().department(&partition).skills(&of);
                (path().keys(db).await.unwrap(), path().count(db).await.unwrap())
            }
        };
        assert_eq!(keys.len() as u64, count, "{list} {partition} {of}");
        if !keys.is_empty() {
            lists.insert((list, partition, of), keys);
        }
    }
    lists
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

pub(super) async fn rows_in(store: &dyn TableStore, table: &str) -> BTreeMap<(String, String), Properties> {
    rows_of(store, table).await.into_iter().map(|(key, row)| (key, row.properties)).collect()
}

fn is_of(properties: &Properties, kind: &str) -> bool {
    matches!(properties.get("EntityType"), Some(ValueRef::String(found)) if found == kind)
}

/// The keys of the rows of lists beside their entities: first rows and chunks.
pub(super) async fn list_rows(db: &TestDatabase) -> Vec<(String, String)> {
    let mut rows = rows_in(&*db.store(), "Company").await;
    rows.retain(|_, properties| {
        ["by_name", "by_skill", "by_badge"].iter().any(|list| is_of(properties, &format!("Worker.{list}@1")))
    });
    rows.into_keys().collect()
}

/// That the lists are those of the workers that are there, and no row of a list is left of another.
pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    let workers = workers(db).await;
    let wanted = expected(&workers);
    assert_eq!(read(db, wanted.keys().cloned()).await, wanted, "{told}");
    for (partition, row) in list_rows(db).await {
        let head = row.split(" ~~").next().unwrap();
        let (list, of) = match head.split_once('_').unwrap() {
            ("n", of) => ("name", of.to_owned()),
            ("s", of) => ("skill", of.to_owned()),
            (_, of) => ("badge", of.trim_start_matches('0').to_owned()),
        };
        assert!(wanted.contains_key(&(list, partition, of)), "{told}: {row} is left");
    }
    let cities: Vec<_> =
        rows_in(&*db.store(), "Cities").await.into_iter().filter(|(_, p)| p.get("_dead").is_none()).collect();
    assert_eq!(cities.len(), workers.len(), "{told}");
}
