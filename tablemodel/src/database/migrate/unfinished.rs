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
