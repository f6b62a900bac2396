//! Plans that came out wrong since what they rest on is no longer so: told apart from stores that are wrong.
//!
//! A cell that says fewer sources than an entity takes away is not read with that entity, nor the head of a list with its chunks:
//! another program may have changed both in between. And a source cannot be written while what copies it, and follows in its commit, is
//! between two forms.

use tablemodel_store::Row;

use super::Run;
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{change::Change, group::Group, known::Known, outbox::is_tombstone},
    schema::EntitySchema,
};

/// How often a plan is made anew before it is believed.
const DOUBTS: u32 = 3;
/// After as many attempts one waits as long as for holders that are about to move: some tenths of a second.
const A_WHILE: u32 = 3;
/// How often.
const WAITS: u32 = 6;

impl Run<'_> {
    /// What an error of planning means: that the caller's entity is outdated, that all is to be read again (`Ok`), or what
    /// it says.
    pub(in crate::database) async fn doubt(&mut self, error: Error, changes: &[Change]) -> Result<()> {
        if self.is_before_a_move(&error, changes) {
            return self.wait_for_a_move(error).await;
        }
        let is_of_several_rows = changes.iter().any(|change| change.schema().has_shared_rows());
        if !is_of_several_rows || !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Overflow) {
            return Err(error);
        }
        for (number, change) in changes.iter().enumerate() {
            let Some(old) = read_before(change) else { continue };
            let found = self.db.get_row(&self.registered(change)?.table, old.key()).await?;
            let found = found.filter(|row| !is_tombstone(row));
            if found.as_ref().is_none_or(|row| row.etag != old.head.etag) {
                // Not caused by what planning told: nothing is damaged, though it said so.
                return Err(outdated(change.schema(), old, found).in_operation(number));
            }
        }
        self.doubts += 1;
        if self.doubts > DOUBTS || self.ambiguous {
            return Err(error);
        }
        self.known = Known::new();
        // One whose index or aggregate lapsed may not know of it yet.
        match self.db.look_at_states().await {
            Err(error) if !error.is_retryable() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Run<'_> {
    /// Whether those that copy what changes are about to be kept in another form that this program has: once they are, they follow in that.
    fn is_before_a_move(&self, error: &Error, changes: &[Change]) -> bool {
        if !matches!(error.kind(), ErrorKind::Moved { .. }) || !self.db.is_atomic() {
            return false;
        }
        let is_own = changes.iter().any(|change| Some(change.schema().entity_type) == error.entity());
        let model = self.db.model();
        let holder = model.iter().copied().find(|schema| Some(schema.entity_type) == error.entity());
        !is_own && holder.is_some_and(|holder| holder.moves() && self.db.registered(holder).is_ok())
    }

    async fn wait_for_a_move(&mut self, error: Error) -> Result<()> {
        self.copying.waited += 1;
        if self.copying.waited > WAITS {
            let detail =
                "what copies it is about to move to other keys: try again, or call `contract` again if it was killed";
            return Err(Error::new(ErrorKind::Unavailable, detail).caused_by(error));
        }
        self.db.pause(A_WHILE).await;
        self.db.look_at_states().await
    }
}

/// What the caller read before the change.
fn read_before(change: &Change) -> Option<&Group> {
    match change {
        Change::Save { old, .. } | Change::Delete { old, .. } | Change::Leave { old, .. } => Some(old),
        _ => None,
    }
}

/// That the entity is not as it was read: it is as `found`, or gone.
pub(in crate::database) fn outdated(schema: &EntitySchema, old: &Group, found: Option<Row>) -> Error {
    let (kind, detail) = match found {
        None => (ErrorKind::NotFound, "the entity is gone: it was deleted, or moved to another key"),
        Some(row) => {
            let detail = "the entity changed since it was read; read it again and decide anew";
            (ErrorKind::Conflict { current: Some(Box::new(row)) }, detail)
        }
    };
    Error::new(kind, detail).of(schema.entity_type).at_key(old.key().clone())
}
