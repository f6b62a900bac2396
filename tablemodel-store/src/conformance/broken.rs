//! How a clause was broken, and the checks that find it.
//!
//! Nothing here panics: a broken clause is a value, so that a suite can go on and a test can expect it.

use std::fmt;

use crate::{StoreError, StoreErrorKind};

/// What a store did instead of what the clause says.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken(String);

impl Broken {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As `Display`: it is what a failed test prints.
impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(format!("a call that must succeed failed: {:?}: {error}", error.kind()))
    }
}

/// The error of a call that must be refused with this kind.
pub(super) fn refused<T: fmt::Debug>(
    result: Result<T, StoreError>,
    kind: StoreErrorKind,
    what: &str,
) -> Result<StoreError, Broken> {
    match result {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => Err(Broken(format!("{what}: expected {kind:?}, got {:?}: {error}", error.kind()))),
        Ok(value) => Err(Broken(format!("{what}: expected {kind:?}, but it succeeded with {value:?}"))),
    }
}

/// As [`refused`], and the error must name this batch and operation.
pub(super) fn refused_at<T: fmt::Debug>(
    result: Result<T, StoreError>,
    kind: StoreErrorKind,
    (batch, operation): (usize, usize),
    what: &str,
) -> Result<(), Broken> {
    let error = refused(result, kind, what)?;
    match error.failed_at() {
        Some(at) if (at.batch, at.operation) == (batch, operation) => Ok(()),
        at => Err(Broken(format!("{what}: expected batch {batch}, operation {operation} to be named, not {at:?}"))),
    }
}

/// Breaks the clause with a message unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err($crate::conformance::Broken::new(format!($($message)+)));
        }
    };
}

/// Breaks the clause with a message and both values unless they are equal.
macro_rules! ensure_eq {
    ($actual:expr, $expected:expr, $($message:tt)+) => {
        match (&$actual, &$expected) {
            (actual, expected) => $crate::conformance::broken::ensure!(
                actual == expected,
                "{}: expected {expected:?}, got {actual:?}",
                format_args!($($message)+)
            ),
        }
    };
}

pub(super) use {ensure, ensure_eq};
