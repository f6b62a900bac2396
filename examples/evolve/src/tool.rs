//! `cargo tablemodel` as each release has it: the same call that `tablemodel::cli!` makes, on a package and a store of this run.

use std::path::{Path, PathBuf};

use examples::flights::Result;
use tablemodel::{TableModel, cli};

/// The commands, for one package and one store.
pub(crate) struct Tool {
    package: cli::Package,
    store: PathBuf,
}

impl Tool {
    /// The package is a folder in which nothing is yet but what the commands write there.
    pub(crate) fn new(package: &Path, store: &Path) -> Self {
        let folder = Box::leak(package.display().to_string().into_boxed_str()); // lives as long as the program, as a package does
        Self { package: cli::Package { name: "evolve", folder, model: "Timetable" }, store: store.to_owned() }
    }

    /// A command that reads and writes files of the package.
    ///
    /// # Errors
    ///
    /// Any exit code but 0.
    pub(crate) fn schema<M: TableModel>(&self, words: &[&str]) -> Result<()> {
        println!("\n$ cargo tablemodel {}", words.join(" "));
        self.run::<M>(words, &[])
    }

    /// A command that works on the store.
    ///
    /// # Errors
    ///
    /// Any exit code but 0.
    pub(crate) fn store<M: TableModel>(&self, words: &[&str]) -> Result<()> {
        println!("\n$ cargo tablemodel {} --store flights.tablemodel", words.join(" "));
        let store = self.store.display().to_string();
        self.run::<M>(words, &["--store", &store])
    }

    fn run<M: TableModel>(&self, words: &[&str], more: &[&str]) -> Result<()> {
        let words = ["cargo tablemodel"].iter().chain(words).chain(more);
        match cli::run(&self.package, &[cli::Model::of::<M>()], words.map(|word| (*word).to_owned())) {
            0 => Ok(()),
            code => Err(format!("the command ended with {code}").into()),
        }
    }
}
