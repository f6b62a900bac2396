//! The company of the design guide in every room, with its physical rows after each step; `--crash N` has a process that
//! writes killed N times, and verifies what it left. The program is `examples::company`; this begins it.

use std::{iter, process::ExitCode};

use clap::Parser;
use examples::company::run::{Options, run};

#[tokio::main]
async fn main() -> ExitCode {
    run(Options::parse()).await.unwrap_or_else(|error| {
        eprintln!("company: {error}");
        let causes = iter::successors(error.source(), |cause| (*cause).source());
        causes.for_each(|cause| eprintln!("  because: {cause}"));
        ExitCode::FAILURE
    })
}
