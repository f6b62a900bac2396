//! The integration tests of the store crate: one module for each part.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod clock;
#[cfg(feature = "embedded")]
mod disk;
#[cfg(feature = "embedded")]
mod embedded;
mod extension;
mod fault;
mod fault_plans;
#[cfg(feature = "embedded")]
mod kill;
mod memory;
mod model;
mod observe;
#[cfg(feature = "embedded")]
mod power_cut;
mod sabotage;
mod size;
mod threads;
mod validate;
#[cfg(feature = "embedded")]
mod workload;
