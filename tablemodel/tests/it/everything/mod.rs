//! Entities that use every room at once: whatever is done to them, in whatever order, and whatever fails between, the tables
//! hold in the end exactly the rows that FORMAT.md says.
//!
//! Here are the entities, and what the tests share; no test stands here.

mod model;
mod oracle;
mod rooms;
mod run;
mod sequences;
mod steps;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tablemodel::{
    Properties,
    prelude::*,
    store::{KeyRange, Query, TableStore, clock::ManualClock},
};

/// An entity of one row, with rows of every kind beside it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", entity_type = "Person", version = 2)]
#[table(partition = "{club}", row = "p_{year}_{id:02}")]
#[table(index(by_name, row = "name_{name}_{year}_{id:02}"))]
#[table(index(by_zip, row = "zip_{zip}_{year}_{id:02}", keep(name, points)))]
#[table(index(actives, row = "active_{year}_{id:02}", when = active, keys_only))]
#[table(index(by_seat, row = "seat_{seat:03}", unique, keep(name)))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "c_{club}_{year}_{id:02}"))]
#[table(index(by_rank, table = "Cities", partition = "rank_{zip}", row = "r_{club}_{year}_{id:02}", when = active, keep(points)))]
#[table(index(by_skill, partition = "skill_{skills}", row = "s_{club}_{year}_{id:02}", each(skills), keys_only))]
#[table(index(by_email, table = "Emails", partition = "{email:lower}", row = "email", unique, keep(name)))]
#[table(list(ids_by_zip, row = "ids_{zip}", when = active))]
#[table(list(called, table = "Cities", partition = "called_{name}", row = "all"))]
pub(super) struct Person {
    pub(super) club: String,
    pub(super) year: u16,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) zip: Option<u8>,
    pub(super) active: bool,
    pub(super) seat: Option<u32>,
    pub(super) city: String,
    #[table(json)]
    pub(super) skills: Vec<String>,
    pub(super) email: Option<String>,
    pub(super) points: i64,
}

/// An entity of several rows, in the persons' table and partitions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", entity_type = "Doc", wide)]
#[table(partition = "{club}", row = "d_{id:02}")]
#[table(index(by_title, row = "title_{title}_{id:02}", keys_only))]
#[table(index(by_topic, table = "Cities", partition = "topic_{topic}", row = "t_{club}_{id:02}", keep(title)))]
#[table(index(by_isbn, table = "Emails", partition = "isbn_{isbn:03}", row = "isbn", unique, keys_only))]
pub(super) struct Doc {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) title: String,
    pub(super) topic: Option<String>,
    pub(super) isbn: Option<u32>,
    #[table(chunked)]
    pub(super) body: String,
    #[table(part = "counts")]
    pub(super) reads: i64,
    #[table(part = "counts")]
    pub(super) likes: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
pub(super) enum Model {
    Person(Person),
    Doc(Doc),
}

/// An entity of either type.
pub(super) type Entity = Model;

/// Partition and row key of an entity.
pub(super) type Key = (String, String);

const CLUBS: [&str; 2] = ["A", "B"];
const TABLES: [&str; 3] = ["Everything", "Cities", "Emails"];

impl Model {
    pub(super) fn club(&self) -> &str {
        match self {
            Self::Person(person) => &person.club,
            Self::Doc(doc) => &doc.club,
        }
    }

    pub(super) fn key(&self) -> Key {
        let row = match self {
            Self::Person(person) => format!("p_{:05}_{:02}", person.year, person.id),
            Self::Doc(doc) => format!("d_{:02}", doc.id),
        };
        (self.club().to_owned(), row)
    }
}

/// A database over some store, and the clock that both go by.
pub(super) struct Stage {
    pub(super) db: Database,
    pub(super) clock: ManualClock,
}

impl Stage {
    pub(super) fn is_atomic(&self) -> bool {
        self.db.consistency() == tablemodel::Consistency::Atomic
    }

    /// Until everything is delivered, and all that waited for the fence is swept.
    pub(super) async fn settle(&self) {
        for round in 0.. {
            assert!(round < 20, "the relay does not settle: {:?}", self.db.relay().poisoned().await);
            self.clock.advance(Duration::from_secs(61));
            if self.db.relay().run_once().await.expect("the relay runs").is_settled() {
                break;
            }
        }
        for _ in 0..3 {
            self.clock.advance(Duration::from_secs(1_201));
            self.db.relay().run_once().await.expect("the relay runs");
        }
    }

    /// Every entity that is there, by its key.
    pub(super) async fn entities(&self) -> BTreeMap<Key, Entity> {
        let mut entities = Vec::new();
        for club in CLUBS {
            let persons = Person::find().club(club).all(&self.db).await.expect("readable");
            entities.extend(persons.into_iter().map(|stored| Entity::Person(stored.into_inner())));
            let docs = Doc::find().club(club).all(&self.db).await.expect("readable");
            entities.extend(docs.into_iter().map(|stored| Entity::Doc(stored.into_inner())));
        }
        entities.into_iter().map(|entity| (entity.key(), entity)).collect()
    }

    /// Every row, by table, partition and row key; of the framework's table of markers all but its clock.
    pub(super) async fn rows(&self) -> BTreeMap<(String, String, String), Properties> {
        let store = self.db.store();
        let mut rows = BTreeMap::new();
        for table in TABLES.into_iter().chain(["tmdirty"]) {
            rows.extend(rows_in(store, table).await);
        }
        rows.retain(|(table, partition, _), _| table != "tmdirty" || partition != "clock");
        rows
    }
}

async fn rows_in(store: &Arc<dyn TableStore>, table: &str) -> BTreeMap<(String, String, String), Properties> {
    let mut query = Query::new(table, KeyRange::table());
    let mut rows = BTreeMap::new();
    loop {
        let page = match store.query(&query).await {
            Ok(page) => page,
            Err(error) if error.kind() == tablemodel::store::StoreErrorKind::TableNotFound => return rows,
            Err(error) => panic!("{table}: {error}"),
        };
        rows.extend(page.rows.into_iter().map(|row| ((table.into(), row.key.partition, row.key.row), row.properties)));
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return rows,
        }
    }
}
