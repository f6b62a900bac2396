//! The planted bugs, and the clauses that must catch each.
//!
//! What a bug does is written beside this, in files called after what is twisted.

mod reading;
mod writing;

use super::{Bug, Twist};

const fn bug(name: &'static str, caught_by: &'static [&'static str], twist: Twist) -> Bug {
    Bug { name, caught_by, twist }
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Bug> {
    writing::BUGS.iter().chain(reading::BUGS)
}
