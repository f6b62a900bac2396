//! Tablemodel beside the same work written by hand on redb: every figure is a ratio taken in one run.
//!
//! | file | what lives there |
//! |---|---|
//! | `employee` | the entity that both sides keep |
//! | `side` | what both sides can do; `ours` and `by_hand` are the sides |
//! | `workload` | one round of each workload |
//! | `paired` | rounds of both sides and all sizes in turn, and medians |
//! | `alone` | one side for a profiler |
//! | `wide`, `entries`, `list`, `fanout` | an entity of several rows, with many index rows, in a long list, copied by many |
//! | `crowd` | many tasks that meet in one row |
//! | `keyed`, `turns` | what those are compared with, and how |
//! | `walk` | verification and repair |
//! | `touch` | the backfill of an added index |
//! | `memory`, `compile` | the peak of memory while streaming; the cost of compiling |
//! | `options`, `report` | the command line, and the figures as tables or JSON |

mod alone;
mod by_hand;
mod compile;
mod crowd;
mod employee;
mod entries;
mod fanout;
mod keyed;
mod list;
mod memory;
mod options;
mod ours;
mod paired;
mod report;
mod side;
mod touch;
mod turns;
mod walk;
mod wide;
mod workload;

use self::{options::Options, report::Report, workload::Workload};

/// Whatever went wrong: the run is over.
type Error = Box<dyn std::error::Error + Send + Sync>;
/// What a step gives.
type Result<T, E = Error> = std::result::Result<T, E>;

/// The name of the measurement of memory, among those of the workloads.
const MEMORY: &str = "memory";

/// What is measured beside the workloads on employees, by name.
fn others() -> impl Iterator<Item = &'static str> {
    [wide::NAME]
        .into_iter()
        .chain(entries::NAMES)
        .chain(list::NAMES)
        .chain(fanout::NAMES)
        .chain(crowd::NAMES)
        .chain(walk::NAMES)
        .chain([touch::NAME])
        .chain([MEMORY])
}

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1))?;
    if options.help {
        println!("{}", options::USAGE);
        return Ok(());
    }
    if options.list {
        Workload::ALL.iter().for_each(|workload| println!("{}", workload.name()));
        others().for_each(|name| println!("{name}"));
        return Ok(());
    }
    let report = if options.compile {
        Report { compile: Some(compile::measure(options.quick)?), ..Report::default() }
    } else {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        if let Some((side, path)) = &options.stream {
            return runtime.block_on(memory::stream(side, path));
        }
        if let Some(alone) = &options.alone {
            return runtime.block_on(alone.run(&options));
        }
        runtime.block_on(paired::measure(&options))?
    };
    if options.json {
        println!("{}", report.json(options.quick));
    } else {
        println!("{}", report.text());
    }
    Ok(())
}
