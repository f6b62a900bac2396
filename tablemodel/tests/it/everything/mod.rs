//! Entities that use every room at once: whatever is done to them, in whatever order, and whatever fails between, the tables
//! hold in the end exactly the rows that FORMAT.md says.
//!
//! Here are the entities, and what the tests share; no test stands here.

mod calls;
mod given_up;
mod golden;
mod model;
mod oracle;
mod recovery;
mod release;
mod rooms;
mod run;
mod sequences;
mod steps;
pub(crate) mod together;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::TryStreamExt;
use tablemodel::{
    Properties, Value,
    blob::{ObjectStore, object_store::ObjectStoreExt},
    prelude::*,
    store::{KeyRange, Query, TableStore, TableStoreExt, clock::ManualClock},
};

/// An entity of one row, with rows of every kind beside it. Its team counts it.
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
#[table(count(Team, key(club = club), into = members, when = active))]
#[table(sum(Team, key(club = club), of = points, into = points))]
#[table(sum(Team, key(club = club), of = rate, into = rates))]
#[table(count(Team, key(club = club), into = heads, when = active), sum(Team, key(club = club), of = rate, into = odds))]
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
    pub(super) rate: Option<f64>,
}

/// Copies from its team, which is beside it, and from its backer, which is not.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", entity_type = "Fan")]
#[table(partition = "{club}", row = "f_{id:02}")]
#[table(index(by_nick, row = "nick_{nick}_{id:02}"))]
#[table(index(home, table = "Cities", partition = "fans_{nick}", row = "f_{club}_{id:02}"))]
#[table(index(by_card, table = "Emails", partition = "card_{card:03}", row = "card", unique, keys_only))]
pub(super) struct Fan {
    pub(super) club: String,
    pub(super) id: u32,
    pub(super) nick: String,
    pub(super) card: Option<u32>,
    #[table(copy_of(Team, key(club = club)))]
    pub(super) team: Option<TeamCard>,
    pub(super) backer: Option<u8>,
    #[table(copy_of(Sponsor, key(id = backer), on_delete = clear))]
    pub(super) backing: Option<SponsorCard>,
}

/// Counts the persons of its club, is copied by their fans, and copies from its sponsor.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", entity_type = "Team")]
#[table(partition = "{club}", row = "team")]
#[table(index(by_title, row = "tt_{title}"))]
#[table(index(titled, table = "Cities", partition = "title_{title}", row = "team_{club}", keep(members, rates)))]
#[table(sharded(heads = i64, odds = f64))]
pub(super) struct Team {
    pub(super) club: String,
    pub(super) title: String,
    pub(super) sponsor_id: Option<u8>,
    #[table(copy_of(Sponsor, key(id = sponsor_id), on_delete = clear))]
    pub(super) sponsor: Option<SponsorCard>,
    #[table(aggregate)]
    pub(super) members: i64,
    #[table(aggregate)]
    pub(super) points: i64,
    #[table(aggregate)]
    pub(super) rates: f64,
}

/// Of all clubs, in another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sponsors", entity_type = "Sponsor")]
#[table(partition = "{id}", row = "sponsor")]
pub(super) struct Sponsor {
    pub(super) id: u8,
    pub(super) name: String,
    pub(super) tier: Option<u8>,
    /// Not copied.
    pub(super) note: u8,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Team)]
pub(super) struct TeamCard {
    pub(super) title: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Sponsor)]
pub(super) struct SponsorCard {
    pub(super) name: String,
    pub(super) tier: Option<u8>,
}

/// An entity of several rows and a blob, in the persons' table and partitions, and in lists that are blobs for more than one.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", entity_type = "Doc", wide)]
#[table(partition = "{club}", row = "d_{id:02}")]
#[table(index(by_title, row = "title_{title}_{id:02}", keys_only))]
#[table(index(by_topic, table = "Cities", partition = "topic_{topic}", row = "t_{club}_{id:02}", keep(title)))]
#[table(index(by_isbn, table = "Emails", partition = "isbn_{isbn:03}", row = "isbn", unique, keys_only))]
#[table(list(titled, row = "docs_{title}", store = blob(inline_below = 10)))]
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
    #[table(blob(inline_below = 8))]
    pub(super) scan: Option<Blob>,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
pub(super) enum Model {
    Person(Person),
    Doc(Doc),
    Team(Team),
    Fan(Fan),
    Sponsor(Sponsor),
}

/// What is done with the value of whatever variant.
macro_rules! of_any {
    ($enum:ident, $value:expr, $inner:pat => $then:expr) => {
        match $value {
            $enum::Person($inner) => $then,
            $enum::Doc($inner) => $then,
            $enum::Team($inner) => $then,
            $enum::Fan($inner) => $then,
            $enum::Sponsor($inner) => $then,
        }
    };
}
use of_any;

/// An entity of any type.
pub(super) type Entity = Model;

/// Partition and row key of an entity.
pub(super) type Key = (String, String);

const CLUBS: [&str; 2] = ["A", "B"];
const SPONSORS: std::ops::Range<u8> = 0..2;
const TABLES: [&str; 4] = ["Everything", "Cities", "Emails", "Sponsors"];

impl Model {
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Person(person) => (person.club.clone(), format!("p_{:05}_{:02}", person.year, person.id)),
            Self::Doc(doc) => (doc.club.clone(), format!("d_{:02}", doc.id)),
            Self::Team(team) => team_key(&team.club),
            Self::Fan(fan) => (fan.club.clone(), format!("f_{:02}", fan.id)),
            Self::Sponsor(sponsor) => sponsor_key(sponsor.id),
        }
    }
}

pub(super) fn team_key(club: &str) -> Key {
    (club.to_owned(), "team".to_owned())
}

pub(super) fn sponsor_key(id: u8) -> Key {
    (format!("{id:03}"), "sponsor".to_owned())
}

/// A database over some store, where its blobs are, and the clock that all go by.
pub(super) struct Stage {
    pub(super) db: Database,
    pub(super) blobs: Arc<dyn ObjectStore>,
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
        for _ in 0..2 {
            self.clock.advance(Duration::from_secs(3_601));
            let _ = self.db.blobs().collect().await.expect("collected");
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
            let fans = Fan::find().club(club).all(&self.db).await.expect("readable");
            entities.extend(fans.into_iter().map(|stored| Entity::Fan(stored.into_inner())));
            let team = Team::find().club(club).one(&self.db).await.expect("readable");
            entities.extend(team.into_iter().map(|stored| Entity::Team(stored.into_inner())));
        }
        for id in SPONSORS {
            let sponsor = Sponsor::find().id(id).one(&self.db).await.expect("readable");
            entities.extend(sponsor.into_iter().map(|stored| Entity::Sponsor(stored.into_inner())));
        }
        entities.into_iter().map(|entity| (entity.key(), entity)).collect()
    }

    /// Every blob, and what else stands with the blobs, by name.
    pub(super) async fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let all: Vec<_> = self.blobs.list(None).try_collect().await.expect("listed");
        let mut objects = BTreeMap::new();
        for object in all.into_iter().filter(|object| object.location.as_ref() != "=now") {
            let content = self.blobs.get(&object.location).await.expect("there").bytes().await.expect("read");
            objects.insert(object.location.to_string(), content.to_vec());
        }
        objects
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

/// What the tables hold, without what differs from write to write.
pub(super) async fn contents(stage: &Stage) -> BTreeMap<(String, String, String), BTreeMap<String, Value>> {
    oracle::physical(stage.rows().await, stage.objects().await).rows
}

async fn rows_in(store: &Arc<dyn TableStore>, table: &str) -> BTreeMap<(String, String, String), Properties> {
    let rows = match store.query_all(&Query::new(table, KeyRange::table())).await {
        Ok(rows) => rows,
        Err(error) if error.kind() == tablemodel::store::StoreErrorKind::TableNotFound => return BTreeMap::new(),
        Err(error) => panic!("{table}: {error}"),
    };
    rows.into_iter().map(|row| ((table.into(), row.key.partition, row.key.row), row.properties)).collect()
}
