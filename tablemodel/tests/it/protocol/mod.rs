//! The protocol that keeps rows in other partitions, as a model: every interleaving of its actors, and each of its rules
//! switched off in turn.
//!
//! Independent of the runtime: it may call nothing of `tablemodel`.

mod cast;
mod checker;
mod claims;
mod copies;
mod marker;
mod outbox;
mod rekey;
mod report;
mod restrict;
mod rules;
