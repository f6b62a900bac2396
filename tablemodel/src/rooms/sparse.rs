#![doc = include_str!("../../docs/rooms/sparse.md")]
//!
//! A page: what it tells of has its code elsewhere.
