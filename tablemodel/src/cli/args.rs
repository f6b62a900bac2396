//! The words of the command line.
//! Nothing is done here.

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::store::words::{Place, StoreCommand};

/// Versions of stored formats: what changed, and what it takes; and stores, brought to what the program says.
#[derive(Debug, Parser)]
#[command(name = "cargo tablemodel", bin_name = "cargo tablemodel")]
#[command(
    after_help = "Exit codes: 0 done; 1 error; 2 something has drifted, is refused, or is wrong in the store; 3 entities are \
                        set aside; 4 other programs, a pause or a busy store is in the way: call again; 130 stopped by Ctrl-C"
)]
pub(super) struct Arguments {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the cargo alias, the program behind it, and the first tablemodel.lock
    Init,
    /// Plan what changed since the lock: write the plan, the frozen structs and the lock
    Diff(Diff),
    /// Fail (2) unless the lock says what the program stores, the plans are as they were written, and golden rows are read
    Check,
    /// Fail (2) if what changed since a commit is not compatible
    Lint(Lint),
    /// Print the stored format of each entity
    Show,
    #[command(flatten)]
    Store(StoreCommand),
}

#[derive(Debug, Default, Args)]
pub(super) struct Diff {
    /// The plan's name, such as `order_by_status` [default: change]
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Write the newest plan anew, which was applied nowhere yet; with --store, refused if it was applied there
    #[arg(long)]
    pub(super) amend: bool,
    /// A property, by stored names: `Qty=Quantity`, `Order.Qty=Quantity`; or `was = "Qty"` on the field
    #[arg(long, value_name = "[ENTITY.]OLD=NEW", value_parser = pair)]
    pub(super) rename: Vec<(String, String)>,
    /// No property has another name now, but those of `--rename`: what is gone is removed, what is new is added
    #[arg(long)]
    pub(super) no_rename: bool,
    /// Allow a change that is refused, with the reason: `TM107="the old rows are gone"`
    #[arg(long, value_name = "CODE=REASON", value_parser = pair)]
    pub(super) allow: Vec<(String, String)>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct Lint {
    /// The commit, branch or tag to compare with
    #[arg(long, value_name = "REVISION")]
    pub(super) against: String,
    /// What must hold
    #[arg(long, value_enum, default_value = "full")]
    pub(super) level: Level,
}

/// Which programs must be able to work beside which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    /// New programs read old rows without computing anything
    Backward,
    /// Old programs read what new ones write: the version stays, or `readable_by` names theirs
    Forward,
    /// Both
    Full,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(left, right)| !left.is_empty() && !right.trim().is_empty());
    let (left, right) = pair.ok_or_else(|| "write OLD=NEW, or CODE=REASON".to_owned())?;
    Ok((left.to_owned(), right.to_owned()))
}
