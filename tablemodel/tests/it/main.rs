//! The integration tests of tablemodel: one binary, a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "two indexes may keep one field, which the lint takes for a repeated attribute"
)]
#![allow(clippy::duplicate_mod, reason = "what holds of moves is tested of several pairs of forms")]
#![allow(clippy::unit_arg, reason = "the closure of an update is often one assignment")]

mod aggregate;
mod backup;
mod bad_input;
mod between;
mod blob;
mod bulk;
mod bulk_abreast;
mod bulk_both_ways;
mod bulk_lanes;
mod bulk_shared;
mod claims;
mod copy;
mod crashes;
mod crowds;
mod current;
mod cut_import;
mod derives;
mod dropped;
mod elsewhere;
mod entities;
mod everything;
mod faults;
mod flights;
mod format;
mod heard;
mod held;
mod keys;
mod kill;
mod list;
mod migrate;
mod moves;
mod named_fields;
mod observed;
mod opened;
mod packages;
mod points;
mod properties;
mod protocol;
mod reads;
mod rekey;
mod sabotage;
mod stall;
mod testing;
mod tools;
mod transfer;
mod ui;
mod unreadable;
mod untold;
mod upgrade;
mod wide;
mod writes;
