#![doc = include_str!("../docs/migrations.md")]
//!
//! In this module stand the names alone; what they do is in `database::migrate`.

pub use crate::database::{
    Applied, AppliedPlan, Apply, Contracted, DroppedIndex, DryRun, Failure, MigrationPlan, MigrationStatus, Migrations,
    Program, Progress, Rewrite, Step, Unfinished, Unread,
};
