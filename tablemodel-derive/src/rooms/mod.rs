//! One file per room that has words of its own.
//! A room never looks into another; a list alone is a kind of index.

pub(crate) mod aggregate;
pub(crate) mod blob;
pub(crate) mod chunked;
pub(crate) mod copy;
pub(crate) mod index;
pub(crate) mod list;
pub(crate) mod sharded;
pub(crate) mod wide;
