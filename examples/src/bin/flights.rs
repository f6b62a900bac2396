//! Every departure from New York's airports in 2013, in one store file, asked eight kinds of questions by typed paths.
//! The application is `examples::flights`; this begins it.

use std::process::ExitCode;

use clap::Parser;
use examples::flights::{Result, run};

#[tokio::main]
async fn main() -> Result<ExitCode> {
    run::run(run::Options::parse()).await
}
