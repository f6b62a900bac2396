#![doc = include_str!("../../docs/rooms/unique.md")]
