#![doc = include_str!("../../docs/rooms/projection.md")]
