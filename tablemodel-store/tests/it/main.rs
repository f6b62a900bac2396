//! The integration tests of the store crate: one module for each part.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panics"
)]

mod fault;
mod memory;
mod model;
mod observe;
mod sabotage;
mod size;
mod threads;
mod validate;
