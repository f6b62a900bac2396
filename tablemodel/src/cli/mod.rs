#![doc = include_str!("../../docs/cli.md")]
//!
//! Only files are read and written here, git is asked, and stores are opened: what is to be is said by [`format`](crate::format), and what
//! is done to a store by [`migrations`](crate::migrations).

mod args;
mod check;
mod coming;
mod diff;
mod files;
mod frozen;
mod golden;
mod init;
mod lint;
mod model;
mod outcome;
mod plan;
mod project;
mod quiet;
mod renames;
mod show;
mod store;
mod upgrade;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;

pub use self::model::Model;
use self::{
    args::{Arguments, Command},
    outcome::Outcome,
    project::Project,
};

/// Where the program is that the commands are about. [`cli!`](crate::cli!) fills it.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// The name of the package.
    pub name: &'static str,
    /// Its folder.
    pub folder: &'static str,
    /// The models, as they were written.
    pub model: &'static str,
}

/// Runs the command of the program's arguments; what [`cli!`](crate::cli!) calls.
///
/// Gives one of the exit codes above.
pub fn main(package: &Package, models: &[Model]) -> ExitCode {
    quiet::quieten_engine();
    ExitCode::from(run(package, models, std::env::args_os()))
}

/// As [`main`], with these arguments; the first is the program's name.
pub fn run(
    package: &Package,
    models: &[Model],
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> u8 {
    let words: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let json = words.iter().any(|word| word == "--json");
    match Arguments::try_parse_from(words) {
        Ok(arguments) => {
            let json = arguments.json;
            answer(package, models, arguments).print(json)
        }
        Err(error) if json && error.use_stderr() => misread(&error).print(json),
        Err(error) => {
            let is_help = !error.use_stderr();
            let _ = error.print();
            if is_help { outcome::DONE } else { outcome::FAILED }
        }
    }
}

/// Words that are not understood.
fn misread(error: &clap::Error) -> Outcome {
    let text = error.to_string();
    let text = text.trim_end();
    Outcome::error(outcome::FAILED, text.strip_prefix("error: ").unwrap_or(text))
}

/// What the command has to say.
fn answer(package: &Package, models: &[Model], arguments: Arguments) -> Outcome {
    let outcome =
        Project::of(package, &Model::entities(models)).and_then(|project| execute(&project, models, arguments));
    outcome.unwrap_or_else(|error| Outcome::failed(&error))
}

fn execute(project: &Project, models: &[Model], arguments: Arguments) -> Result<Outcome, outcome::Failure> {
    let asks = !arguments.json && is_terminal();
    match arguments.command {
        Command::Init => init::run(project),
        Command::Diff(arguments) => diff::run(project, models, &arguments, asks),
        Command::Check => check::run(project, models),
        Command::Lint(arguments) => lint::run(project, &arguments),
        Command::Show => show::run(project),
        Command::Store(command) => store::run(project, models, &command),
    }
}

fn is_terminal() -> bool {
    use std::io::IsTerminal;
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
