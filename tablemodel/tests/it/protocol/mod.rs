//! The protocol that keeps rows in other partitions, written as a model: every interleaving of its actors is explored, and each
//! of its rules is switched off in turn and must be found wrong.
//!
//! The model is of the protocol, not of the implementation: it may call nothing of `tablemodel`. An actor is a program counter
//! and what it has read; one step is one store request (a read, a conditional write, an entity group transaction). Any actor may
//! be overtaken by any other between two steps, may stall for as long as the rules of time allow, and may die anywhere; where a
//! reply may be lost, the request was carried out and its caller does not know.
//!
//! | family | what it keeps | rules | also to be read there |
//! |---|---|---|---|
//! | [`outbox`] | index rows and list or aggregate contributions | 1, 2, 3, 7, 8 | which two rules stand in for each other |
//! | [`marker`] | that relays find outbox rows | 6 | why a marker is trusted for two request lifetimes less than its life |
//! | [`claims`] | unique values in other partitions | 4 | why a release rewrites a pending claim; that expiry is for liveness only |
//! | [`copies`] | copies and back-references, deletes that go along | 5 | that a target's write has an outbox row of its own |
//! | [`restrict`] | deletes that are refused | 5 | that such a back-reference is a claim |
//! | [`rekey`] | an entity that moves to another partition | | why its new key is claimed first |
//! | [`handover`] | the unique value of an entity that moves | 4 | what an intent that stands counts as |
//! | [`building`] | an index that is built while programs write | | what the scrub stands in for |
//! | [`switching`] | an entity whose other form becomes the one that is kept | | why it is waited for twice |
//!
//! To see the shortest way to what goes wrong without a rule: `cargo test -p tablemodel --test it protocol:: -- --nocapture`.
//! In each family, `control` names for every rule the smallest scenario in which its absence shows. Rules whose absence shows
//! nowhere are named in a test of their own, with what stands in for them.
//!
//! What the model leaves out: the parts of wide entities, the atomic mode (rule 9), the bodies of
//! rows, and clocks beyond what each family says of time.

mod building;
mod cast;
mod checker;
mod claims;
mod copies;
mod handover;
mod marker;
mod outbox;
mod rekey;
mod report;
mod restrict;
mod rules;
mod switching;
