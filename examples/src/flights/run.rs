//! One run of the application: load, ask, check, tell.
//! What is told goes to stdout; progress goes to stderr, and only to a terminal.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tablemodel::Database;

use super::{
    Result, check,
    load::{self, Loaded},
    model::Timetable,
    report::{self, CheckFigures, Figures},
};

/// Flights of the full year: the scale of the progress bar, when that many are loaded.
const FULL_YEAR: u64 = 336_776;
/// Flights of the bundled month.
const JANUARY: u64 = 27_004;
/// Paths of a question that are printed; `--json` has all.
const SHOWN: usize = 2;

/// Loads a year (or the bundled January) of departures from New York, and answers questions about them.
#[derive(Debug, Parser)]
#[command(name = "flights")]
pub struct Options {
    /// Directory with flights, planes, airlines, airports and weather as .csv.gz [default: the bundled January]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Compare every answer with a plain pass over the files
    #[arg(long)]
    check: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// The store's file, which must not exist yet [default: a temporary file]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep the store's file
    #[arg(long)]
    keep: bool,
}

/// Runs the application; the exit code tells whether a check failed.
///
/// # Errors
///
/// Files that cannot be read, and those of the database.
pub async fn run(options: Options) -> Result<ExitCode> {
    let store = StoreFile::new(&options)?;
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let directory = options.data.as_deref().unwrap_or(&bundled);

    let db = Database::open::<Timetable>(&store.path).await?;
    db.ensure_tables().await?;
    let loaded = load_with_progress(&db, directory, &options).await?;
    let stats = db.embedded().ok_or("the database is on no file")?.stats()?;
    let mut figures = Figures::of(&loaded, stats.file_bytes, peak_kib());
    figures.queries = report::ask_all(&db, loaded.last_month).await?;
    if options.check {
        let begin = Instant::now();
        let checked = check::check(&db, directory).await?;
        figures.check = Some(CheckFigures::of(checked, begin.elapsed().as_secs_f64()));
    }
    tell(&figures, &options)?;
    drop(db);
    store.close(&options)?;
    let failed = figures.check.as_ref().is_some_and(|check| check.failed > 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn load_with_progress(db: &Database, directory: &Path, options: &Options) -> Result<Loaded> {
    let flights = if options.data.is_some() { FULL_YEAR } else { JANUARY };
    let bar = match options.json || !std::io::stderr().is_terminal() {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(flights),
    };
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} flights, {per_sec}, {eta} left")?);
    let loaded = load::load(db, directory, |written| bar.set_position(written)).await;
    bar.finish_and_clear();
    loaded
}

fn tell(figures: &Figures, options: &Options) -> Result<()> {
    if options.json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    println!("loaded {}\n", figures.told());
    for asked in &figures.queries {
        println!("({}) {}", asked.letter, asked.question);
        asked.explain.iter().take(SHOWN).for_each(|explain| println!("    {explain}"));
        if let more @ 1.. = asked.explain.len().saturating_sub(SHOWN) {
            println!("    and {more} more of the kind");
        }
        println!("    {} [{:.0} µs]\n", asked.answer, asked.microseconds);
    }
    if let Some(CheckFigures { made, failed, differences, seconds }) = &figures.check {
        differences.iter().for_each(|difference| eprintln!("difference: {difference}"));
        println!("checked {made} answers and every row against the files in {seconds:.1} s: {failed} differences");
    }
    Ok(())
}

/// Where the store stands, and what becomes of it.
struct StoreFile {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl StoreFile {
    fn new(options: &Options) -> Result<Self> {
        match &options.store {
            Some(path) if path.exists() => {
                Err(format!("{} exists; remove it, or name another file by --store", path.display()).into())
            }
            Some(path) => Ok(Self { path: path.clone(), temporary: None }),
            None => {
                let folder = tempfile::tempdir()?;
                Ok(Self { path: folder.path().join("flights.tablemodel"), temporary: Some(folder) })
            }
        }
    }

    fn close(self, options: &Options) -> Result<()> {
        match (self.temporary, options.keep) {
            (temporary, true) => {
                temporary.map(tempfile::TempDir::keep);
                eprintln!("kept {}", self.path.display());
            }
            (Some(folder), false) => folder.close()?,
            (None, false) => std::fs::remove_file(&self.path)?,
        }
        Ok(())
    }
}

/// The most memory that this process had resident so far, in KiB. Linux tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
