//! What the command line asks for.
//!
//! Nothing is run here.

use std::path::PathBuf;

use crate::{Result, alone::Alone, workload::Workload};

/// How to use it.
pub(crate) const USAGE: &str = "\
cargo bench -p tablemodel -- [OPTIONS] [WORKLOAD]...

Compares tablemodel with the same work written by hand on redb, in one run.

  WORKLOAD     only workloads whose name contains one of these words; see --list
  --list       the names of the workloads
  --json       one JSON summary in place of the tables
  --quick      small and few: shows that it runs, the figures mean nothing
  --alone SIDE ENTITIES ROUNDS
               one side only, `ours` or `by-hand`, for profilers: no ratios
  --compile    only: what `cargo check` of 50 entities costs, beside serde's two derives, and with a lock; and `cargo build` of their use";

/// The command line, read.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) quick: bool,
    pub(crate) compile: bool,
    pub(crate) list: bool,
    pub(crate) help: bool,
    words: Vec<String>,
    pub(crate) alone: Option<Alone>,
    /// This process is a child that reads the file of one side, for its peak of memory.
    pub(crate) stream: Option<(String, PathBuf)>,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        // Without cargo's own `--bench` this is `cargo test`: only whether it runs is of interest.
        let mut options = Self { quick: true, ..Self::default() };
        let mut arguments = arguments;
        let mut asked_quick = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => options.quick = false,
                "--json" => options.json = true,
                "--quick" => asked_quick = true,
                "--compile" => options.compile = true,
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                "--alone" => options.alone = Some(Alone::read(&mut arguments)?),
                "--stream" => options.stream = arguments.next().zip(arguments.next().map(PathBuf::from)),
                word if !word.starts_with('-') => options.words.push(argument),
                unknown => return Err(format!("unknown option `{unknown}`\n\n{USAGE}").into()),
            }
        }
        options.quick |= asked_quick;
        options.check_words()?;
        Ok(options)
    }

    fn check_words(&self) -> Result<()> {
        let names = || Workload::ALL.iter().map(|workload| workload.name()).chain(crate::others());
        let known = |word: &str| names().any(|name| name.contains(word));
        match self.words.iter().find(|word| !known(word)) {
            Some(word) => Err(format!("no workload is called `{word}`; see --list").into()),
            None => Ok(()),
        }
    }

    /// Whether one of these workloads is to be run.
    pub(crate) fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }

    /// Whether the workload of this name is to be run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// The numbers of employees in the databases, ascending.
    pub(crate) fn sizes(&self) -> &'static [u32] {
        if self.quick { &[1_000, 2_000] } else { &[10_000, 100_000] }
    }
}
