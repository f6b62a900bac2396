#![doc = include_str!("../../docs/rooms/projection.md")]
//!
//! A page: what it tells of has its code elsewhere.
