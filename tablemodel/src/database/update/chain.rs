//! Updates of one entity by many tasks: each changes what the one before it left, in its own task, and one write saves what came of all.
//!
//! Who has the turn hands what it has made to those who wait for theirs, one after the other, and saves the last. Each is told what it left,
//! once that is stored; where it is not, each looks again. All of them see to the write, as of those that [go together](super::super::execute::company).

use std::{any::TypeId, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{
    FutureExt as _,
    future::{Either, select},
};
use tablemodel_store::RowKey;
use tokio::sync::oneshot;

use crate::{
    database::{
        Database, Registered,
        execute::{Asked, Outcome, waits::Waits},
        seat::{Making, Seat},
    },
    entity::{FieldReader, TableEntity},
    error::{Error, ErrorKind, Result},
    key::NO_VALUES,
    plan::{
        change::Change,
        entries::{Entry, entries},
        group::Group,
        image::{Image, invalid},
    },
    stored::Stored,
};

/// Updates that one write saves, at most.
const MOST: usize = 64;

/// An update that waits for its turn.
pub(in crate::database) struct Link {
    /// The type that it changes.
    of: TypeId,
    key: RowKey,
    given: oneshot::Sender<Upon>,
}

impl Link {
    /// Of the entity of this type at this key; and where it is told what to change.
    pub(super) fn of(of: TypeId, key: RowKey) -> (Self, oneshot::Receiver<Upon>) {
        let (given, upon) = oneshot::channel();
        (Self { of, key, given }, upon)
    }
}

/// What an update is made upon: what those before it left, which is not stored yet.
pub(super) struct Upon {
    image: Image,
    reply: oneshot::Sender<Reply>,
}

/// What came of an update.
struct Reply {
    /// None where it was refused: the entity stays as it was given.
    image: Option<Image>,
    /// Tells that it is about to be saved, and by what.
    begin: oneshot::Sender<Making>,
    answer: Answer,
}

/// Tells what became of the write: the rows as the update left them; none of one that was refused.
type Answer = oneshot::Sender<Result<Outcome>>;

/// What became of an update that was made upon another.
pub(super) enum Made<E> {
    /// It is saved.
    Saved(Stored<E>),
    /// The caller's own refusal, of what is stored by now.
    Refused(Error),
    /// What it was made upon is not stored: it has to look again; or by itself alone, if it is about this error.
    Again(Option<Error>),
    /// It cannot be made upon others.
    Alone,
}

impl Upon {
    /// Changes what is given, and waits until it is stored.
    pub(super) async fn make<E: TableEntity>(self, change: &mut impl FnMut(&mut E) -> Result<()>) -> Made<E> {
        let (image, refused) = match changed(&self.image, change) {
            Ok(image) if image.key != self.image.key || takes_values(&self.image, &image) => return Made::Alone,
            Ok(image) => (Some(image), None),
            Err(error) => (None, Some(error)),
        };
        let ((begin, begun), (answer, told)) = (oneshot::channel(), oneshot::channel());
        if self.reply.send(Reply { image, begin, answer }).is_err() {
            return Made::Again(None); // whoever had the turn has gone
        }
        let Ok(making) = begun.await else { return Made::Again(None) };
        match (ended(making, told).await, refused) {
            (Ok(_), Some(refused)) => Made::Refused(refused),
            (Err(_), Some(_)) | (Ok(None), None) => Made::Again(None),
            (Ok(Some(rows)), None) => Stored::read(rows).map_or_else(Made::Refused, Made::Saved),
            (Err(error), None) => Made::Again(Some(error)),
        }
    }
}

/// What the change makes of an image.
fn changed<E: TableEntity>(image: &Image, change: &mut impl FnMut(&mut E) -> Result<()>) -> Result<Image> {
    let read = E::read_fields(&FieldReader::new(&image.fields, &NO_VALUES));
    let mut value = read.map_err(|error| invalid(image.schema, error))?;
    change(&mut value)?;
    Image::of(&value)
}

/// Whether it has another value that is to be unique: it must be free, also where the next update lets it go.
fn takes_values(before: &Image, after: &Image) -> bool {
    let schema = after.schema;
    let values = |image: &Image| -> Result<Vec<_>> {
        let is_unique = |entry: &Entry| schema.index_at(entry.index).is_some_and(|index| index.unique);
        Ok(entries(image)?.into_iter().filter(is_unique).map(|entry| (entry.index, entry.away, entry.row)).collect())
    };
    schema.indexes.iter().any(|index| index.unique) && values(before).ok() != values(after).ok()
}

/// Waits for the answer, and sees to it that it comes.
async fn ended(making: Making, told: oneshot::Receiver<Result<Outcome>>) -> Result<Outcome> {
    let told = match select(told, making).await {
        Either::Left((told, _)) => told,
        Either::Right(((), told)) => told.await,
    };
    told.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::OutcomeUnknown, "the write ended by a panic, and whether it happened cannot be told"))
    })
}

/// What one write is to save.
pub(super) struct Chain {
    /// The type that all of them change.
    of: TypeId,
    /// The first is that of the update that leads.
    changes: Vec<Change>,
    last: Image,
    links: Vec<(Option<usize>, Answer)>,
    begin: Vec<oneshot::Sender<Making>>,
}

impl Chain {
    /// Of an entity that was read, and is changed.
    pub(super) fn of<E: TableEntity>(old: Group, new: Image) -> Self {
        let changes = vec![Change::Save { old, new: new.clone() }];
        Self { of: TypeId::of::<E>(), changes, last: new, links: Vec::new(), begin: Vec::new() }
    }

    /// Lets each of those who wait change what came of those before it.
    pub(super) async fn hand_around(&mut self, seats: Vec<Seat<Link>>) {
        for seat in seats.into_iter().take(MOST) {
            let is_of_it = |link: &Link| link.of == self.of && link.key == self.last.key;
            let Some(link) = seat.take_along(|link| is_of_it(link) && !link.given.is_closed()) else { continue };
            let (reply, replied) = oneshot::channel();
            let given = link.given.send(Upon { image: self.last.clone(), reply });
            if given.is_ok()
                && let Ok(reply) = replied.await
            {
                self.add(reply);
            }
        }
    }

    fn add(&mut self, reply: Reply) {
        let number = reply.image.as_ref().map(|_| self.changes.len());
        if let Some(image) = reply.image {
            self.changes.push(Change::Upsert(image.clone()));
            self.last = image;
        }
        self.links.push((number, reply.answer));
        self.begin.push(reply.begin);
    }

    /// Whether nobody else has changed anything.
    pub(super) fn is_of_one(&self) -> bool {
        self.links.is_empty()
    }

    /// Saves what came of all; the rows as the first left them.
    pub(super) async fn save(mut self, db: &Database, registered: Arc<Registered>, waits: Waits) -> Result<Outcome> {
        let (answer, told) = oneshot::channel();
        self.links.push((Some(0), answer));
        let (db, changes, links) = (db.clone(), self.changes, self.links);
        let saved = async move { save(&db, &registered, &changes, links, waits).await };
        let making = AssertUnwindSafe(saved).catch_unwind().map(drop).boxed().shared();
        for begin in self.begin {
            drop(begin.send(making.clone())); // who does not wait any more
        }
        ended(making, told).await
    }
}

async fn save(
    db: &Database,
    registered: &Registered,
    changes: &[Change],
    links: Vec<(Option<usize>, Answer)>,
    mut waits: Waits,
) {
    let partition = changes.first().map_or("", |change| &change.key().partition);
    let saved = db.run(registered, partition, changes, Asked::ALONG, &mut waits).await.map_err(Error::alone);
    for (number, answer) in links {
        let told = saved.as_ref().map(|outcomes| number.and_then(|number| outcomes.get(number).cloned().flatten()));
        drop(answer.send(told.map_err(Error::clone))); // who does not wait any more
    }
}
