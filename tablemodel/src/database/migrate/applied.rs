//! What an application of a migration did, as it is told.
//!
//! Nothing is read or written here.

use super::Step;
use crate::{
    database::Violation,
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
};

/// What an application did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Applied {
    /// The migration; none where there was nothing to do.
    pub migration: Option<String>,
    /// What it builds and rewrites, as it is now.
    pub steps: Vec<Step>,
    /// Entities that this call wrote once more.
    pub touched: u64,
    /// Entities that were set aside: see [`Migrations::failures`](super::Migrations::failures).
    pub failed: u64,
    /// Entities that it did not come to, as they were counted before: it is paused, or more were set aside than `max_failures` allows.
    pub left: u64,
    /// Rows that nobody wanted, or that were missing, and were put right before the end.
    pub scrubbed: u64,
    /// What is still wrong with rows of the model's tables.
    pub violations: Vec<Violation>,
    /// Whether it stopped since it is [paused](super::Migrations::pause).
    pub paused: bool,
}

impl Applied {
    /// The same, if it is over: every index readable, every row rewritten.
    ///
    /// # Errors
    ///
    /// `Unavailable` where it is paused, or entities were set aside or have violations.
    pub fn into_result(self) -> Result<Self> {
        let what = match (self.is_complete(), self.paused) {
            (true, _) => return Ok(self),
            (_, true) => "it is paused: call `resume`, then `apply`".to_owned(),
            _ => format!(
                "{} entities were set aside, {} were not reached, and {} violations are left: see `failures`, put them right, call \
                 `retry_failures`, then `apply`",
                self.failed,
                self.left,
                self.violations.len()
            ),
        };
        Err(Error::new(ErrorKind::Unavailable, format!("the migration is not over: {what}")))
    }

    /// Whether every index is readable.
    pub fn is_complete(&self) -> bool {
        self.steps.iter().all(|step| step.state == IndexState::Readable)
    }
}
