//! Planning: from a change and what is stored to the rows that must be written. Pure and synchronous.
//!
//! Nothing here awaits, reads a clock or knows a user's type; rows to read first are asked for by [`change::needs`].

pub(crate) mod absent;
pub(crate) mod batch;
pub(crate) mod bonds;
pub(crate) mod change;
pub(crate) mod contributed;
pub(crate) mod copies;
pub(crate) mod entries;
pub(crate) mod exact;
pub(crate) mod fold;
pub(crate) mod follow;
pub(crate) mod foreign;
pub(crate) mod forms;
pub(crate) mod group;
pub(crate) mod grouped;
pub(crate) mod image;
pub(crate) mod join;
pub(crate) mod known;
pub(crate) mod left_out;
pub(crate) mod outbox;
pub(crate) mod owner;
pub(crate) mod part;
pub(crate) mod patch;
pub(crate) mod shadow;
pub(crate) mod shape;
pub(crate) mod short_hash;
pub(crate) mod states;
pub(crate) mod succeeded;
pub(crate) mod system;
pub(crate) mod table;
pub(crate) mod version;
