//! Ctrl-C: the first asks the command to stop after the batch at hand, the second ends the program.
//!
//! Either is safe, as a kill is: cursors are saved.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::words::StoreCommand;
use crate::cli::outcome::STOPPED;

/// Whether the command is asked to stop, from now on. Commands that are over at once, or only read, end with the first.
pub(super) fn watch(command: &StoreCommand) -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let can_stop = matches!(command, StoreCommand::Apply(_) | StoreCommand::Rollback(_) | StoreCommand::Contract(_));
    if can_stop && !command.only_reads() {
        tokio::spawn(obey(asked.clone()));
    }
    asked
}

async fn obey(asked: Arc<AtomicBool>) {
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    asked.store(true, Ordering::Relaxed);
    let line_before = if stderr().is_terminal() { "\n" } else { "" };
    let told = "stopping after the batch at hand; press again to stop at once, which is safe too";
    let _ = writeln!(stderr(), "{line_before}{told}"); // whoever is to read it may have been interrupted too
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(i32::from(STOPPED));
    }
}
