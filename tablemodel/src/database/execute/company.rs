//! Company: writes of many tasks that meet in a row are made together by one of them, whose turn it is. What they meet in is then read and
//! written once for all, and not by each of them in its turn.
//!
//! Who waits for a turn sits where it may be taken along, and is told what became of its changes. All are one batch, or one commit where
//! the store can; in halves where one of them is refused, so that each is told what it would be told alone. All of them see to it that this goes
//! on: that one goes away, whoever it is, is nothing to the others. What it wanted is not planned any more then, since it may have written
//! something else meanwhile, as who was dropped alone may.

mod together;

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
};

use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use self::together::Together;
use super::{Outcome, Run, waits::Waits};
use crate::{
    database::{
        Database, Registered,
        seat::{Making, Seat, Waiting},
        turns::Meeting,
    },
    error::Result,
    plan::change::Change,
};

/// The write of a task that waits for its turn.
pub(in crate::database) struct Companion {
    /// Of one partition, at least one.
    changes: Vec<Change>,
    /// Whether it may be made with those of other partitions.
    goes_abreast: bool,
    /// Tells that it is taken along, and by what it is made.
    begin: oneshot::Sender<Making>,
    /// Tells what became of it.
    answer: Answer,
    here: Here,
}

type Answer = oneshot::Sender<Told>;

/// What one is told who was taken along.
enum Told {
    /// What became of its changes.
    Made(Result<Vec<Outcome>>),
    /// That they could not be made together, for as long as it was tried: it is to make its own.
    Alone,
}

/// Tells whether a task still waits for what became of its changes: as long as that is held which it points to.
pub(in crate::database) type Here = Weak<()>;

/// How a wait for turns ended.
pub(super) enum Met {
    /// Whether it waited for them, and has them all.
    Turns(bool),
    /// The changes were made with others: what became of them.
    Along(Result<Vec<Outcome>>),
}

impl Run<'_> {
    /// Waits for turns at these rows, unless it has them, and goes along with others who meet there.
    pub(super) async fn meet(&mut self, at: BTreeSet<Meeting>, changes: &[Change]) -> Met {
        let Some(goes_abreast) = self.goes_along(changes) else {
            return Met::Turns(Box::pin(self.db.turns(at, self.waits.turns())).await);
        };
        let ((begin, begun), (answer, told)) = (oneshot::channel(), oneshot::channel());
        let here = Arc::new(());
        let companion =
            Companion { changes: changes.to_vec(), goes_abreast, begin, answer, here: Arc::downgrade(&here) };
        let seat = Seat::of(companion);
        let waiting = Waiting::Write(seat.clone());
        let turns = Box::pin(self.db.seated_turns(at, self.waits.turns(), Some(&waiting)));
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
        drop(here); // not before
        match told {
            Ok(Told::Made(outcomes)) => Met::Along(outcomes),
            Ok(Told::Alone) => {
                self.asked.joins = false;
                Met::Turns(true)
            }
            Err(_) => Met::Along(Err(self.unknown())),
        }
    }

    /// Whether the changes may be made with those of others who meet them: none that this run may have made already, and such as come to
    /// no other writes than one. If so, whether with those of other partitions.
    fn goes_along(&self, changes: &[Change]) -> Option<bool> {
        if !self.asked.joins || self.is_ambiguous() || changes.is_empty() {
            return None;
        }
        let (mut meets, mut goes_abreast) = (false, true);
        for change in changes {
            let registered =
                self.registered(change).ok().filter(|of| is_of_a_caller(change) && self.db.is_one_write(of))?;
            meets |= registered.schema.has_shared_rows() || registered.schema.has_copies();
            goes_abreast &= self.db.may_go_abreast(&registered);
        }
        meets.then_some(goes_abreast)
    }

    /// Makes the changes with those of others who wait for the turns that this run has; gives them back where nobody does.
    fn lead(&mut self, own: Companion) -> Option<Companion> {
        let seats = self.db.companions(self.waits.turns());
        let Ok(registered) = self.db.registered(self.registered.schema) else { return Some(own) };
        let mut together = Together::default();
        together.add(own);
        seats.iter().for_each(|seat| together.take_along(seat));
        if together.is_of_one_task() {
            return together.last();
        }
        together.begin(self.db.clone(), registered, Waits::with(std::mem::take(self.waits.turns())));
        None
    }
}

impl Database {
    /// Whether a change of this entity comes to one write, with nothing that is written before it.
    pub(in crate::database) fn is_one_write(&self, registered: &Registered) -> bool {
        let (schema, setting) = (registered.schema, &registered.setting);
        let is_plain = !schema.is_joined() && !schema.has_blobs() && !setting.moving;
        let is_prepared = schema.has_copies() || schema.has_claims() || !setting.copied.is_empty();
        is_plain && (self.is_atomic() || !is_prepared)
    }
}

/// Whether the task still waits.
pub(super) fn is_here(here: &Here) -> bool {
    here.strong_count() > 0
}

/// Whether it is what a caller asked for.
fn is_of_a_caller(change: &Change) -> bool {
    matches!(
        change,
        Change::Insert(_) | Change::Save { .. } | Change::Upsert(_) | Change::Patch { .. } | Change::Delete { .. }
    )
}
