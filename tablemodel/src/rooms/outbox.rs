#![doc = include_str!("../../docs/rooms/outbox.md")]
//!
//! A page: what it tells of has its code elsewhere.
