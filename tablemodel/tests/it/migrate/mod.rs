//! Indexes that are added to entities which are there already: built beside writers, through any fault, and taken away again.
//!
//! One store, and programs of two releases over it; time passes where somebody sleeps.

mod abreast;
mod aggregates;
mod aside;
mod behind;
mod beside;
mod building;
mod busy;
mod copies;
mod crashes;
mod crowd;
mod crowded;
mod dropped;
mod followers;
mod given_up;
mod held;
mod joining;
mod kept;
mod lacking;
mod lapsed;
mod layouts;
mod leases;
mod many;
mod named;
mod narrowed;
mod noticed;
mod oversized;
mod overtaken;
mod recopied;
mod recounted;
mod redefined;
mod renamed;
mod renewed;
mod replaced;
mod resharded;
mod rewrites;
mod sized;
mod stalled;
mod succeeded;
mod tables;
mod together;
mod unclosed;
mod undoing;
mod unread;

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tablemodel::{
    Consistency, IndexState, Random, Row,
    prelude::*,
    store::{
        TableStore,
        clock::{ManualClock, Sleep},
    },
    testing::TestDatabase,
};

/// The first release: no index.
pub(crate) mod first {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) city: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }

    pub(crate) fn person(club: &str, id: u32) -> Person {
        let city = ["Oslo", "Rome", "Bern"][id as usize % 3].to_owned();
        Person { club: club.into(), id, name: format!("n{}", id % 7), city, badge: None, visits: 0 }
    }
}

/// The second: an index beside the entity, one elsewhere, and two lists.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
#[table(index(by_city, row = "city_{city}_{id:04}", keep(visits)))]
#[table(index(by_name, table = "People", partition = "{name}", row = "{club}_{id:04}", keys_only))]
#[table(list(of_city, row = "l_{city}"))]
#[table(list(of_name, table = "Names", partition = "{name}", row = "in_{city}"))]
pub(crate) struct Person {
    pub(crate) club: String,
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) city: String,
    pub(crate) badge: Option<u32>,
    pub(crate) visits: i64,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
pub(crate) enum Club {
    Person(Person),
}

/// The third: a badge belongs to one person of a club.
pub(crate) mod unique {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_badge, row = "badge_{badge:06}", unique, keys_only))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) city: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// The same, over all clubs.
pub(crate) mod claimed {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_badge, table = "Badges", partition = "{badge:06}", row = "badge", unique, keys_only))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) city: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

pub(crate) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

/// An empty store of the first release.
pub(crate) async fn store(mode: Consistency) -> TestDatabase {
    store_of::<first::Club>(mode).await
}

/// An empty store of a model.
pub(crate) async fn store_of<M: TableModel>(mode: Consistency) -> TestDatabase {
    let made = match mode {
        Consistency::Azure => TestDatabase::new::<M>().await,
        Consistency::Atomic => TestDatabase::atomic::<M>().await,
    };
    made.expect("a database in memory")
}

/// So many persons in so many clubs, as the first release wrote them; that program has ended.
pub(crate) async fn filled(mode: Consistency, clubs: u32, persons: u32) -> TestDatabase {
    written(mode, clubs, persons, |person| person).await
}

/// The same, each with a badge that nobody else of the club has.
pub(crate) async fn badged(mode: Consistency, clubs: u32, persons: u32) -> TestDatabase {
    written(mode, clubs, persons, |person| first::Person { badge: Some(person.id), ..person }).await
}

async fn written(
    mode: Consistency,
    clubs: u32,
    persons: u32,
    change: fn(first::Person) -> first::Person,
) -> TestDatabase {
    let db = store(mode).await;
    let all = (0..clubs).flat_map(|club| (0..persons).map(move |id| first::person(&format!("c{club}"), id)));
    let report = db.bulk().insert_all(futures_util::stream::iter(all.map(change))).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    db.clock().advance(Duration::from_secs(130));
    db
}

/// A program over the store: sleeping takes time, and lets others run.
pub(crate) async fn program<M: TableModel>(db: &TestDatabase) -> Database {
    db.fail(tablemodel::testing::Script::new());
    program_over::<M>(db, db.store()).await
}

/// The same, over another way to the store.
pub(crate) async fn program_over<M: TableModel>(db: &TestDatabase, store: Arc<dyn TableStore>) -> Database {
    named::<M>(db, store, "test").await
}

/// The same, which says how it is called.
async fn named<M: TableModel>(db: &TestDatabase, store: Arc<dyn TableStore>, name: &str) -> Database {
    let random = Arc::new(Counter(AtomicU64::new(NEXT.replace(NEXT.get() + (1 << 32)))));
    let builder = Database::builder().clock(Arc::new(db.clock().clone())).random(random);
    let builder = builder.sleep(Arc::new(Passing(db.clock().clone()))).deadline(Duration::MAX);
    let builder = builder.blobs(db.blob_store()).program(name);
    builder.consistency(db.consistency()).with_store::<M>(store).await.expect("opened")
}

/// The same, with its tables; nothing is built yet where that takes a migration.
pub(crate) async fn next<M: TableModel>(db: &TestDatabase) -> Database {
    let program = program::<M>(db).await;
    program.ensure_tables().await.expect("ensured");
    program
}

thread_local! {
    /// Not where that of a `TestDatabase` begins: no two programs of a test have one name. Each test has the same ones whichever run beside it.
    static NEXT: Cell<u64> = const { Cell::new(1 << 31) };
}

struct Counter(AtomicU64);

impl Random for Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}

pub(crate) struct Passing(pub(crate) ManualClock);

#[async_trait::async_trait]
impl Sleep for Passing {
    async fn sleep(&self, time: Duration) {
        if time == Duration::MAX {
            std::future::pending().await
        }
        self.0.advance(time);
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn assert_clean(db: &Database, told: &str) {
    if db.consistency() == Consistency::Azure {
        db.relay().drain().await.expect("drained");
    }
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{told}: {:#?}", verified.violations);
}

/// That every path of the second release gives exactly the persons that there are.
pub(crate) async fn assert_built(db: &Database, told: &str) {
    assert_clean(db, told).await;
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    let rows: Vec<Row> = all_rows(db, "Club").await;
    let persons = rows.iter().filter(|row| row.key.row.starts_with("p_")).count();
    let of_kind = |rows: &[Row], kind: &str| {
        let is = |row: &&Row| matches!(row.properties.get("EntityType"), Some(tablemodel::ValueRef::String(text)) if text.starts_with(kind));
        let live = |row: &&Row| row.properties.get("_dead").is_none();
        rows.iter().filter(is).filter(live).count()
    };
    assert_eq!(of_kind(&rows, "Person.by_city@"), persons, "{told}");
    assert_eq!(of_kind(&all_rows(db, "People").await, "Person.by_name@"), persons, "{told}");
    let mut listed = 0;
    for club in rows.chunk_by(|a, b| a.key.partition == b.key.partition) {
        for city in ["Oslo", "Rome", "Bern", "Paris", "Kyiv"] {
            let keys = Person::of_city().club(&club[0].key.partition).city(city).keys(db).await.expect("readable");
            listed += keys.len();
        }
    }
    assert_eq!(listed, persons, "{told}");
}

pub(crate) async fn all_rows(db: &Database, table: &str) -> Vec<Row> {
    crate::tools::rows_of(&**db.store(), table).await.into_values().collect()
}

pub(crate) async fn states(db: &Database) -> Vec<IndexState> {
    let status = db.migrations().status().await.expect("read").expect("a migration");
    status.steps.into_iter().map(|step| step.state).collect()
}
