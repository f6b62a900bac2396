//! Integration tests.

mod entity;
