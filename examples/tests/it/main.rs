//! The example programs run and keep their promises, and the flights' check finds what is wrong.
//! The programs assert their own claims; here they are run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod flights;
mod rooms;
