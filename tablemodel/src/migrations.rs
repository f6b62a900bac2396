#![doc = include_str!("../docs/migrations.md")]

pub use crate::database::{
    Applied, Apply, Contracted, DroppedIndex, DryRun, Failure, MigrationPlan, MigrationStatus, Migrations, Progress,
    Step,
};
