//! Runs the workloads: both sides and all sizes in turn, round by round, so that a busy moment meets all of them.
//!
//! What a round does is `workload`'s.

use std::path::{Path, PathBuf};

use crate::{
    MEMORY, Result,
    by_hand::ByHand,
    crowd,
    employee::{Employee, last_name},
    entries, fanout, list, memory,
    options::Options,
    ours::Ours,
    report::{Figure, Growth, Report},
    side::Side,
    touch, walk, wide,
    workload::{Arena, Workload, loaded},
};

/// The databases of both sides, of one size.
struct Pair {
    count: u32,
    ours: Arena<Ours>,
    by_hand: Arena<ByHand>,
}

/// What one round gave for one size, in entities a second.
#[derive(Debug, Clone, Copy)]
struct Round {
    ours: f64,
    by_hand: f64,
}

/// Measures all that the options ask for.
pub(crate) async fn measure(options: &Options) -> Result<Report> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut pairs = Vec::new();
    let mut of_employees = Workload::ALL.iter().map(|workload| workload.name()).chain([MEMORY]);
    let sizes = if of_employees.any(|name| options.wants(name)) { options.sizes() } else { &[] };
    for count in sizes {
        eprintln!("loading {count} employees");
        pairs.push(Pair::load(directory.path(), *count, options.quick).await?);
    }
    let mut report = Report::default();
    for workload in Workload::ALL.into_iter().filter(|workload| options.wants(workload.name())) {
        eprintln!("measuring: {}", workload.name());
        let rounds = rounds(workload, &pairs, options.quick).await?;
        add(&mut report, workload, &pairs, &rounds);
    }
    of_others(&mut report, directory.path(), options).await?;
    for pair in &pairs {
        pair.check_alike().await?;
    }
    if options.wants(MEMORY) {
        eprintln!("measuring: {MEMORY}");
        let files: Vec<_> = pairs.iter().map(Pair::files).collect();
        drop(pairs); // the children open the files
        report.memory =
            files.iter().map(|(count, ours, by_hand)| memory::peaks(*count, ours, by_hand)).collect::<Result<_>>()?;
    }
    Ok(report)
}

/// What is measured in files of its own.
async fn of_others(report: &mut Report, directory: &Path, options: &Options) -> Result<()> {
    let (quick, wants) = (options.quick, |name: &str| options.wants(name));
    if options.wants(wide::NAME) {
        report.figures.push(wide::measure(directory, quick).await?);
    }
    if options.wants_any(&entries::NAMES) {
        report.figures.extend(entries::measure(directory, quick, wants).await?);
    }
    if options.wants_any(&list::NAMES) {
        report.figures.extend(list::measure(directory, quick, wants).await?);
    }
    if options.wants_any(&fanout::NAMES) {
        report.figures.extend(fanout::measure(directory, quick, wants).await?);
    }
    if options.wants_any(&crowd::NAMES) {
        report.figures.extend(crowd::measure(directory, quick, wants).await?);
    }
    if options.wants_any(&walk::NAMES) {
        report.rates = walk::measure(directory, quick, wants).await?;
    }
    if options.wants(touch::NAME) {
        report.rates.push(touch::measure(directory, quick).await?);
        report.waits = touch::waits(directory, quick).await?;
    }
    Ok(())
}

/// The rounds of a workload, each with what every size gave.
async fn rounds(workload: Workload, pairs: &[Pair], quick: bool) -> Result<Vec<Vec<Round>>> {
    let mut rounds = Vec::new();
    // The first round, not counted, warms caches and allocators.
    for round in 0..=workload.rounds(quick) {
        let mut sizes = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let ours = pair.ours.round(workload, round).await?;
            let by_hand = pair.by_hand.round(workload, round).await?;
            sizes.push(Round { ours, by_hand });
        }
        rounds.push(sizes);
    }
    rounds.remove(0);
    Ok(rounds)
}

fn add(report: &mut Report, workload: Workload, pairs: &[Pair], rounds: &[Vec<Round>]) {
    for (at, pair) in pairs.iter().enumerate() {
        let of_size = |figure: fn(&Round) -> f64| median(rounds.iter().filter_map(|round| round.get(at)).map(figure));
        report.figures.push(Figure {
            workload: workload.name(),
            entities: pair.count,
            ours: of_size(|round| round.ours),
            by_hand: of_size(|round| round.by_hand),
            ratio: of_size(|round| round.ours / round.by_hand),
            goal: workload.goal(),
        });
    }
    let ends = || rounds.iter().filter_map(|round| round.first().zip(round.last()));
    report.growth.push(Growth {
        workload: workload.name(),
        ours: median(ends().map(|(smallest, largest)| smallest.ours / largest.ours)),
        by_hand: median(ends().map(|(smallest, largest)| smallest.by_hand / largest.by_hand)),
        goal: workload.growth_goal(),
    });
}

/// The middle figure, or the mean of the two in the middle; 0 of none.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let middle = |at: usize| figures.get(at).copied().unwrap_or_default();
    let half = figures.len() / 2;
    if figures.len() % 2 == 1 { middle(half) } else { (middle(half.saturating_sub(1)) + middle(half)) / 2.0 }
}

impl Pair {
    async fn load(directory: &Path, count: u32, quick: bool) -> Result<Self> {
        let ours: Arena<Ours> = arena(directory, &format!("{count}.tablemodel"), count, quick).await?;
        let by_hand: Arena<ByHand> = arena(directory, &format!("{count}.redb"), count, quick).await?;
        ours.meet().await?;
        by_hand.meet().await?;
        Ok(Self { count, ours, by_hand })
    }

    fn files(&self) -> (u32, PathBuf, PathBuf) {
        let file = |name: &str| self.ours.directory.join(format!("{}.{name}", self.count));
        (self.count, file("tablemodel"), file("redb"))
    }

    /// That both sides did the same work: they hold the same employees, and the same index rows.
    async fn check_alike(&self) -> Result<()> {
        for id in (0..self.count).step_by(97) {
            let ours = self.ours.side.get(id).await?;
            let by_hand = self.by_hand.side.get(id).await?;
            let (ours, by_hand) = (ours.as_ref().map(Ours::employee), by_hand.as_ref().map(ByHand::employee));
            if ours != by_hand || ours.is_none() {
                return Err(format!("the sides differ in employee {id}: {ours:?}, by hand {by_hand:?}").into());
            }
        }
        for bits in 0..16 {
            let name = last_name(bits);
            let (ours, by_hand) = (self.ours.side.emails_of(&name).await?, self.by_hand.side.emails_of(&name).await?);
            if ours != by_hand {
                return Err(format!("the sides differ in `{name}`: {ours:?}, by hand {by_hand:?}").into());
            }
        }
        let beyond = Employee::number(self.count).email;
        let gone =
            self.ours.side.by_email(&beyond).await?.is_none() && self.by_hand.side.by_email(&beyond).await?.is_none();
        if gone { Ok(()) } else { Err("a deleted employee is still there".into()) }
    }
}

/// A loaded database of one side, in a file of this name, and another that is not read.
pub(crate) async fn arena<S: Side>(directory: &Path, name: &str, count: u32, quick: bool) -> Result<Arena<S>> {
    let unread = directory.join(format!("unread.{name}"));
    loaded::<S>(&unread, count).await?.0.close().await?;
    let (side, _) = loaded::<S>(&directory.join(name), count).await?;
    Ok(Arena { side, count, unread, directory: directory.to_owned(), quick })
}
