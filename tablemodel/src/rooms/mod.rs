//! The rooms: one modelling pattern each, under the same name in the derive, here, in the docs, the examples and the
//! tests. `ls rooms/` is the feature list.
//!
//! A room is pure and never imports another room.

pub mod index;
