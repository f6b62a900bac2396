//! What befalls store calls in tests of many rooms: one fault at one call, or some now and then.
//!
//! No test stands here.

use tablemodel::{
    store::StoreErrorKind,
    testing::{Chances, Fault},
};

/// Each of them at one call of the store, in turn.
pub(crate) fn of_one_call() -> [Fault; 4] {
    [
        Fault::error(StoreErrorKind::Unavailable),
        Fault::error(StoreErrorKind::ConditionNotMet),
        Fault::error(StoreErrorKind::OutcomeUnknown),
        Fault::LostReply,
    ]
}

/// A busy store that loses replies.
pub(crate) fn now_and_then(seed: u64) -> Chances {
    Chances::seeded(seed)
        .with(120, Fault::error(StoreErrorKind::Unavailable))
        .with(90, Fault::LostReply)
        .with(30, Fault::error(StoreErrorKind::OutcomeUnknown))
}
