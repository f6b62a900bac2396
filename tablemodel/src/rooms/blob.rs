#![doc = include_str!("../../docs/rooms/blob.md")]
