//! Every departure from New York's airports in 2013, in one store file, with the weather, asked thirteen kinds of questions by typed paths.
//! The application is `examples::flights`; this begins it, and tells how it ended.

use std::process::ExitCode;

use clap::Parser;
use examples::flights::run::{Options, run};

#[tokio::main]
async fn main() -> ExitCode {
    run(Options::parse()).await.unwrap_or_else(|error| {
        eprintln!("flights: {error}");
        ExitCode::FAILURE
    })
}
