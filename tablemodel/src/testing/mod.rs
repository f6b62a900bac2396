#![doc = include_str!("../../docs/testing.md")]
//!
//! Nothing here is used by the framework at run time.

#[cfg(feature = "testing")]
mod database;
#[cfg(feature = "testing")]
mod environment;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod example;
mod golden;
mod key_laws;
mod key_samples;

#[cfg(feature = "testing")]
pub use self::database::TestDatabase;
#[cfg(all(test, feature = "testing"))]
pub(crate) use self::environment::Passing;
#[cfg(feature = "cli")]
pub(crate) use self::golden::{Golden, check_golden};
pub use self::{
    golden::{golden_rows, read_golden, upgrade_is_pure},
    key_laws::{Violations, check_key_laws, key_laws, key_laws_of},
    key_samples::key_samples,
};
#[cfg(feature = "testing")]
pub use tablemodel_store::{
    StoreErrorKind,
    clock::ManualClock,
    fault::{Call, Chances, Fault, FaultPlan, Request, Script},
    observe::{CallKind, CallRecord, Tally},
};
