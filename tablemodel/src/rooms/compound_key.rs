#![doc = include_str!("../../docs/rooms/compound_key.md")]
//!
//! A page: what it tells of has its code elsewhere.
