//! Kills: a process of this program writes to a file, one partition at a time as on Azure, and is killed at a random moment; then
//! the file is opened, the relay finishes what was begun, and verification must find nothing wrong.
//!
//! What the process does is `work`'s.

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path as File,
    process::{Command, ExitCode, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tablemodel::{Consistency, Database, RelayReport};

use super::{Result, chance::Chance, model::Company, places::settle, work};

/// Short, so that tombstones are swept while the process lives, too.
const FENCE: Duration = Duration::from_secs(2);
/// How long a process lives, once it writes.
const LIVES: std::ops::Range<u32> = 20..400; // ms
/// What the process says when it begins to write.
const READY: &str = "ready";

async fn open(file: &File) -> Result<Database> {
    let db = Database::builder().consistency(Consistency::Azure).fence(FENCE).open::<Company>(file).await?;
    db.ensure_tables().await?;
    Ok(db)
}

/// The process that is to be killed: it comes back only if it fails.
///
/// # Errors
///
/// Those of the database.
pub async fn child(file: &File, seed: u64) -> Result<ExitCode> {
    let db = open(file).await?;
    println!("{READY}");
    let relay = db.relay().every(Duration::from_millis(200)).run();
    tokio::select! {
        ended = work::for_ever(&db, seed) => match ended? {},
        ended = relay => match ended? {},
    }
}

/// Has a process killed so many times, and tells whether the file was clean each time.
///
/// # Errors
///
/// If the process ends by itself; those of files and of the database.
pub async fn rounds(rounds: u32, seed: u64) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("company.tablemodel");
    let mut chance = Chance::new(seed);
    let (mut acknowledged, mut unfinished, mut violations) = (0, 0, 0);
    for round in 1..=rounds {
        let life = Duration::from_millis((LIVES.start + chance.below(LIVES.end - LIVES.start)).into());
        let (path, seed) = (file.clone(), u64::from(chance.below(u32::MAX)));
        let written = tokio::task::spawn_blocking(move || kill_after(&path, seed, life)).await??;
        let found = after_kill(&file).await?;
        println!("{round:>4}: killed after {life:?} and {written} changes; {found}");
        acknowledged += written;
        unfinished += found.delivered;
        violations += found.violations.len();
    }
    let left = after_fence(&file).await?;
    println!(
        "{rounds} kills, {acknowledged} acknowledged changes, {unfinished} finished by the relay, {violations} violations"
    );
    println!("{left} tombstones once the fence has passed");
    Ok(violations == 0 && left == 0)
}

/// What a kill left, after the relay.
struct Found {
    delivered: u64,
    rows: u64,
    violations: Vec<String>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rows, delivered) = (self.rows, self.delivered);
        write!(f, "the relay finished {delivered}; {rows} rows, {} violations", self.violations.len())?;
        self.violations.iter().try_for_each(|violation| write!(f, "\n      {violation}"))
    }
}

async fn after_kill(file: &File) -> Result<Found> {
    let db = open(file).await?;
    let delivered = drain(&db).await?;
    let verified = db.verify().await?;
    let mut violations: Vec<_> = verified.violations.iter().map(ToString::to_string).collect();
    if verified.pending > 0 {
        violations.push(format!("{} outbox rows are not delivered after the relay", verified.pending));
    }
    db.close().await?;
    Ok(Found { delivered, rows: verified.rows, violations })
}

/// Has the relay deliver whatever there is, and tells how many outbox rows. What one round writes, another may have to deliver.
async fn drain(db: &Database) -> Result<u64> {
    let mut delivered = 0;
    loop {
        let report = db.relay().drain().await?;
        delivered += report.delivered;
        match report {
            _ if !report.is_settled() => return Err(format!("the relay could not finish: {report:?}").into()),
            RelayReport { delivered: 0, .. } => return Ok(delivered),
            _ => {}
        }
    }
}

/// Tombstones that stand after the fence: there should be none.
async fn after_fence(file: &File) -> Result<u64> {
    let db = open(file).await?;
    settle(&db).await?;
    Ok(db.verify().await?.tombstones)
}

/// Runs a process, kills it (SIGKILL) so long after it begins to write, and counts the changes that it had acknowledged.
fn kill_after(file: &File, seed: u64, life: Duration) -> Result<u64> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("--child").arg(file).args(["--seed", &seed.to_string()]).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("the process has no output")?;
    let (ready, is_ready) = mpsc::channel();
    let counter = thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(std::result::Result::ok);
        if lines.next().as_deref() == Some(READY) {
            let _ = ready.send(());
        }
        lines.count() as u64
    });
    let began = is_ready.recv();
    thread::sleep(life);
    let ended = child.try_wait()?;
    child.kill()?;
    child.wait()?;
    let acknowledged = counter.join().map_err(|_| "the output of the process could not be read")?;
    match ended {
        None if began.is_ok() => Ok(acknowledged),
        _ => Err(format!("the process with seed {seed} ended by itself").into()),
    }
}
