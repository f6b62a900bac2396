#![doc = include_str!("../../docs/rooms/sparse.md")]
