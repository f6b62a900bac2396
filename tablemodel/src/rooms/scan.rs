#![doc = include_str!("../../docs/rooms/scan.md")]
//!
//! A page: what it tells of has its code elsewhere.
