//! What a step is in calls of the database.
//!
//! Nothing is compared or remembered here.

use std::pin::Pin;

use tablemodel::{Error, Result, prelude::*};

use super::{
    CLUBS, Doc, Entity, Fan, Key, Person, Sponsor, Team, of_any,
    steps::{Edit, Editable, Step},
};

/// What is done with the path to the entity of a key.
macro_rules! at {
    ($key:expr, $path:ident => $then:expr) => {{
        let (partition, row): (&str, &str) = (&$key.0, &$key.1);
        let tail = row.get(2..).expect("a key");
        match &row[..2] {
            "p_" => {
                let (year, id) = tail.split_once('_').expect("a key");
                let (year, id): (u16, u32) = (year.parse().expect("a year"), id.parse().expect("an id"));
                let $path = Person::find().club(partition).year(year).id(id);
                $then
            }
            "d_" => {
                let $path = Doc::find().club(partition).id(tail.parse::<u32>().expect("an id"));
                $then
            }
            "f_" => {
                let $path = Fan::find().club(partition).id(tail.parse::<u32>().expect("an id"));
                $then
            }
            "te" => {
                let $path = Team::find().club(partition);
                $then
            }
            _ => {
                let $path = Sponsor::find().id(partition.parse::<u8>().expect("an id"));
                $then
            }
        }
    }};
}

/// What was read, as the caller holds it.
#[derive(Debug, Clone)]
pub(super) enum Handle {
    Person(Stored<Person>),
    Doc(Stored<Doc>),
    Team(Stored<Team>),
    Fan(Stored<Fan>),
    Sponsor(Stored<Sponsor>),
}

macro_rules! from_stored {
    ($($kind:ident)*) => {$(
        impl From<Stored<$kind>> for Handle {
            fn from(stored: Stored<$kind>) -> Self {
                Self::$kind(stored)
            }
        }
    )*};
}
from_stored! { Person Doc Team Fan Sponsor }

impl Handle {
    /// The entity of a key, where there is one.
    pub(super) async fn read(db: &Database, key: &Key) -> Result<Option<Self>> {
        Ok(at!(key, path => Box::pin(path.one(db)).await?.map(Self::from)))
    }

    pub(super) fn edit(&mut self, edit: &Edit, moves: bool) {
        of_any!(Self, self, stored => (**stored).edit(edit, moves));
    }

    /// What it is now.
    pub(super) fn entity(&self) -> Entity {
        match self.clone() {
            Self::Person(stored) => Entity::Person(stored.into_inner()),
            Self::Doc(stored) => Entity::Doc(stored.into_inner()),
            Self::Team(stored) => Entity::Team(stored.into_inner()),
            Self::Fan(stored) => Entity::Fan(stored.into_inner()),
            Self::Sponsor(stored) => Entity::Sponsor(stored.into_inner()),
        }
    }
}

/// Made and kept on the heap: a caller with many futures has none of them in its frame.
pub(super) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// Inserts them all, those of one type at a time: what went wrong.
pub(super) async fn bulk(db: &Database, entities: &[Entity]) -> Vec<Error> {
    let (mut persons, mut docs, mut teams, mut fans, mut sponsors) = (vec![], vec![], vec![], vec![], vec![]);
    for entity in entities.iter().cloned() {
        match entity {
            Entity::Person(person) => persons.push(person),
            Entity::Doc(doc) => docs.push(doc),
            Entity::Team(team) => teams.push(team),
            Entity::Fan(fan) => fans.push(fan),
            Entity::Sponsor(sponsor) => sponsors.push(sponsor),
        }
    }
    let mut failed = insert_all(db, persons).await;
    failed.extend(insert_all(db, docs).await);
    failed.extend(insert_all(db, teams).await);
    failed.extend(insert_all(db, fans).await);
    failed.extend(insert_all(db, sponsors).await);
    failed
}

async fn insert_all<E: TableEntity + Send + 'static>(db: &Database, entities: Vec<E>) -> Vec<Error> {
    let inserted = db.bulk().insert_all(futures_util::stream::iter(entities));
    Box::pin(inserted.into_future()).await.expect("bulk runs").failed
}

/// One change; through the handle, where it goes through one.
pub(super) async fn single(db: &Database, step: &Step, handle: Option<&mut Handle>) -> Result<()> {
    match (step, handle) {
        (Step::Insert(entity), _) => of_any!(Entity, entity, entity => boxed(|| db.insert(entity)).await.map(drop)),
        (Step::Upsert(entity), _) => of_any!(Entity, entity, entity => boxed(|| db.upsert(entity)).await.map(drop)),
        (Step::Update(key, edit), _) => {
            at!(key, path => boxed(|| db.update(path, |there| Ok(there.edit(edit, false)))).await.map(drop))
        }
        (Step::Patch(club, id, reads, likes), _) => {
            let path = Doc::find().club(CLUBS[usize::from(*club)]).id(*id);
            db.patch(path, Doc::READS.set(*reads).and(Doc::LIKES.set(*likes))).await
        }
        (Step::Rename(id, name), _) => db.patch(Sponsor::find().id(*id), Sponsor::NAME.set(name.clone())).await,
        (Step::Save(..), Some(handle)) => of_any!(Handle, handle, stored => boxed(|| db.save(stored)).await),
        (Step::Rekey(..), Some(handle)) => of_any!(Handle, handle, stored => boxed(|| db.rekey(stored)).await),
        (Step::Delete(_), Some(handle)) => of_any!(Handle, handle, stored => boxed(|| db.delete(stored.clone())).await),
        _ => unreachable!("not a change"),
    }
}

/// Changes of one partition, at once.
pub(super) async fn batch<'s>(
    db: &Database,
    club: &str,
    parts: impl IntoIterator<Item = (&'s Step, Option<&'s mut Handle>)>,
) -> Result<()> {
    let mut batch = db.batch(Person::in_partition(club));
    for part in parts {
        match part {
            (Step::Insert(entity), _) => of_any!(Entity, entity, entity => drop(batch.insert(entity))),
            (Step::Upsert(entity), _) => of_any!(Entity, entity, entity => drop(batch.upsert(entity))),
            (Step::Patch(club, id, reads, likes), _) => {
                let path = Doc::find().club(CLUBS[usize::from(*club)]).id(*id);
                batch.patch(path, Doc::READS.set(*reads).and(Doc::LIKES.set(*likes)));
            }
            (Step::Save(..), Some(handle)) => of_any!(Handle, handle, stored => drop(batch.save(stored))),
            (Step::Delete(_), Some(handle)) => of_any!(Handle, handle, stored => drop(batch.delete(stored.clone()))),
            _ => unreachable!("not a change of a batch"),
        };
    }
    Box::pin(batch.commit()).await
}

pub(super) fn doc_key(club: u8, id: u32) -> Key {
    (CLUBS[usize::from(club)].to_owned(), format!("d_{id:02}"))
}
