#![doc = include_str!("../../docs/rooms/elsewhere.md")]
