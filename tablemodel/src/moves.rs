#![doc = include_str!("../docs/moves.md")]
//!
//! A page: what it tells of has its code elsewhere.
