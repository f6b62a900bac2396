#![doc = include_str!("../docs/writing.md")]
//!
//! A page: what it tells of has its code in `database`.
