//! One file per room that has words of its own.
//! A room never looks into another; a list alone is a kind of index.

pub(crate) mod aggregate;
pub(crate) mod index;
pub(crate) mod list;
