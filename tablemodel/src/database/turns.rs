//! Turns: writers of this program that met in a row go one after the other, so that none of them loses it again and again.
//!
//! Politeness, and nothing else: a write without its turn is as right as one that has it. Nobody waits for one longer than a
//! second, so that two who wait for each other go on; and nothing is known of the writers of other programs. Who meets others in
//! several rows has a turn at each, and takes them in one order for all: so two of those never wait for each other.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{Either, select};
use tablemodel_store::{Batch, StoreError};
use tokio::sync::OwnedMutexGuard;
use twox_hash::XxHash3_64;

use crate::database::{
    Database,
    execute::company::Companion,
    outbox::is_race,
    seat::{Seat, Waiting},
    update::chain::Link,
};

/// How long a turn is waited for.
pub(super) const LONGEST: Duration = Duration::from_secs(1);

/// Where writers meet: a row. Two that are taken for one only wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Meeting(u64);

impl Meeting {
    /// At a row that a commit writes.
    pub(super) fn at(table: &str, partition: &str, row: &str) -> Self {
        Self(XxHash3_64::oneshot(format!("{table}\0{partition}\0{row}").as_bytes()))
    }

    /// Where a commit met another, if that is why it was refused.
    pub(super) fn of(error: &StoreError, batches: &[Batch]) -> Option<Self> {
        let at = error.failed_at().filter(|_| is_race(error.kind()))?;
        let batch = batches.get(at.batch)?;
        Some(Self::at(&batch.table, &batch.partition, &batch.operations.get(at.operation)?.row))
    }
}

/// Those who meet at a row.
#[derive(Debug, Default)]
struct Lane {
    /// Whose turn it is.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Those who would go along with whose turn it is, in the order in which they came.
    seats: Vec<Waiting>,
    /// How many wait or have their turn.
    there: usize,
}

/// Where writers have met, as long as one of them is there. Clones are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<Meeting, Lane>>>);

impl Turns {
    fn lanes(&self) -> MutexGuard<'_, HashMap<Meeting, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place in the row of those who wait.
    fn queue(&self, at: Meeting, seat: Option<&Waiting>) -> Turn {
        let mut lanes = self.lanes();
        let lane = lanes.entry(at).or_default();
        lane.there += 1;
        lane.seats.extend(seat.cloned());
        Turn { turns: self.clone(), at, next: Arc::clone(&lane.turn), seat: seat.cloned(), held: None }
    }
}

/// A turn, or the wait for one; over once it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    at: Meeting,
    next: Arc<tokio::sync::Mutex<()>>,
    seat: Option<Waiting>,
    held: Option<OwnedMutexGuard<()>>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.held = None;
        let mut lanes = self.turns.lanes();
        let Some(lane) = lanes.get_mut(&self.at) else { return };
        lane.there -= 1;
        match &self.seat {
            _ if lane.there == 0 => drop(lanes.remove(&self.at)),
            Some(own) => lane.seats.retain(|seat| seat != own),
            None => {}
        }
    }
}

impl Database {
    /// Whether others are there.
    pub(super) fn is_crowded(&self, at: Meeting) -> bool {
        self.0.turns.lanes().contains_key(&at)
    }

    /// Lets `held`, turns in order, have one at each of these places too; whether it waited for them, and has them all. Those behind the first
    /// new one are given back before, and waited for anew.
    pub(super) async fn turns(&self, at: BTreeSet<Meeting>, held: &mut Vec<Turn>) -> bool {
        self.seated_turns(at, held, None).await
    }

    /// The same, in a seat from which who waits may be taken along.
    pub(super) async fn seated_turns(
        &self,
        at: BTreeSet<Meeting>,
        held: &mut Vec<Turn>,
        seat: Option<&Waiting>,
    ) -> bool {
        let mut wanted: BTreeSet<_> = at.into_iter().filter(|at| held.iter().all(|turn| turn.at != *at)).collect();
        let Some(first) = wanted.first() else { return false };
        let kept = held.partition_point(|turn| turn.at < *first);
        wanted.extend(held.drain(kept..).map(|turn| turn.at));
        let taken = Box::pin(async {
            for at in wanted {
                let mut turn = self.0.turns.queue(at, seat);
                turn.held = Some(Arc::clone(&turn.next).lock_owned().await);
                held.push(turn);
            }
        });
        matches!(select(taken, self.environment().turn.sleep(LONGEST)).await, Either::Left(_))
    }

    /// The writes that wait for these turns.
    pub(super) fn companions(&self, turns: &[Turn]) -> Vec<Seat<Companion>> {
        let lanes = self.0.turns.lanes();
        let waiting = turns.iter().filter_map(|turn| lanes.get(&turn.at)).flat_map(|lane| &lane.seats);
        let seat = |waiting: &Waiting| if let Waiting::Write(seat) = waiting { Some(seat.clone()) } else { None };
        waiting.filter_map(seat).collect()
    }

    /// The updates that wait for the turn at this place, if it is among these.
    pub(super) fn links(&self, turns: &[Turn], at: Meeting) -> Vec<Seat<Link>> {
        let lanes = self.0.turns.lanes();
        let waiting =
            turns.iter().find(|turn| turn.at == at).and_then(|turn| lanes.get(&turn.at)).map(|lane| &lane.seats);
        let seat = |waiting: &Waiting| if let Waiting::Update(seat) = waiting { Some(seat.clone()) } else { None };
        waiting.into_iter().flatten().filter_map(seat).collect()
    }

    /// Where others are at rows of these batches, or who has these turns.
    pub(super) fn crowded(&self, batches: &[Batch]) -> BTreeSet<Meeting> {
        let lanes = self.0.turns.lanes();
        if lanes.is_empty() {
            return BTreeSet::new();
        }
        let rows = batches.iter().flat_map(|batch| batch.operations.iter().map(move |operation| (batch, operation)));
        let meetings = rows.map(|(batch, operation)| Meeting::at(&batch.table, &batch.partition, &operation.row));
        meetings.filter(|at| lanes.contains_key(at)).collect()
    }
}
