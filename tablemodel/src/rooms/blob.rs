#![doc = include_str!("../../docs/rooms/blob.md")]
//!
//! A page: what it tells of has its code elsewhere.
