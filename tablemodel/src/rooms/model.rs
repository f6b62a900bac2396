#![doc = include_str!("../../docs/rooms/model.md")]
