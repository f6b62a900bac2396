//! The example programs run and keep their promises, the flights' check finds what is wrong, and the company outlives kills.
//! The programs assert their own claims; here they are run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

#[cfg(feature = "blob")]
mod company;
mod flights;
mod rooms;
