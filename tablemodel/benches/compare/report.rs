//! Figures, and how they are shown: tables for people, JSON for programs.
//!
//! Nothing is measured here.

use std::time::Duration;

use serde_json::{Value, json};

/// How much more memory streaming the largest database may take than streaming the smallest.
pub(crate) const MAX_MEMORY_GROWTH: f64 = 1.2;
/// How much longer checking our entities may take than serde's derives on the same structs.
pub(crate) const MAX_COMPILE_RATIO: f64 = 1.5;

/// Milliseconds that comparing an entity with the lock may take while it compiles.
pub(crate) const MAX_GATE: f64 = 50.0;

/// A workload on databases of one size: medians over its rounds.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) workload: &'static str,
    pub(crate) entities: u32,
    /// Entities a second.
    pub(crate) ours: f64,
    /// Entities a second.
    pub(crate) by_hand: f64,
    /// The median of the ratios of the rounds, each of one moment: not the ratio of the medians.
    pub(crate) ratio: f64,
    pub(crate) goal: Option<f64>,
}

impl Figure {
    /// Its line of a table.
    fn line(&self) -> String {
        let Self { workload, entities, ours, by_hand, ratio, goal } = self;
        let goal = goal.map_or("-".to_owned(), |goal| format!("{goal:.2} {}", mark(*ratio >= goal)));
        format!("{workload:<42}{entities:>9}{ours:>12.0}{by_hand:>12.0}{ratio:>8.2}  {goal}\n")
    }
}

/// A walk over a whole database, which has no peer.
#[derive(Debug)]
pub(crate) struct Rate {
    pub(crate) workload: &'static str,
    pub(crate) rows: u64,
    /// Rows.
    pub(crate) per_second: f64,
    pub(crate) goal: f64,
}

/// The 99th percentile of what a write takes beside other work, and without that; medians over the rounds.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) workload: &'static str,
    pub(crate) without: Duration,
    pub(crate) with: Duration,
    pub(crate) ratio: f64,
    pub(crate) goal: Option<f64>,
}

/// Time for one operation in the largest database, as a multiple of that in the smallest.
#[derive(Debug)]
pub(crate) struct Growth {
    pub(crate) workload: &'static str,
    pub(crate) ours: f64,
    pub(crate) by_hand: f64,
    pub(crate) goal: Option<f64>,
}

/// The peak of resident memory of a process that streams a whole database, in KiB.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) entities: u32,
    pub(crate) ours: u64,
    pub(crate) by_hand: u64,
}

/// Seconds of `cargo check`, and of `cargo build`, medians.
#[derive(Debug)]
pub(crate) struct Compile {
    pub(crate) ours: f64,
    pub(crate) serde: f64,
    /// An empty crate with the same dependency: what no entity is to blame for.
    pub(crate) empty: f64,
    pub(crate) ratio: f64,
    /// The ratio where nothing has changed since the check before.
    pub(crate) again: f64,
    /// How much longer it takes with a lock: milliseconds an entity.
    pub(crate) gate: f64,
    /// A build of a crate with twelve calls of each entity, and of one that writes and reads each as JSON by serde.
    pub(crate) build: f64,
    pub(crate) build_json: f64,
    pub(crate) build_ratio: f64,
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    pub(crate) rates: Vec<Rate>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) growth: Vec<Growth>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) compile: Option<Compile>,
}

impl Report {
    /// How memory grows from the smallest database to the largest: ours, and by hand.
    fn memory_growth(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.memory.first()?, self.memory.last()?);
        Some((last.ours as f64 / first.ours as f64, last.by_hand as f64 / first.by_hand as f64))
    }

    /// The summary for programs.
    pub(crate) fn json(&self, quick: bool) -> Value {
        let figures = self.figures.iter().map(|it| {
            json!({
                "workload": it.workload, "entities": it.entities, "ours_per_second": it.ours,
                "by_hand_per_second": it.by_hand, "ratio": it.ratio, "goal": it.goal,
            })
        });
        let rates = self.rates.iter().map(
            |it| json!({ "workload": it.workload, "rows": it.rows, "rows_per_second": it.per_second, "goal": it.goal }),
        );
        let waits = self.waits.iter().map(|it| {
            json!({
                "workload": it.workload, "without_seconds": it.without.as_secs_f64(), "with_seconds": it.with.as_secs_f64(),
                "ratio": it.ratio, "goal": it.goal,
            })
        });
        let growth = self
            .growth
            .iter()
            .map(|it| json!({ "workload": it.workload, "ours": it.ours, "by_hand": it.by_hand, "goal": it.goal }));
        let memory = self
            .memory
            .iter()
            .map(|it| json!({ "entities": it.entities, "ours_kib": it.ours, "by_hand_kib": it.by_hand }));
        let memory_growth = self
            .memory_growth()
            .map(|(ours, by_hand)| json!({ "ours": ours, "by_hand": by_hand, "goal": MAX_MEMORY_GROWTH }));
        let compile = self.compile.as_ref().map(|it| {
            json!({
                "ours_seconds": it.ours, "serde_seconds": it.serde, "empty_seconds": it.empty, "ratio": it.ratio,
                "goal": MAX_COMPILE_RATIO, "ratio_unchanged": it.again, "gate_ms_an_entity": it.gate, "gate_goal": MAX_GATE,
                "build_seconds": it.build, "build_json_seconds": it.build_json, "build_ratio": it.build_ratio,
            })
        });
        json!({
            "quick": quick, "figures": figures.collect::<Vec<_>>(), "rates": rates.collect::<Vec<_>>(),
            "waits": waits.collect::<Vec<_>>(), "growth": growth.collect::<Vec<_>>(),
            "memory": memory.collect::<Vec<_>>(), "memory_growth": memory_growth, "compile": compile,
        })
    }

    /// The tables for people.
    pub(crate) fn text(&self) -> String {
        [
            self.figures_text(),
            self.rates_text(),
            self.waits_text(),
            self.growth_text(),
            self.memory_text(),
            self.compile_text(),
        ]
        .concat()
    }

    fn figures_text(&self) -> String {
        let head = format!(
            "{:<42}{:>9}{:>12}{:>12}{:>8}  {}\n",
            "entities a second", "of", "tablemodel", "by hand", "ratio", "goal (at least)"
        );
        table(head, self.figures.iter().map(Figure::line))
    }

    fn rates_text(&self) -> String {
        let rows = self.rates.iter().map(|it| {
            let met = mark(it.per_second >= it.goal);
            format!("{:<42}{:>9}{:>12.0}{:>20}  {:.0} {met}\n", it.workload, it.rows, it.per_second, "", it.goal)
        });
        let head = format!("{:<42}{:>9}{:>12}{:>20}  {}\n", "rows a second", "of", "tablemodel", "", "goal (at least)");
        table(head, rows)
    }

    fn waits_text(&self) -> String {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let rows = self.waits.iter().map(|it| {
            let goal = it.goal.map_or("-".to_owned(), |goal| format!("{goal:.2} {}", mark(it.ratio <= goal)));
            let (with, without) = (millis(it.with), millis(it.without));
            format!("{:<42}{:>9}{with:>12.3}{without:>12.3}{:>8.2}  {goal}\n", it.workload, "", it.ratio)
        });
        let head = format!(
            "{:<42}{:>9}{:>12}{:>12}{:>8}  {}\n",
            "a write, ms, 99th percentile", "", "with", "without", "ratio", "goal (at most)"
        );
        table(head, rows)
    }

    fn growth_text(&self) -> String {
        let rows = self.growth.iter().map(|it| {
            let goal = it.goal.map_or("-".to_owned(), |goal| format!("{goal:.2} {}", mark(it.ours <= goal)));
            format!("{:<42}{:>9}{:>12.2}{:>12.2}{:>8}  {goal}\n", it.workload, "", it.ours, it.by_hand, "")
        });
        let head = format!(
            "{:<42}{:>9}{:>12}{:>12}{:>8}  {}\n",
            "time of one, largest to smallest", "", "tablemodel", "by hand", "", "goal (at most)"
        );
        table(head, rows)
    }

    fn memory_text(&self) -> String {
        let growth = self.memory_growth().map(|(ours, by_hand)| {
            let met = mark(ours <= MAX_MEMORY_GROWTH);
            format!("{:<42}{:>9}{ours:>12.2}{by_hand:>12.2}{:>8}  {MAX_MEMORY_GROWTH:.2} {met}\n", "growth", "", "")
        });
        let rows = self.memory.iter().map(|it| {
            format!("{:<42}{:>9}{:>12}{:>12}\n", "peak while streaming all", it.entities, it.ours, it.by_hand)
        });
        let head = format!(
            "{:<42}{:>9}{:>12}{:>12}{:>8}  {}\n",
            "resident memory, KiB", "of", "tablemodel", "by hand", "", "goal (at most)"
        );
        table(head, rows.chain(growth))
    }

    fn compile_text(&self) -> String {
        let rows = self.compile.iter().map(|it| {
            let met = mark(it.ratio <= MAX_COMPILE_RATIO);
            format!(
                "{:<42}{:>9.2}{:>12.2}{:>12.2}{:>8.2}  {MAX_COMPILE_RATIO:.2} {met}\n",
                "cargo check, s: 50 entities", it.empty, it.ours, it.serde, it.ratio
            )
        });
        let head = format!(
            "{:<42}{:>9}{:>12}{:>12}{:>8}  {}\n",
            "compiling", "empty", "tablemodel", "serde", "ratio", "goal (at most)"
        );
        let gate = self.compile.iter().map(|it| {
            let (met, name) = (mark(it.gate <= MAX_GATE), "comparing with the lock, ms an entity");
            format!("{name:<42}{:>9}{:>12.2}{:>12}{:>8}  {MAX_GATE:.0} {met}\n", "", it.gate, "", "")
        });
        let again = self.compile.iter().map(|it| {
            let name = "the same, nothing changed";
            format!("{name:<42}{:>9}{:>12}{:>12}{:>8.2}\n", "", "", "", it.again)
        });
        let build = self.compile.iter().map(|it| {
            let (name, of) = ("cargo build, s: twelve calls of each", (it.build, it.build_json, it.build_ratio));
            format!("{name:<42}{:>9}{:>12.2}{:>12.2}{:>8.2}\n", "", of.0, of.1, of.2)
        });
        table(head, rows.chain(again).chain(gate).chain(build))
    }
}

fn table(head: String, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("\n{head}{}", rows.concat()) }
}

const fn mark(met: bool) -> &'static str {
    if met { "met" } else { "NOT MET" }
}
