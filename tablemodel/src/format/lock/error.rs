//! What can be wrong with a lock, and what to do about it.

use std::fmt;

use super::super::{Fingerprint, FormatError};

/// A text that is no lock, or is none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// The line, counted from 1.
    pub line: usize,
    /// The section it is in: `Employee@2`.
    pub section: Option<String>,
    /// What is wrong.
    pub problem: LockProblem,
}

/// What is wrong with a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockProblem {
    /// It does not begin as a lock does.
    NotALock,
    /// It was written by a later version of tablemodel, in this format.
    Newer(u32),
    /// A merge left its marks.
    Conflict,
    /// A line that a lock does not have.
    Line(String),
    /// The section is there twice.
    Twice,
    /// The section's lines are no format.
    Format(FormatError),
    /// The section's lines are not what its fingerprint was made of.
    Edited {
        /// What the section says.
        said: Fingerprint,
        /// What its lines have.
        found: Fingerprint,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tablemodel.lock, line {}", self.line)?;
        if let Some(section) = &self.section {
            write!(f, ", section `{section}`")?;
        }
        let restore = "restore the file from version control, and run `cargo tablemodel diff`";
        match &self.problem {
            LockProblem::NotALock => write!(f, ": this is no lock: {restore}"),
            LockProblem::Newer(format) => {
                write!(f, ": the file has format {format}, which this version of tablemodel does not know: update it")
            }
            LockProblem::Conflict => f.write_str(
                ": a merge conflict: take one side whole, and run `cargo tablemodel diff` for the other's change",
            ),
            LockProblem::Line(line) => write!(f, ": `{line}` is not understood: {restore}"),
            LockProblem::Twice => write!(f, ": the section is there twice: {restore}"),
            LockProblem::Format(error) => write!(f, ": {error}: {restore}"),
            LockProblem::Edited { said, found } => {
                write!(f, ": it was edited: it says {said}, and its lines have {found}: {restore}")
            }
        }
    }
}

impl std::error::Error for LockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            LockProblem::Format(error) => Some(error),
            _ => None,
        }
    }
}
