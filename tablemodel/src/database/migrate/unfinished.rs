//! What is to be done about a migration that was begun and is not finished.
//!
//! Nothing is read or written here.

use super::record::Record;
use crate::error::{Error, Result};

/// A migration that was begun and is not finished, by the call that goes on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfinished {
    /// Something is built: by [`Migrations::apply`](super::Migrations::apply).
    Apply(String),
    /// It is taken back, or another one by it: by [`Migrations::rollback`](super::Migrations::rollback).
    Rollback(String),
    /// What the model dropped is taken away, or a move is switched: by [`Migrations::contract`](super::Migrations::contract).
    Contract(String),
}

impl Unfinished {
    pub(super) fn of(record: Record) -> Self {
        match (record.undo, record.taken_back) {
            (false, _) => Self::Apply(record.id),
            (true, Some(_)) => Self::Rollback(record.id),
            (true, None) => Self::Contract(record.id),
        }
    }

    /// The migration.
    pub fn migration(&self) -> &str {
        let (Self::Apply(migration) | Self::Rollback(migration) | Self::Contract(migration)) = self;
        migration
    }

    /// The call that goes on with it: `apply`, `rollback` or `contract`.
    pub fn call(&self) -> &'static str {
        match self {
            Self::Apply(_) => "apply",
            Self::Rollback(_) => "rollback",
            Self::Contract(_) => "contract",
        }
    }

    /// That something is built. What takes rows away is finished before anything else is begun.
    pub(super) fn check_kept(&self) -> Result<()> {
        let what = match self {
            Self::Apply(_) => return Ok(()),
            Self::Rollback(_) => "is being taken back",
            Self::Contract(_) => "takes away what the model dropped, or switches a move",
        };
        let (migration, call) = (self.migration(), self.call());
        let detail =
            format!("migration {migration} {what}, and was interrupted: call `{call}` first, which goes on with it");
        Err(Error::unsupported(detail))
    }

    /// That what is set of a migration is looked at: only while something is built.
    pub(super) fn check_settable(&self) -> Result<()> {
        let (migration, call) = match self {
            Self::Apply(_) => return Ok(()),
            other => (other.migration(), other.call()),
        };
        let detail = format!(
            "migration {migration} takes rows away, and is neither paused nor limited: stop the `{call}` (Ctrl-C), which goes on later"
        );
        Err(Error::unsupported(detail))
    }
}

#[cfg(test)]
mod tests {
    use super::Unfinished;

    #[test]
    fn what_was_interrupted_names_the_one_call_that_goes_on_with_it() {
        assert!(Unfinished::Apply("0001".to_owned()).check_kept().is_ok());
        for (unfinished, call, other) in [
            (Unfinished::Rollback("0001".to_owned()), "rollback", "contract"),
            (Unfinished::Contract("0001".to_owned()), "contract", "rollback"),
        ] {
            let told = unfinished.check_kept().unwrap_err().to_string();
            assert!(told.contains(&format!("call `{call}` first")) && !told.contains(&format!("`{other}`")), "{told}");
        }
    }
}
