//! One side of a workload alone, for profilers: rates, and no ratios.
//!
//! Nothing is compared here.

use std::str::FromStr;

use crate::{Result, by_hand::ByHand, options::Options, ours::Ours, paired::arena, side::Side, workload::Workload};

/// The sides, by the names that the command line knows them by.
pub(crate) const OURS: &str = "ours";
pub(crate) const BY_HAND: &str = "by-hand";

/// Which side, over how many employees, for how many rounds.
#[derive(Debug)]
pub(crate) struct Alone {
    side: String,
    count: u32,
    rounds: u32,
}

impl Alone {
    /// The three words after `--alone`.
    pub(crate) fn read(words: &mut impl Iterator<Item = String>) -> Result<Self> {
        let mut word = || words.next().ok_or("`--alone` takes a side, a number of employees, and one of rounds");
        Ok(Self { side: word()?, count: u32::from_str(&word()?)?, rounds: u32::from_str(&word()?)? })
    }

    /// Runs the rounds of the workloads that are wanted.
    pub(crate) async fn run(&self, options: &Options) -> Result<()> {
        match self.side.as_str() {
            OURS => self.rounds::<Ours>(options).await,
            BY_HAND => self.rounds::<ByHand>(options).await,
            unknown => Err(format!("no side is called `{unknown}`").into()),
        }
    }

    async fn rounds<S: Side>(&self, options: &Options) -> Result<()> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let arena = arena::<S>(directory.path(), "alone", self.count, options.quick).await?;
        for workload in Workload::ALL.into_iter().filter(|workload| options.wants(workload.name())) {
            for round in 0..self.rounds {
                println!("{}: {:.0} a second", workload.name(), arena.round(workload, round).await?);
            }
        }
        Ok(())
    }
}
