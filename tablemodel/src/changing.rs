#![doc = include_str!("../docs/changing.md")]
//!
//! A page: what it tells of has its code elsewhere. A test of the command line runs what it shows.
