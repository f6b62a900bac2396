//! The batch of one change.
//!
//! How it is carried out is the parent's.

use super::{Asked, Outcome, waits::Waits};
use crate::{
    database::{Database, Registered},
    error::{Error, Result},
    plan::change::Change,
};

impl Database {
    /// One change.
    pub(crate) async fn write_one(&self, registered: &Registered, change: Change) -> Result<Outcome> {
        self.write_in_turn(registered, change, &mut Waits::default()).await
    }

    /// One change of a caller who has turns, and has those afterwards at which it was refused.
    pub(in crate::database) async fn write_in_turn(
        &self,
        registered: &Registered,
        one: Change,
        waits: &mut Waits,
    ) -> Result<Outcome> {
        let (partition, change) = (&one.key().partition, std::slice::from_ref(&one));
        let outcomes = self.run(registered, partition, change, Asked::JOINING, waits).await.map_err(Error::alone)?;
        Ok(outcomes.into_iter().next().flatten())
    }
}
