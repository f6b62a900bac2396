#![doc = include_str!("../../docs/rooms/compound_key.md")]
