//! One file per room that has words of its own.
//! A room looks into no other, but that a list is a kind of index, an aggregate says `when` as an index does, and a wide entity asks
//! what its indexes hold.

pub(crate) mod aggregate;
pub(crate) mod blob;
pub(crate) mod chunked;
pub(crate) mod copy;
pub(crate) mod index;
pub(crate) mod list;
pub(crate) mod sharded;
pub(crate) mod wide;
