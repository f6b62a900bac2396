//! The tool killed at any moment while it builds: whoever runs it next ends what was begun, and everything is there.
//!
//! The child is this same binary, running [`child`] alone.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    Package,
    clubs::new,
    store::{fill, within},
};
use crate::{
    cli::{
        Model,
        outcome::{DONE, STOPPED},
        run,
    },
    prelude::*,
};

/// Where the child finds its file.
const PATH: &str = "TABLEMODEL_TEST_CLI_PATH";
/// And how fast it is to be.
const RATE: &str = "TABLEMODEL_TEST_CLI_RATE";
const PERSONS: u32 = 3_000;
const KILLS: u32 = 100;

const PACKAGE: Package = Package { name: "club", folder: "/nowhere", model: "Club" };

fn words<'p>(path: &'p str, rate: &'p str) -> [&'p str; 8] {
    ["tablemodel", "apply", "--batch=60", "--workers=2", rate, "--json", "--store", path]
}

const FAST: &str = "--rate=1000000";
/// So that it is at work for minutes, if it is let.
const SLOW: &str = "--rate=60";

/// Applies until it is done or killed. Does nothing unless it is a child.
#[test]
fn child() {
    let Ok(path) = env::var(PATH) else { return };
    let rate = env::var(RATE).unwrap_or_default();
    std::process::exit(i32::from(run(&PACKAGE, &[Model::of::<new::Club>()], words(&path, &rate))));
}

fn spawn(path: &Path, rate: &str, stderr: Stdio) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["cli::tests::kill::child", "--exact", "--nocapture"]).env(PATH, path).env(RATE, rate);
    command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
}

/// So that it waits for seconds at a time.
const SLOWEST: &str = "--rate=10";

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Runs a child and kills it after a while; whether it was still at work. One that ended must have said that it is done.
fn killed(path: &Path, after: Duration) -> bool {
    let mut child = spawn(path, FAST, Stdio::null());
    let begun = Instant::now();
    while begun.elapsed() < after {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(i32::from(DONE)));
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// That the migration is finished, each person is in each index, and every row is right.
fn assert_whole(path: &Path, told: &str) {
    within(async {
        let db = Database::open::<new::Club>(path).await.unwrap();
        let status = db.migrations().status().await.unwrap().unwrap();
        assert!(status.finished.is_some() && status.failed == 0, "{told}: {status:?}");
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{told}: {:?}", verified.violations);
        assert_eq!((verified.entities, verified.derived), (PERSONS.into(), u64::from(PERSONS) * 2), "{told}");
        for id in 0..PERSONS {
            let badge = new::Person::by_badge().badge(id).all(&db).await.unwrap();
            assert_eq!(badge.len(), 1, "{told}: {id}");
        }
        db.close().await.unwrap();
    });
}

#[test]
#[cfg_attr(not(unix), ignore = "it sends a signal")]
fn a_tool_that_is_interrupted_stops_after_the_batch_at_hand_and_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("club.tablemodel");
    fill(&path, PERSONS);
    let mut child = spawn(&path, SLOW, Stdio::piped());
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.any(|line| line.contains(" %  ")), "it tells that it is at work");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.any(|line| line.contains("stopping after the batch at hand")));
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(STOPPED)));
    let touched = within(async {
        let db = Database::open::<new::Club>(&path).await.unwrap();
        let status = db.migrations().status().await.unwrap().unwrap();
        db.close().await.unwrap();
        assert_eq!(status.finished, None);
        status.touched
    });
    assert!(
        (1..u64::from(PERSONS)).contains(&touched),
        "{touched}: it stopped in between, and what was done is on record"
    );
    assert_eq!(run(&PACKAGE, &[Model::of::<new::Club>()], words(path.to_str().unwrap(), FAST)), DONE);
    assert_whole(&path, "after an interruption");
}

#[test]
#[cfg_attr(not(unix), ignore = "it sends a signal")]
fn a_second_interrupt_ends_the_tool_at_once_also_where_nobody_reads_what_it_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("club.tablemodel");
    fill(&path, PERSONS);
    let mut child = spawn(&path, SLOWEST, Stdio::piped());
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.any(|line| line.contains(" %  ")), "it tells that it is at work");
    drop(told); // as of a `tee` that the same Ctrl-C has ended
    let begun = Instant::now();
    for _ in 0..2 {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(STOPPED)));
    assert!(begun.elapsed() < Duration::from_secs(3), "it waited for its batch: {:?}", begun.elapsed());
}

#[test]
fn a_tool_that_is_killed_at_any_moment_is_taken_up_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (filled, path) = (folder.path().join("filled"), folder.path().join("club.tablemodel"));
    fill(&filled, PERSONS);
    let (mut dice, mut kills, mut ended) = (Dice(20_261_121), 0, 0);
    while kills < KILLS {
        fs::copy(&filled, &path).unwrap();
        while kills < KILLS && killed(&path, Duration::from_millis(10 + dice.below(150))) {
            kills += 1;
        }
        // The last one is let be.
        assert_eq!(
            run(&PACKAGE, &[Model::of::<new::Club>()], words(path.to_str().unwrap(), FAST)),
            DONE,
            "after {kills} kills"
        );
        assert_whole(&path, &format!("after {kills} kills"));
        ended += 1;
    }
    assert!(ended > 0 && ended < KILLS / 2, "{ended} of {KILLS}: most kills must find it at work");
}
