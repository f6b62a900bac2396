//! What a step is in calls of the database.
//!
//! Nothing is compared or remembered here.

use std::pin::Pin;

use tablemodel::{Error, Result, prelude::*};

use super::{
    CLUBS, Doc, Entity, Fan, Key, Person, Sponsor, Team, of_any,
    release::{Form, Kept, Newest, Release},
    steps::{Edit, Editable, Step},
};

/// What was read, as the caller holds it.
#[derive(Debug, Clone)]
pub(super) enum Handle<R: Release = Newest> {
    Person(Stored<R::Of<Person>>),
    Doc(Stored<R::Of<Doc>>),
    Team(Stored<R::Of<Team>>),
    Fan(Stored<R::Of<Fan>>),
    Sponsor(Stored<R::Of<Sponsor>>),
}

impl<R: Release> Handle<R> {
    /// The entity of a key, where there is one.
    pub(super) async fn read(db: &Database, key: &Key) -> Result<Option<Self>> {
        Ok(match &key.1[..2] {
            "p_" => one(db, key).await?.map(Self::Person),
            "d_" => one(db, key).await?.map(Self::Doc),
            "f_" => one(db, key).await?.map(Self::Fan),
            "te" => one(db, key).await?.map(Self::Team),
            _ => one(db, key).await?.map(Self::Sponsor),
        })
    }

    pub(super) fn edit(&mut self, edit: &Edit, moves: bool) {
        of_any!(Self, self, stored => stored.it_mut().edit(edit, moves));
    }

    /// What it is now.
    pub(super) fn entity(&self) -> Entity {
        match self.clone() {
            Self::Person(stored) => Entity::Person(stored.into_inner().it()),
            Self::Doc(stored) => Entity::Doc(stored.into_inner().it()),
            Self::Team(stored) => Entity::Team(stored.into_inner().it()),
            Self::Fan(stored) => Entity::Fan(stored.into_inner().it()),
            Self::Sponsor(stored) => Entity::Sponsor(stored.into_inner().it()),
        }
    }
}

async fn one<F: Form>(db: &Database, key: &Key) -> Result<Option<Stored<F>>> {
    Box::pin(F::at(key).one(db)).await
}

async fn update<F: Form<Of: Editable>>(db: &Database, key: &Key, edit: &Edit) -> Result<()> {
    boxed(|| db.update(F::at(key), |there| Ok(there.it_mut().edit(edit, false)))).await.map(drop)
}

/// As the release keeps it.
fn formed<R: Release, E: Kept>(entity: &E) -> R::Of<E> {
    R::Of::<E>::of(entity.clone())
}

/// Made and kept on the heap: a caller with many futures has none of them in its frame.
pub(super) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// Inserts them all, those of one type at a time: what went wrong.
pub(super) async fn bulk<R: Release>(db: &Database, entities: &[Entity]) -> Vec<Error> {
    let (mut persons, mut docs, mut teams, mut fans, mut sponsors) = (vec![], vec![], vec![], vec![], vec![]);
    for entity in entities {
        match entity {
            Entity::Person(person) => persons.push(formed::<R, _>(person)),
            Entity::Doc(doc) => docs.push(formed::<R, _>(doc)),
            Entity::Team(team) => teams.push(formed::<R, _>(team)),
            Entity::Fan(fan) => fans.push(formed::<R, _>(fan)),
            Entity::Sponsor(sponsor) => sponsors.push(formed::<R, _>(sponsor)),
        }
    }
    let mut failed = insert_all(db, persons).await;
    failed.extend(insert_all(db, docs).await);
    failed.extend(insert_all(db, teams).await);
    failed.extend(insert_all(db, fans).await);
    failed.extend(insert_all(db, sponsors).await);
    failed
}

async fn insert_all<E: TableEntity>(db: &Database, entities: Vec<E>) -> Vec<Error> {
    let inserted = db.bulk().insert_all(futures_util::stream::iter(entities));
    Box::pin(inserted.into_future()).await.expect("bulk runs").failed
}

async fn insert<R: Release, E: Kept>(db: &Database, entity: &E) -> Result<()> {
    boxed(|| async { db.insert(&formed::<R, E>(entity)).await }).await.map(drop)
}

async fn upsert<R: Release, E: Kept>(db: &Database, entity: &E) -> Result<()> {
    boxed(|| async { db.upsert(&formed::<R, E>(entity)).await }).await.map(drop)
}

/// One change; through the handle, where it goes through one.
pub(super) async fn single<R: Release>(db: &Database, step: &Step, handle: Option<&mut Handle<R>>) -> Result<()> {
    match (step, handle) {
        (Step::Insert(entity), _) => of_any!(Entity, entity, entity => insert::<R, _>(db, entity).await),
        (Step::Upsert(entity), _) => of_any!(Entity, entity, entity => upsert::<R, _>(db, entity).await),
        (Step::Update(key, edit), _) => match &key.1[..2] {
            "p_" => update::<R::Of<Person>>(db, key, edit).await,
            "d_" => update::<R::Of<Doc>>(db, key, edit).await,
            "f_" => update::<R::Of<Fan>>(db, key, edit).await,
            "te" => update::<R::Of<Team>>(db, key, edit).await,
            _ => update::<R::Of<Sponsor>>(db, key, edit).await,
        },
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
pub(super) async fn batch<'s, R: Release>(
    db: &Database,
    club: &str,
    parts: impl IntoIterator<Item = (&'s Step, Option<&'s mut Handle<R>>)>,
) -> Result<()> {
    let mut batch = db.batch(R::Of::<Person>::in_club(club));
    for part in parts {
        match part {
            (Step::Insert(entity), _) => of_any!(Entity, entity, entity => drop(batch.insert(&formed::<R, _>(entity)))),
            (Step::Upsert(entity), _) => of_any!(Entity, entity, entity => drop(batch.upsert(&formed::<R, _>(entity)))),
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
