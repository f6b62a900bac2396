//! Keep data in table stores.

pub mod key;
pub mod property;
pub mod testing;
