//! Those who go together: who may be one of them, and the making of their changes.
//!
//! What a commit comes to is planned elsewhere.

use std::{collections::HashSet, ops::Range, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tablemodel_store::{RowKey, limits, size};

use super::{super::Asked, Answer, Companion, Here, Told, is_here};
use crate::{
    database::{
        Database, Registered, bulk::rows_each, execute::waits::Waits, halves::Halves, seat::Seat, vain::is_of_all,
    },
    error::{Error, ErrorKind},
    plan::{change::Change, image::Image},
    schema::EntitySchema,
};

/// Changes that are made together, at most.
const MOST: usize = 256;
/// Bytes of what they write, as they are in memory; whether they fit into a batch is checked when it is planned.
const MOST_BYTES: usize = 1024 * 1024;

/// Those whose changes are made together, each of other entities of one table.
#[derive(Default)]
pub(super) struct Together {
    companions: Vec<Companion>,
    keys: HashSet<RowKey>,
    /// The stored names of their entities.
    types: Vec<&'static str>,
    changes: usize,
    /// Rows of one partition, at most, where all meet in the same.
    rows: usize,
    bytes: usize,
    /// Some are of another partition than the first.
    are_of_several: bool,
    /// Some must not be made with those of other partitions.
    stay_in_one: bool,
}

impl Together {
    /// Takes along who sits there, if it fits.
    pub(super) fn take_along(&mut self, seat: &Seat<Companion>) {
        let fits = |companion: &Companion| !companion.answer.is_closed() && self.has_room(companion);
        if let Some(companion) = seat.take_along(fits) {
            self.add(companion);
        }
    }

    pub(super) fn add(&mut self, companion: Companion) {
        self.are_of_several |= self.first().is_some_and(|first| !is_beside(first, &companion));
        self.stay_in_one |= !companion.goes_abreast;
        self.rows += self.rows_with(&companion);
        self.bytes += companion.changes.iter().map(bytes).sum::<usize>();
        self.changes += companion.changes.len();
        self.keys.extend(companion.changes.iter().flat_map(keys).cloned());
        for change in &companion.changes {
            if !self.types.contains(&change.schema().entity_type) {
                self.types.push(change.schema().entity_type);
            }
        }
        self.companions.push(companion);
    }

    /// Whether nobody was taken along.
    pub(super) fn is_of_one_task(&self) -> bool {
        self.companions.len() == 1
    }

    /// Who came last, and goes alone.
    pub(super) fn last(mut self) -> Option<Companion> {
        self.companions.pop()
    }

    fn first(&self) -> Option<&Companion> {
        self.companions.first()
    }

    fn has_room(&self, companion: &Companion) -> bool {
        let Some(first) = self.first() else { return true };
        let is_near = match !self.are_of_several && is_beside(first, companion) {
            true => self.rows + self.rows_with(companion) <= limits::MAX_BATCH_OPERATIONS,
            false => !self.stay_in_one && companion.goes_abreast,
        };
        let bytes = companion.changes.iter().map(bytes).sum::<usize>();
        let fits = self.changes + companion.changes.len() <= MOST && self.bytes + bytes <= MOST_BYTES;
        is_near && is_of_table(first, companion) && fits && self.are_others(companion)
    }

    /// Whether it changes none of the entities that those before it do.
    fn are_others(&self, companion: &Companion) -> bool {
        companion.changes.iter().flat_map(keys).all(|key| !self.keys.contains(key))
    }

    /// How many rows of one partition it adds.
    fn rows_with(&self, companion: &Companion) -> usize {
        let mut types = self.types.clone();
        let rows = |change: &Change| {
            let is_first = !types.contains(&change.schema().entity_type);
            types.extend(is_first.then_some(change.schema().entity_type));
            own_rows(change) + if is_first { shared_rows(change.schema()) } else { 0 }
        };
        companion.changes.iter().map(rows).sum()
    }

    /// Lets each see to it that the changes are made.
    pub(super) fn begin(mut self, db: Database, registered: Arc<Registered>, waits: Waits) {
        self.companions.sort_by(|a, b| partition(a).cmp(&partition(b)));
        let (mut begin, mut joint) = (Vec::new(), Joint { db, registered, changes: Vec::new(), of: Vec::new() });
        for companion in self.companions {
            begin.push(companion.begin);
            let from = joint.changes.len();
            joint.changes.extend(companion.changes);
            let own = from..joint.changes.len();
            joint.of.push(Task { own, answer: Some(companion.answer), here: companion.here });
        }
        // Of a panic it is not known what it left; it is of one, and not to be all the others'.
        let making = AssertUnwindSafe(joint.run(waits)).catch_unwind().map(drop).boxed().shared();
        for begin in begin {
            drop(begin.send(making.clone())); // who does not wait any more
        }
    }
}

/// Changes of several tasks on their way.
struct Joint {
    db: Database,
    registered: Arc<Registered>,
    /// Those of one partition stand side by side.
    changes: Vec<Change>,
    /// Whose they are.
    of: Vec<Task>,
}

/// One of several whose changes are made together.
struct Task {
    /// Which of the changes are its own: none once it has gone.
    own: Range<usize>,
    /// Whom to tell what became of them.
    answer: Option<Answer>,
    here: Here,
}

impl Joint {
    /// Makes the changes, and tells each task what became of its own.
    async fn run(mut self, mut waits: Waits) {
        let mut halves = Halves::of(self.of.len());
        while let Some(tasks) = halves.next() {
            waits.company = self.forget_gone(&tasks);
            let changes = self.changes.get(self.changes_of(&tasks)).unwrap_or_default();
            if changes.is_empty() {
                continue;
            }
            let refused = match self.db.write_abreast(&self.registered, changes, Asked::ALONG, &mut waits).await {
                Ok(Some(outcomes)) => {
                    let mut outcomes = outcomes.into_iter();
                    self.tell(tasks, |changes| Told::Made(Ok(outcomes.by_ref().take(changes.len()).collect())));
                    continue;
                }
                Ok(None) => None,
                Err(error) => Some(error),
            };
            if waits.has_lost_one() && !is_unknown(refused.as_ref()) {
                halves.again(tasks);
                continue;
            }
            let is_one = tasks.len() == 1;
            if !is_one && refused.as_ref().is_some_and(is_slow) {
                self.tell(tasks, |_| Told::Alone);
                continue;
            }
            if let Some(error) = halves.refused(&tasks, refused, !is_one) {
                self.tell(tasks, |changes| Told::Made(Err(if is_one { error.clone() } else { told(&error, changes) })));
            }
        }
    }

    /// Forgets the changes of those among these tasks who have gone away; gives the others.
    fn forget_gone(&mut self, tasks: &Range<usize>) -> Vec<Here> {
        let mut company = Vec::with_capacity(tasks.len());
        for number in tasks.clone() {
            let Some(task) = self.of.get_mut(number) else { continue };
            if is_here(&task.here) {
                company.push(task.here.clone());
                continue;
            }
            let gone = task.own.clone();
            task.own.end = gone.start;
            for later in self.of.iter_mut().skip(number + 1) {
                later.own = later.own.start - gone.len()..later.own.end - gone.len();
            }
            self.changes.drain(gone);
        }
        company
    }

    fn changes_of(&self, tasks: &Range<usize>) -> Range<usize> {
        let of = self.of.get(tasks.clone()).unwrap_or_default();
        let ends = of.first().zip(of.last()).map(|(first, last)| (first.own.start, last.own.end));
        ends.map_or(0..0, |(start, end)| start..end)
    }

    /// Tells each of these tasks.
    fn tell(&mut self, tasks: Range<usize>, mut told: impl FnMut(&[Change]) -> Told) {
        for task in self.of.get_mut(tasks).unwrap_or_default() {
            let told = told(self.changes.get(task.own.clone()).unwrap_or_default());
            drop(task.answer.take().map(|answer| answer.send(told))); // who does not wait any more
        }
    }
}

/// Whether it took many attempts, with pauses between them: each half would take as many, one after the other.
fn is_slow(error: &Error) -> bool {
    *error.kind() == ErrorKind::Unavailable && !is_of_all(error)
}

/// Whether they may have been written.
fn is_unknown(error: Option<&Error>) -> bool {
    error.is_some_and(|error| *error.kind() == ErrorKind::OutcomeUnknown)
}

/// An error of all, to one whose changes these are.
fn told(error: &Error, changes: &[Change]) -> Error {
    match changes {
        [change] => error.clone().for_entity(change.schema().entity_type, change.key().clone()),
        _ => error.clone().alone(),
    }
}

fn partition(companion: &Companion) -> Option<&str> {
    companion.changes.first().map(|change| change.key().partition.as_str())
}

/// Whether both are of one partition.
fn is_beside(first: &Companion, second: &Companion) -> bool {
    partition(first) == partition(second)
}

/// Whether both are of one table.
fn is_of_table(first: &Companion, second: &Companion) -> bool {
    let table = |of: &Companion| of.changes.first().map(|change| change.schema().table.to_ascii_lowercase());
    table(first) == table(second)
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
