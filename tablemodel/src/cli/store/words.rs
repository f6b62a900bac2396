//! The words of the commands over a store.
//! Nothing is done here.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::address::VARIABLE;
use crate::Poisoned;

/// The commands over a store.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StoreCommand {
    /// Print what the store lacks to be as the program says
    Plan(Plan),
    /// Bring the store there, while programs write: build what was added; goes on where it was stopped or killed
    Apply(Apply),
    /// Print how far the last migration is
    Status(Place),
    /// Have whoever applies the migration stop after the batch at hand
    Pause(Place),
    /// Take the pause back: `apply` goes on
    Resume(Place),
    /// Change what limits a migration under way
    Set(Set),
    /// Print the entities that were set aside (3 if there are any)
    Failures(Place),
    /// Write the entities that were set aside once more
    RetryFailures(Place),
    /// Print what could not be delivered to other partitions, and was set aside (3 if there is any)
    Poisoned(Place),
    /// Have all of it tried again, now
    RetryPoisoned(Place),
    /// Take one of it out of the outbox, its work undone: `verify --repair` afterwards
    DiscardPoisoned(Discarded),
    /// Walk the tables and report each row that is not as the program says (2 if there are any)
    Verify(Verify),
    /// Take the last migration back, with the rows that it made
    Rollback(Place),
    /// Take away what the program dropped; there is no way back
    Contract(Place),
    /// Copy the store's file, as it is at one moment, to a new file, with the blobs beside it: before `contract`, say
    Backup(Copied),
    /// Make the store's file of a backup, which is read as a whole first; a file that is there is never written over
    Restore(Copied),
    /// Write the rows of the program's tables to a new file, a line of JSON each, as `import` takes them; blobs are not among them
    Export(Exported),
    /// Make the store's file of the lines of an export, from whatever store; a file that is there is never written over
    Import(Exported),
    /// Write rows of each version to tablemodel/golden, where `check` reads them ever after
    Golden(Golden),
}

impl StoreCommand {
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Plan(plan) => &plan.place,
            Self::Apply(apply) => &apply.place,
            Self::Set(set) => &set.place,
            Self::Verify(verify) => &verify.place,
            Self::Golden(golden) => &golden.place,
            Self::Backup(copied) | Self::Restore(copied) => &copied.place,
            Self::Export(exported) | Self::Import(exported) => &exported.place,
            Self::DiscardPoisoned(discarded) => &discarded.place,
            Self::Poisoned(place) | Self::RetryPoisoned(place) => place,
            Self::Status(place) | Self::Pause(place) | Self::Resume(place) => place,
            Self::Failures(place) | Self::RetryFailures(place) | Self::Rollback(place) | Self::Contract(place) => place,
        }
    }

    /// Whether nothing is written.
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Self::Apply(apply) => apply.dry_run,
            Self::Verify(verify) => !verify.repair,
            Self::Plan(_) | Self::Status(_) | Self::Failures(_) | Self::Golden(_) => true,
            Self::Backup(_) | Self::Export(_) | Self::Poisoned(_) => true,
            _ => false,
        }
    }

    /// Whether rows are written as the program says: it should be the one that was locked.
    pub(super) fn writes_rows(&self) -> bool {
        let as_they_are = matches!(self, Self::Restore(_) | Self::Import(_));
        !(self.only_reads() || as_they_are || matches!(self, Self::Pause(_) | Self::Resume(_) | Self::Set(_)))
    }
}

/// Where the store is, and how it is kept: the same for every program that uses it.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct Place {
    /// The store: `embedded:PATH`, or the path of its file alone [default: $TABLEMODEL_STORE]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) store: Option<OsString>,
    /// What its table names begin with
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(super) prefix: String,
    /// How rows elsewhere follow their entity [default: as atomically as the store allows]
    #[arg(long, value_enum)]
    pub(super) consistency: Option<Consistency>,
    /// After how long tombstones are swept [default: 600]
    #[arg(long, value_name = "SECONDS")]
    pub(super) fence: Option<u64>,
    /// Where blobs live [default: the folder beside the file, if it is there]
    #[cfg(feature = "blob")]
    #[arg(long, value_name = "URL")]
    pub(super) blobs: Option<String>,
    /// How long a blob is kept that no row links [default: 3600]
    #[cfg(feature = "blob")]
    #[arg(long, value_name = "SECONDS")]
    pub(super) blob_grace: Option<u64>,
}

impl Place {
    /// Whether a store is named, here or by the environment.
    pub(in crate::cli) fn is_named(&self) -> bool {
        self.store.is_some() || std::env::var_os(VARIABLE).is_some_and(|store| !store.is_empty())
    }

    /// Whether any of the words was given.
    pub(in crate::cli) fn is_given(&self) -> bool {
        #[cfg(feature = "blob")]
        let of_blobs = self.blobs.is_some() || self.blob_grace.is_some();
        #[cfg(not(feature = "blob"))]
        let of_blobs = false;
        let of_rows = !self.prefix.is_empty() || self.consistency.is_some() || self.fence.is_some();
        self.store.is_some() || of_rows || of_blobs
    }
}

/// As `tablemodel::Consistency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Consistency {
    /// In the same commit
    Atomic,
    /// After it, through the outbox
    Azure,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Plan {
    #[command(flatten)]
    pub(super) place: Place,
    /// Fail (2) if there is anything for `apply` to do: for scripts that deploy
    #[arg(long)]
    pub(super) check: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Apply {
    #[command(flatten)]
    pub(super) place: Place,
    /// Read what would be written, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Read only so many entities of each table
    #[arg(long, value_name = "N", requires = "dry_run")]
    pub(super) sample: Option<u64>,
    /// At most so many entities a second: `500`, `500/s`
    #[arg(long, value_name = "N[/s]", value_parser = rate)]
    pub(super) rate: Option<f64>,
    /// Ranges at a time [default: 4; 1 in an embedded store whose entities copy or count others, or keep lists]
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,
    /// Entities between two cursors: what a crash repeats of each range
    #[arg(long, value_name = "N")]
    pub(super) batch: Option<usize>,
    /// Stop once more entities than this are set aside [default: 100]
    #[arg(long, value_name = "N")]
    pub(super) max_failures: Option<u64>,
    /// How long to wait for other programs [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub(super) wait: Option<u64>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Set {
    #[command(flatten)]
    pub(super) place: Place,
    /// At most so many entities a second, from the next batch on; `none` lifts the limit
    #[arg(long, value_name = "N[/s]|none", value_parser = limit)]
    pub(super) rate: Limit,
}

/// A limit that may be none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(pub(super) Option<f64>);

#[derive(Debug, Args)]
pub(in crate::cli) struct Verify {
    #[command(flatten)]
    pub(super) place: Place,
    /// Put right what can be
    #[arg(long)]
    pub(super) repair: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Discarded {
    #[command(flatten)]
    pub(super) place: Place,
    /// The outbox row, as `poisoned` names it
    #[arg(value_name = "ROW")]
    pub(super) row: String,
    /// Its partition, where several have such a row
    #[arg(long, value_name = "PARTITION")]
    pub(super) partition: Option<String>,
    /// Its table, where several have such a row
    #[arg(long, value_name = "TABLE")]
    pub(super) table: Option<String>,
}

impl Discarded {
    /// Whether it is this row that is meant, as far as is said.
    pub(super) fn is(&self, Poisoned { table, row, .. }: &Poisoned) -> bool {
        row.row == self.row
            && self.partition.as_ref().is_none_or(|own| *own == row.partition)
            && self.table.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(table))
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Golden {
    #[command(flatten)]
    pub(super) place: Place,
    /// Of this entity type alone
    #[arg(long, value_name = "ENTITY")]
    pub(super) entity: Option<String>,
    /// So many entities of each version, the first by their keys
    #[arg(long, value_name = "N", default_value = "20", value_parser = some)]
    pub(super) rows: usize,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Copied {
    #[command(flatten)]
    pub(super) place: Place,
    /// The backup's file
    #[arg(value_name = "BACKUP")]
    pub(super) path: PathBuf,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Exported {
    #[command(flatten)]
    pub(super) place: Place,
    /// The file of the lines
    #[arg(value_name = "EXPORT")]
    pub(super) path: PathBuf,
}

fn some(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|rows| *rows > 0).ok_or_else(|| "at least one".to_owned())
}

fn limit(text: &str) -> Result<Limit, String> {
    if text == "none" { Ok(Limit(None)) } else { rate(text).map(|rate| Limit(Some(rate))) }
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse::<f64>().ok();
    number.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| "write a number above 0, or N/s".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::cli::args::Arguments;

    #[test]
    fn the_help_of_apply_says_how_many_ranges_there_are_at_a_time() {
        let mut command = Arguments::command();
        let help = command.find_subcommand_mut("apply").unwrap().render_long_help().to_string();
        let told =
            "Ranges at a time [default: 4; 1 in an embedded store whose entities copy or count others, or keep lists]";
        assert!(help.contains(told), "{help}");
    }
}
