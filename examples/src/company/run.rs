//! One run of the program: the story, or kills, or the process that is to be killed.
//! The exit code tells whether the database was clean at the end.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use tablemodel::{Consistency, Database};

use super::{Result, crash, model::Company, story};

/// Short, so that the story shows how tombstones go.
const FENCE: Duration = Duration::from_secs(1);

/// Tells the design guide's company in rows: every pattern, with the physical rows after each step.
#[derive(Debug, Parser)]
#[command(name = "company")]
pub struct Options {
    /// Have a process that writes killed N times, and verify what it left each time
    #[arg(long, value_name = "N")]
    crash: Option<u32>,
    /// The seed of what is random in --crash
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Commit rows of several partitions at once, as the store in memory can, instead of one partition at a time
    #[arg(long, conflicts_with = "crash")]
    atomic: bool,
    /// Write to this file until killed
    #[arg(long, hide = true, value_name = "FILE")]
    child: Option<PathBuf>,
}

/// Runs the program; the exit code tells whether the database was clean.
///
/// # Errors
///
/// A claim that does not hold, files that cannot be written, and those of the database.
pub async fn run(options: Options) -> Result<ExitCode> {
    if let Some(file) = &options.child {
        return crash::child(file, options.seed).await;
    }
    let is_clean = match options.crash {
        Some(rounds) => crash::rounds(rounds, options.seed).await?,
        None => {
            let consistency = if options.atomic { Consistency::Atomic } else { Consistency::Azure };
            let db = Database::builder().consistency(consistency).fence(FENCE).in_memory::<Company>().await?;
            story::tell(&db).await?
        }
    };
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
