//! The integration tests of the store crate: one module for each part.

mod memory;
