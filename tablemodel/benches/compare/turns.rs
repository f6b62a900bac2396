//! Two ways of doing one thing, round by round in turn, and what became of them.
//!
//! What a round does is the caller's.

use std::time::Instant;

use crate::{Result, paired::median, report::Figure};

/// What is measured, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) workload: &'static str,
    pub(crate) entities: u32,
    pub(crate) goal: Option<f64>,
    pub(crate) rounds: u32,
}

impl Turns {
    /// Medians over the rounds. Each side is told the number of the round, and says how many it did.
    pub(crate) async fn measure(
        self,
        mut ours: impl AsyncFnMut(u32) -> Result<u32>,
        mut by_hand: impl AsyncFnMut(u32) -> Result<u32>,
    ) -> Result<Figure> {
        eprintln!("measuring: {}", self.workload);
        let mut figures = Vec::new();
        for round in 0..=self.rounds {
            let ours = rate(&mut ours, round).await?;
            figures.push((ours, rate(&mut by_hand, round).await?));
        }
        figures.remove(0); // it warms caches and allocators
        Ok(Figure {
            workload: self.workload,
            entities: self.entities,
            ours: median(figures.iter().map(|(ours, _)| *ours)),
            by_hand: median(figures.iter().map(|(_, by_hand)| *by_hand)),
            ratio: median(figures.iter().map(|(ours, by_hand)| ours / by_hand)),
            goal: self.goal,
        })
    }
}

async fn rate(side: &mut impl AsyncFnMut(u32) -> Result<u32>, round: u32) -> Result<f64> {
    let begun = Instant::now();
    let done = side(round).await?;
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}
