#![doc = include_str!("../../docs/rooms/elsewhere.md")]
//!
//! A page: what it tells of has its code elsewhere.
