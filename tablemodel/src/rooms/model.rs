#![doc = include_str!("../../docs/rooms/model.md")]
//!
//! A page: what it tells of has its code elsewhere.
