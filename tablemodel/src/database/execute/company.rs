//! Company: single changes of many tasks that meet in a row are made together by one of them, whose turn it is. What they meet in is then
//! read and written once for all, and not by each of them in its turn.
//!
//! Who waits for a turn sits where it may be taken along, and is told what became of its change. They are one batch, or one commit where
//! the store can; in halves where one of them is refused, so that each is told what it would be told alone. All of them see to it that this goes
//! on: that one goes away, whoever it is, is nothing to the others.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, Shared, select},
};
use tablemodel_store::{RowKey, limits, size};
use tokio::sync::oneshot;

use super::{Asked, Outcome, Run, waits::Waits};
use crate::{
    database::{Database, Registered, bulk::rows_each, halves::Halves, turns::Meeting},
    error::Result,
    plan::{change::Change, image::Image},
    schema::EntitySchema,
};

/// Changes that are made together, at most.
const MOST: usize = 256;
/// Bytes of what they write, as they are in memory; whether they fit into a batch is checked when it is planned.
const MOST_BYTES: usize = 1024 * 1024;

/// The making of changes together: it goes on while any of those waits whose changes they are.
type Making = Shared<BoxFuture<'static, ()>>;

/// A change of a task that waits for its turn.
struct Companion {
    change: Change,
    /// Tells that it is taken along, and by what it is made.
    begin: oneshot::Sender<Making>,
    /// Tells what became of it.
    answer: oneshot::Sender<Result<Outcome>>,
}

/// Where one waits who may be taken along. Clones are one.
#[derive(Clone)]
pub(in crate::database) struct Seat(Arc<Mutex<Option<Companion>>>);

impl PartialEq for Seat {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("is_free", &self.companion().is_none()).finish()
    }
}

impl Seat {
    fn of(companion: Companion) -> Self {
        Self(Arc::new(Mutex::new(Some(companion))))
    }

    fn companion(&self) -> MutexGuard<'_, Option<Companion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes along who sits there, and still waits, if it fits.
    fn take_along(&self, fits: impl FnOnce(&Change) -> bool) -> Option<Companion> {
        self.companion().take_if(|companion| !companion.answer.is_closed() && fits(&companion.change))
    }

    /// Who sits there leaves by itself; none where it was taken along.
    fn leave(&self) -> Option<Companion> {
        self.companion().take()
    }
}

/// How a wait for turns ended.
pub(super) enum Met {
    /// Whether it waited for them, and has them all.
    Turns(bool),
    /// The change was made with others: what became of it.
    Along(Result<Outcome>),
}

impl Run<'_> {
    /// Waits for turns at these rows, unless it has them, and goes along with others who meet there.
    pub(super) async fn meet(&mut self, at: BTreeSet<Meeting>, changes: &[Change]) -> Met {
        let Some(change) = self.companion(changes) else {
            return Met::Turns(Box::pin(self.db.turns(at, self.waits.turns())).await);
        };
        let ((begin, begun), (answer, told)) = (oneshot::channel(), oneshot::channel());
        let seat = Seat::of(Companion { change: change.clone(), begin, answer });
        let turns = Box::pin(self.db.seated_turns(at, self.waits.turns(), Some(&seat)));
        let ended = match select(turns, begun).await {
            Either::Left((waited, begun)) => Either::Left((waited, begun)),
            Either::Right((making, _)) => Either::Right(making),
        };
        let making = match ended {
            Either::Left((waited, _)) if seat.leave().is_some_and(|own| self.lead(own).is_some()) => {
                return Met::Turns(waited);
            }
            Either::Left((_, begun)) => begun.await,
            Either::Right(making) => making,
        };
        self.waits.turns().clear(); // those with whom it goes may wait for them
        self.copying.late.clear();
        let Ok(making) = making else { return Met::Along(Err(self.unknown())) };
        let told = match select(told, making).await {
            Either::Left((told, _)) => told,
            Either::Right(((), told)) => told.await,
        };
        Met::Along(told.unwrap_or_else(|_| Err(self.unknown())))
    }

    /// The change, if it may be made with those of others: none that this run may have made already.
    fn companion<'c>(&self, changes: &'c [Change]) -> Option<&'c Change> {
        let goes = self.asked.joins && !self.is_ambiguous() && self.db.goes_along(&self.registered);
        match changes {
            [
                change @ (Change::Insert(_)
                | Change::Save { .. }
                | Change::Upsert(_)
                | Change::Patch { .. }
                | Change::Delete { .. }),
            ] if goes => Some(change),
            _ => None,
        }
    }

    /// Makes the change with those of others who wait for the turns that this run has; gives it back where nobody does.
    fn lead(&mut self, own: Companion) -> Option<Companion> {
        let seats = self.db.seats(self.waits.turns());
        let Ok(registered) = self.db.registered(self.registered.schema) else { return Some(own) };
        let mut company = Company::of(own, &self.db, &registered);
        seats.iter().for_each(|seat| company.take_along(seat));
        if company.companions.len() == 1 {
            return company.companions.pop();
        }
        company.begin(self.db.clone(), registered, Waits::with(std::mem::take(self.waits.turns())));
        None
    }
}

impl Database {
    /// Whether single changes of this entity may meet in rows that are none of theirs, and can be made together: by no other writes than the
    /// one that they come to.
    fn goes_along(&self, registered: &Registered) -> bool {
        let (schema, setting) = (registered.schema, &registered.setting);
        let meets = schema.has_shared_rows() || schema.has_copies();
        let is_plain = !schema.is_joined() && !schema.has_blobs() && !setting.moving;
        let is_prepared = schema.has_copies() || schema.has_claims() || !setting.copied.is_empty();
        meets && is_plain && (self.is_atomic() || !is_prepared)
    }
}

/// Changes that are made together, each of another entity.
struct Company {
    companions: Vec<Companion>,
    keys: HashSet<RowKey>,
    /// Whether they may be of several partitions.
    goes_abreast: bool,
    /// Those of one: as many as fit into a batch, where all meet in the same rows.
    rows: usize,
    bytes: usize,
}

impl Company {
    fn of(first: Companion, db: &Database, registered: &Registered) -> Self {
        let mut company = Self {
            companions: Vec::new(),
            keys: HashSet::new(),
            goes_abreast: db.goes_abreast(registered),
            rows: shared_rows(registered.schema),
            bytes: 0,
        };
        company.add(first);
        company
    }

    fn take_along(&mut self, seat: &Seat) {
        if let Some(companion) = seat.take_along(|change| self.has_room(change)) {
            self.add(companion);
        }
    }

    fn has_room(&self, change: &Change) -> bool {
        let Some(first) = self.companions.first().map(|first| &first.change) else { return false };
        let is_alike = first.schema().entity_type == change.schema().entity_type;
        let is_near = self.goes_abreast
            || (first.key().partition == change.key().partition
                && self.rows + own_rows(change) <= limits::MAX_BATCH_OPERATIONS);
        let is_other = keys(change).into_iter().all(|key| !self.keys.contains(key));
        let fits = self.companions.len() < MOST && self.bytes + bytes(change) <= MOST_BYTES;
        is_alike && is_near && is_other && fits
    }

    fn add(&mut self, companion: Companion) {
        self.rows += own_rows(&companion.change);
        self.bytes += bytes(&companion.change);
        self.keys.extend(keys(&companion.change).into_iter().cloned());
        self.companions.push(companion);
    }

    /// Lets each see to it that the changes are made.
    fn begin(mut self, db: Database, registered: Arc<Registered>, waits: Waits) {
        self.companions.sort_by(|a, b| a.change.key().partition.cmp(&b.change.key().partition));
        let companions = self.companions.into_iter();
        let (begin, (changes, answers)): (Vec<_>, (Vec<_>, Vec<_>)) =
            companions.map(|Companion { change, begin, answer }| (begin, (change, Some(answer)))).unzip();
        let made = make(db, registered, changes, answers, waits);
        // Of a panic it is not known what it left; it is of one, and not to be all the others'.
        let making = AssertUnwindSafe(made).catch_unwind().map(drop).boxed().shared();
        for begin in begin {
            drop(begin.send(making.clone())); // who does not wait any more
        }
    }
}

type Answers = Vec<Option<oneshot::Sender<Result<Outcome>>>>;

/// Makes the changes, of which those of one partition stand side by side, and tells each what became of it.
async fn make(db: Database, registered: Arc<Registered>, changes: Vec<Change>, mut answers: Answers, mut waits: Waits) {
    let mut halves = Halves::of(changes.len());
    while let Some(range) = halves.next() {
        let (Some(some), Some(answers)) = (changes.get(range.clone()), answers.get_mut(range.clone())) else { break };
        let refused = match db.write_abreast(&registered, some, Asked::ALONG, &mut waits).await {
            Ok(Some(outcomes)) => {
                tell(answers, outcomes.into_iter().map(Ok));
                continue;
            }
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let is_alone = some.len() == 1;
        if let Some(error) = halves.refused(&range, refused, !is_alone) {
            let of = |change: &Change| match is_alone {
                true => error.clone(),
                false => error.clone().for_entity(change.schema().entity_type, change.key().clone()),
            };
            tell(answers, some.iter().map(|change| Err(of(change))));
        }
    }
}

fn tell(answers: &mut [Option<oneshot::Sender<Result<Outcome>>>], outcomes: impl IntoIterator<Item = Result<Outcome>>) {
    for (answer, outcome) in answers.iter_mut().zip(outcomes) {
        drop(answer.take().map(|answer| answer.send(outcome))); // who does not wait any more
    }
}

/// The keys that the entity has, before and after.
fn keys(change: &Change) -> [&RowKey; 2] {
    match change {
        Change::Save { old, new } => [old.key(), &new.key],
        _ => [change.key(), change.key()],
    }
}

/// Rows that entities meet in, or of others: at most, where all meet in the same.
fn shared_rows(schema: &EntitySchema) -> usize {
    2 * (schema.copies.len() + schema.aggregates.len())
}

/// Rows of the change's own partition that are written for it alone, at most.
fn own_rows(change: &Change) -> usize {
    let rows = rows_each(change.schema()).saturating_sub(shared_rows(change.schema()));
    // Of the old image and the new.
    rows * if matches!(change, Change::Insert(_)) { 1 } else { 2 }
}

fn bytes(change: &Change) -> usize {
    let of = |image: &Image| size::row_bytes_bound(&image.key.partition, &image.key.row, &image.fields);
    match change {
        Change::Insert(image) | Change::Upsert(image) | Change::Save { new: image, .. } => of(image),
        _ => 0, // what a patch sets is written with the rest of the row: checked when it is planned
    }
}
