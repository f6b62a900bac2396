//! The rooms: one modelling pattern each, under the same name here and in the docs, and in the derive, the examples and the
//! tests where it has code of its own. `ls rooms/` is the feature list.
//!
//! A room is pure and never imports another room. One without code of its own is a page.

pub mod aggregate;
#[cfg(feature = "blob")]
pub mod blob;
pub mod chunked;
pub mod compound_key;
pub mod copy;
pub mod elsewhere;
pub mod index;
pub mod list;
pub mod model;
pub mod outbox;
pub mod projection;
pub mod rekey;
pub mod scan;
pub mod sparse;
pub mod unique;
pub mod wide;
