//! The integration tests of tablemodel: one binary, a module for each promise.

mod entities;
mod entity;
mod keys;
mod properties;
mod ui;
