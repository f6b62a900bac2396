//! Between two attempts of a run: its wait for a turn, or for a while; and what it ends with when no attempt is left.
//!
//! Nothing is read or written here.

use tablemodel_store::Batch;

use super::Run;
use crate::{
    database::{calls::ATTEMPTS, turns::Meeting},
    error::{Error, ErrorKind},
};

impl Run<'_> {
    /// Waits before it commits to a row where others are already.
    pub(in crate::database) async fn wait_where_crowded(&mut self, batches: &[Batch]) {
        if self.turn.is_none() {
            self.turn = self.db.turn_in(batches).await;
            self.behind = self.turn.is_some();
        }
    }

    /// Waits for its turn where it met others, unless it has one; whether it did.
    pub(super) async fn take_turn(&mut self, met: Option<Meeting>) -> bool {
        let Some(met) = met.filter(|_| self.turn.is_none()) else { return false };
        self.turn = Box::pin(self.db.turn(met)).await;
        self.turn.is_some()
    }

    /// Waits before the next attempt: for its turn, or a while.
    pub(in crate::database) async fn wait(&mut self, met: Option<Meeting>, attempt: u32) {
        if !(std::mem::take(&mut self.behind) || self.take_turn(met).await) {
            self.db.pause(attempt).await;
        }
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
