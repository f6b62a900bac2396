//! Four releases of one application over the same store: a property is added and one renamed, an index in another table is
//! added, a key changes. `--run` deploys them one after another, has `cargo tablemodel` do what each asks for, and
//! compares the outcome with a store that was loaded anew.

mod compare;
mod releases;
mod run;
mod source;
mod tool;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory, Parser};

/// Four releases of one application over the same store.
#[derive(Debug, Parser)]
#[command(name = "evolve")]
struct Options {
    /// Deploy all releases, one after another
    #[arg(long)]
    run: bool,
    /// Directory with flights.csv.gz [default: the bundled January]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A folder that is empty or not there, for the stores and what the commands write [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if !options.run {
        let _ = Options::command().print_help();
        return ExitCode::SUCCESS;
    }
    begin(&options).unwrap_or_else(|error| {
        eprintln!("evolve: {error}");
        ExitCode::FAILURE
    })
}

fn begin(options: &Options) -> examples::flights::Result<ExitCode> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let data = options.data.as_deref().unwrap_or(&bundled);
    let temporary = tempfile::tempdir()?;
    let work = options.work.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(work.join("package"))?;
    if work.join("flights.tablemodel").exists() {
        return Err(format!("{} holds stores already; name another folder by --work", work.display()).into());
    }
    run::run(data, work)
}
