//! The integration tests of the store crate: one module for each part.

#[cfg(feature = "embedded")]
mod embedded;
mod memory;
