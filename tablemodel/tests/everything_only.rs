//! x
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::unit_arg)]
#![allow(clippy::duplicated_attributes)]
mod blob { pub(crate) fn enumerate() {} }
#[path = "it/everything/mod.rs"]
mod everything;
