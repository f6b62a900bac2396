//! The commands over a store: it is opened by its address, with the models of [`cli!`](crate::cli!), on a runtime of the tool's own.
//!
//! What is done is the library's ([`migrations`](crate::migrations), `verify`, `repair`, `export`); here it is called, told, and given its exit code.

mod address;
mod apply;
mod backup;
mod control;
mod interrupt;
mod lines;
mod outbox;
mod programs;
mod progress;
mod report;
mod taken;
mod undo;
mod verify;
pub(super) mod words;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;

pub(super) use self::taken::has_taken;
use self::{address::Address, words::StoreCommand};
use super::{
    check, golden,
    outcome::{DRIFTED, FAILED, Failure, Outcome, STOPPED, WAITING},
    plan,
    project::Project,
};
use crate::{
    Database, Error, ErrorKind, Result, cli::Model, format::Fingerprint, migrations::Migrations, schema::EntitySchema,
};

/// Of a store that knows no entity of the program.
const UNKNOWN: &str = "the store has none of this program's entities: is it another's, or has no program run yet?";

/// What a command over a store works with.
pub(super) struct Tool {
    pub(super) db: Database,
    /// The reviewed plans, in order.
    pub(super) plans: Vec<(String, Fingerprint)>,
    /// The folder of golden rows.
    pub(super) golden: PathBuf,
    /// Whether it was asked to stop.
    pub(super) stop: Arc<AtomicBool>,
}

impl Tool {
    fn migrations(&self) -> Migrations {
        let stop = self.stop.clone();
        self.db.migrations().stop_when(move || stop.load(Ordering::Relaxed))
    }
}

pub(super) fn run(project: &Project, models: &[Model], command: &StoreCommand) -> Result<Outcome, Failure> {
    let address = Address::of(command.place())?;
    if command.writes_rows()
        && project.has_lock()
        && let Err(found) = check::compare(project)?
    {
        return Ok(drifted(found));
    }
    let plans = plan::all(project)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        match command {
            StoreCommand::Restore(words) => {
                return address.restore(&words.path).await.map(|()| backup::restored(words));
            }
            StoreCommand::Import(words) => return lines::import(&address, words, entities(models)).await,
            _ => {}
        }
        let db = address.open(command.place(), entities(models), command.only_reads()).await?;
        let tool = Tool { db: db.clone(), plans, golden: project.golden(), stop: interrupt::watch(command) };
        let outcome = execute(&tool, command).await;
        drop(tool);
        let closed = db.close().await;
        outcome.and_then(|outcome| closed.map(|()| outcome))
    });
    Ok(outcome.unwrap_or_else(|error| failed(&error)))
}

/// `apply` with these words over a database of a test's.
#[cfg(test)]
pub(super) async fn apply_for_tests(tool: &Tool, words: &[&str]) -> Outcome {
    execute_for_tests(tool, &[&["apply"], words].concat()).await
}

/// A command by its words over a database of a test's.
#[cfg(test)]
pub(super) async fn execute_for_tests(tool: &Tool, words: &[&str]) -> Outcome {
    use clap::Parser;
    let words = [""].iter().chain(words);
    let arguments = super::args::Arguments::try_parse_from(words).unwrap_or_else(|error| error.exit());
    let super::args::Command::Store(command) = arguments.command else { return Outcome::error(FAILED, "no command") };
    execute(tool, &command).await.unwrap_or_else(|error| failed(&error))
}

async fn execute(tool: &Tool, command: &StoreCommand) -> Result<Outcome> {
    if !tool.db.is_registered() && !matches!(command, StoreCommand::Backup(_)) {
        return Err(unknown(&tool.db).await?);
    }
    match command {
        StoreCommand::Plan(words) => report::plan(tool, words.check).await,
        StoreCommand::Apply(apply) if apply.dry_run => apply::dry_run(tool, apply).await,
        StoreCommand::Apply(apply) => apply::run(tool, apply).await,
        StoreCommand::Status(_) => report::status(tool).await,
        StoreCommand::Pause(_) => control::pause(tool).await,
        StoreCommand::Resume(_) => control::resume(tool).await,
        StoreCommand::Set(set) => control::set(tool, set).await,
        StoreCommand::Failures(_) => control::failures(tool).await,
        StoreCommand::RetryFailures(_) => control::retry(tool).await,
        StoreCommand::Poisoned(_) => outbox::list(tool).await,
        StoreCommand::RetryPoisoned(_) => outbox::retry(tool).await,
        StoreCommand::DiscardPoisoned(words) => outbox::discard(tool, words).await,
        StoreCommand::Verify(verify) if verify.repair => verify::repair(tool).await,
        StoreCommand::Verify(_) => verify::run(tool).await,
        StoreCommand::Rollback(_) => undo::rollback(tool).await,
        StoreCommand::Contract(_) => undo::contract(tool).await,
        StoreCommand::Backup(words) => address::back_up(&tool.db, &words.path).await.map(|()| backup::made(words)),
        StoreCommand::Export(words) => lines::export(tool, words).await,
        StoreCommand::Restore(_) | StoreCommand::Import(_) => {
            Err(Error::unsupported("a store that is open is not made of a backup, nor of an export"))
        }
        StoreCommand::Golden(words) => {
            let sampled = golden::sample(&tool.db, words.entity.as_deref(), words.rows).await?;
            Ok(golden::write(&tool.golden, &sampled).unwrap_or_else(|failure| Outcome::failed(&failure)))
        }
    }
}

/// Why a store knows no entity of the program: it may keep one elsewhere, and says so.
async fn unknown(db: &Database) -> Result<Error> {
    match db.migrations().plan().await {
        Ok(_) => Ok(Error::unsupported(UNKNOWN)),
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Moved { .. }) => Ok(error),
        Err(error) => Err(error),
    }
}

/// The entities of all models, which share the store. Kept until the program ends.
fn entities(models: &[Model]) -> &'static [&'static EntitySchema] {
    match models {
        [model] => model.entities,
        models => Model::entities(models).leak(),
    }
}

fn drifted(found: Vec<String>) -> Outcome {
    let error = "the program does not store what tablemodel.lock says; nothing was done";
    let lines = std::iter::once(format!("error: {error}")).chain(found.iter().cloned()).collect();
    Outcome { code: DRIFTED, lines, data: json!({ "error": error, "drift": found }) }
}

/// An error, with the exit code of its kind.
fn failed(error: &Error) -> Outcome {
    let code = match error.kind() {
        ErrorKind::Unsupported
        | ErrorKind::UnknownVersion
        | ErrorKind::PlanMismatch { .. }
        | ErrorKind::NotFound
        | ErrorKind::Moved { .. }
        | ErrorKind::NotSwitched { .. }
        | ErrorKind::IndexNotReady { .. } => DRIFTED,
        ErrorKind::Unavailable | ErrorKind::LeaseExpired | ErrorKind::MigrationRunning { .. } => WAITING,
        ErrorKind::Stopped => STOPPED,
        _ => FAILED,
    };
    Outcome::error(code, &with_causes(error))
}

/// Whether the words have the cause, or it without the kind that it begins with: `I/O error: ..`.
fn is_told(words: &str, cause: &str) -> bool {
    words.contains(cause) || cause.split_once(": ").is_some_and(|(_, rest)| words.contains(rest))
}

/// An error and what caused it, as far as that is not said already.
fn with_causes(error: &Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| match cause.to_string() {
        cause if is_told(&told, &cause) => told,
        cause => format!("{told}: {cause}"),
    })
}
