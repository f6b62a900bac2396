//! Between two attempts of a run, or of an update that is made of several: its wait for turns, or for a while; and what a run ends with
//! when no attempt is left.
//!
//! Nothing is read or written here.

use std::collections::BTreeSet;

use tablemodel_store::Batch;

use super::{
    Outcome, Run,
    company::{Here, Met, is_here},
};
use crate::{
    database::{
        Database,
        calls::ATTEMPTS,
        seat::Waiting,
        turns::{Meeting, Turn},
    },
    error::{Error, ErrorKind, Result},
    plan::change::Change,
};

/// How many attempts may be made besides, each of which waited for turns that it had not yet.
const WAITED: u32 = 32;

/// How often an update is made anew, besides those that waited for turns.
const ROUNDS: u32 = 16;

/// The attempts of a run, and its turns.
#[derive(Debug, Default)]
pub(in crate::database) struct Waits {
    /// Where it met others of this program, in order.
    turns: Vec<Turn>,
    /// It planned before it had all of them: what it reads now, others leave as it is.
    behind: bool,
    /// How many attempts were begun.
    pub(super) begun: u32,
    /// How many of them waited for turns between plan and commit.
    waited: u32,
    /// Whose changes the run makes, where they are several tasks'.
    pub(super) company: Vec<Here>,
}

impl Waits {
    /// For a run by who has these turns.
    pub(super) fn resumed(&mut self) -> Self {
        Self { company: std::mem::take(&mut self.company), ..Self::with(std::mem::take(&mut self.turns)) }
    }

    /// For one who has these turns.
    pub(in crate::database) fn with(turns: Vec<Turn>) -> Self {
        Self { turns, ..Self::default() }
    }

    pub(in crate::database) fn turns(&mut self) -> &mut Vec<Turn> {
        &mut self.turns
    }

    /// Whether one has gone away whose changes the run makes.
    pub(in crate::database) fn has_lost_one(&self) -> bool {
        !self.company.iter().all(is_here)
    }
}

/// The rounds of an update, and the turns that it keeps from one to the next: what it reads under them, no other of this program changes.
#[derive(Debug, Default)]
pub(in crate::database) struct Rounds {
    /// Of the last one.
    pub(in crate::database) waits: Waits,
    /// How many were in vain, and how many of those waited after they had read.
    made: u32,
    waited: u32,
}

impl Rounds {
    /// Whether there may be another round after one in vain. One that waited is not counted: while it did, others changed what it had read.
    pub(in crate::database) fn is_another_left(&mut self) -> bool {
        match self.waits.waited {
            1.. if self.waited < WAITED => self.waited += 1,
            _ => self.made += 1,
        }
        self.made <= ROUNDS
    }

    /// Whether it has a turn anywhere.
    pub(in crate::database) fn has_turns(&self) -> bool {
        !self.waits.turns.is_empty()
    }

    /// Waits for a turn, unless this has it; whether it did.
    pub(in crate::database) async fn take_turn(&mut self, db: &Database, at: Meeting, seat: Option<&Waiting>) -> bool {
        Box::pin(db.seated_turns(BTreeSet::from([at]), &mut self.waits.turns, seat)).await
    }

    /// Notes that it waited for what came to nothing.
    pub(in crate::database) fn waited_in_vain(&mut self) {
        self.waits.waited = 1;
    }
}

impl Run<'_> {
    /// The number of the next attempt; none after the last. One that waited after it was planned, and was refused, is not counted: what it
    /// plans anew may meet others in rows that it has no turn at, since it had to give turns back.
    pub(super) fn next_attempt(&mut self) -> Option<u32> {
        let attempt = self.waits.begun - self.waits.waited;
        self.waits.begun += 1;
        (attempt < ATTEMPTS).then_some(attempt)
    }

    /// Waits before it commits to rows where others are already.
    pub(in crate::database) async fn wait_where_crowded(&mut self, batches: &[Batch]) {
        let crowded = self.db.crowded(batches);
        if !crowded.is_empty() && Box::pin(self.db.turns(crowded, &mut self.waits.turns)).await {
            self.has_waited();
        }
    }

    /// The same, of changes that may go along with those of others: what became of them, where they did. Where one has gone away whose
    /// changes these are, that they are not to be made so: by now it may have written again what this plan has read.
    pub(super) async fn go_along_where_crowded(
        &mut self,
        changes: &[Change],
        batches: &[Batch],
    ) -> Option<Result<Vec<Outcome>>> {
        let crowded = self.db.crowded(batches);
        if !crowded.is_empty() {
            match Box::pin(self.meet(crowded, changes)).await {
                Met::Turns(waited) if waited => self.has_waited(),
                Met::Turns(_) => {}
                Met::Along(told) => {
                    self.has_waited();
                    return Some(told);
                }
            }
        }
        (self.waits.has_lost_one() && !self.ambiguous)
            .then(|| Err(Error::new(ErrorKind::Unavailable, "one of those who wrote together has gone away")))
    }

    fn has_waited(&mut self) {
        self.waits.behind = true;
        self.waits.waited += u32::from(self.waits.waited < WAITED);
    }

    /// Lets those go on who wait for its turns.
    pub(in crate::database) fn give_turns_back(&mut self) {
        self.waits.turns.clear();
    }

    /// Waits for its turn where it met others, unless it has it; whether it did.
    async fn take_turn(&mut self, met: Option<Meeting>) -> bool {
        self.waits.behind = false;
        let Some(met) = met else { return false };
        Box::pin(self.db.turns(BTreeSet::from([met]), &mut self.waits.turns)).await
    }

    /// Waits before the next attempt: for its turn, or a while.
    pub(in crate::database) async fn wait(&mut self, met: Option<Meeting>, attempt: u32) {
        let was_behind = self.waits.behind;
        if !(self.take_turn(met).await || was_behind) {
            self.db.pause(attempt).await;
        }
    }

    /// Waits for its turn where it met others, or goes along with those who have it; where `pauses`, it waits a while where there is no turn.
    pub(super) async fn go_along_or_wait(
        &mut self,
        changes: &[Change],
        met: Option<Meeting>,
        pauses: Option<u32>,
    ) -> Option<Result<Vec<Outcome>>> {
        let was_behind = std::mem::take(&mut self.waits.behind);
        let waited = match met {
            None => false,
            Some(met) => match Box::pin(self.meet(BTreeSet::from([met]), changes)).await {
                Met::Turns(waited) => waited,
                Met::Along(told) => return Some(told),
            },
        };
        if let Some(attempt) = pauses.filter(|_| !(waited || was_behind)) {
            self.db.pause(attempt).await;
        }
        None
    }

    /// No error but `OutcomeUnknown` is true once an attempt may have been carried out.
    pub(in crate::database) fn settled(&self, error: Error) -> Error {
        if self.ambiguous && *error.kind() != ErrorKind::OutcomeUnknown { self.unknown() } else { error }
    }

    pub(super) fn unknown(&self) -> Error {
        let detail = "a reply of the store was lost, and whether the write happened cannot be told; read the entity before writing again";
        let error = Error::new(ErrorKind::OutcomeUnknown, detail);
        match &self.last {
            Some(last) => error.caused_by(last.clone()),
            None => error,
        }
    }

    pub(in crate::database) fn exhausted(&self) -> Error {
        if self.ambiguous {
            return self.unknown();
        }
        let error = Error::new(
            ErrorKind::Unavailable,
            format!("gave up after {ATTEMPTS} attempts; the store is busy or the rows keep changing"),
        );
        match &self.last {
            Some(last) => error.caused_by(last.clone()),
            None => error,
        }
    }
}
