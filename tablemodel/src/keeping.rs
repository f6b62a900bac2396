#![doc = include_str!("../docs/keeping.md")]
//!
//! A page: what it tells of has its code in `database`.
