#![doc = include_str!("../../docs/rooms/outbox.md")]
