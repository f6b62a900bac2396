//! Checks that users run on their own types in their tests.
//! Nothing here is used by the framework at run time.

mod key_laws;

pub use self::key_laws::{Violations, check_key_laws, key_laws};
