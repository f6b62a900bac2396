#![doc = include_str!("../../docs/rooms/scan.md")]
