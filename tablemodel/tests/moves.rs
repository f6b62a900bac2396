//! Moves alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
#[path = "it/moves/mod.rs"]
mod moves;

#[test]
fn ui() {
    trybuild::TestCases::new().compile_fail("tests/ui/moves/*.rs");
}
