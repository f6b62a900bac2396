//! Errors that each of many writes would meet alike: what is split then asks a store that is busy for each of them, with all its pauses.
//!
//! Nothing is read or written here.

use std::error::Error as _;

use tablemodel_store::StoreError;

use crate::{
    database::{calls::is_transient, outbox::is_race},
    error::{Error, ErrorKind},
};

/// Whether any other write of this program would fail so now: the store takes none, or none of this program.
pub(super) fn is_of_all(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::LeaseExpired => true,
        // Else rows keep changing, or another is busy with one of them.
        ErrorKind::Unavailable | ErrorKind::OutcomeUnknown => cause(error).is_some_and(is_transient),
        _ => false,
    }
}

/// Whether a row kept changing: that of one may be in the way of many.
pub(super) fn is_of_a_race(error: &Error) -> bool {
    cause(error).is_some_and(|cause| is_race(cause.kind()))
}

fn cause(error: &Error) -> Option<&StoreError> {
    error.source()?.downcast_ref()
}
