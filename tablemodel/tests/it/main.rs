//! The integration tests of the crate: one module for each part.

mod entities;
