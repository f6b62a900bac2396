//! Processes killed while they write: every acknowledged commit is there, whole.
//!
//! The child is this same binary, running [`child`] alone. A kill leaves the page cache of the machine: power cuts are
//! `power_cut`'s.

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tablemodel_store::{Durability, EmbeddedStore, TableStore};

use crate::{
    disk::Random,
    workload::{Numbers, TABLES, all_rows, commit, expected, numbers, reached},
};

const WRITERS: usize = 4;
const ROUNDS: usize = 60;
/// Where the child finds its store.
const PATH: &str = "TABLEMODEL_TEST_KILL_PATH";
/// Set where it is to acknowledge before it syncs.
const RELAXED: &str = "TABLEMODEL_TEST_KILL_RELAXED";

/// Writes until it is killed, and tells each acknowledged commit on its output. Does nothing unless it is a child.
#[tokio::test]
#[ignore = "run by the parent test"]
async fn child() {
    let Some(path) = env::var_os(PATH) else { return };
    let durability = if env::var_os(RELAXED).is_some() { Durability::Relaxed } else { Durability::Durable };
    let store = EmbeddedStore::builder().durability(durability).open(&path).unwrap();
    for table in TABLES {
        if !store.list_tables().await.unwrap().contains(&table.to_owned()) {
            store.create_table(table).await.unwrap();
        }
    }
    let found = numbers(&all_rows(&store).await.unwrap());
    let write = async |writer: usize| {
        for number in reached(&found, writer) + 1.. {
            store.commit(&commit(writer, number)).await.unwrap();
            println!("\nacknowledged {writer} {number}");
        }
    };
    tokio::join!(write(0), write(1), write(2), write(3));
}

fn spawn(path: &Path, durability: Durability) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["kill::child", "--exact", "--ignored", "--nocapture"]).env(PATH, path);
    if durability == Durability::Relaxed {
        command.env(RELAXED, "");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// A child's end: when, and counted from its start or from its first commit.
struct Kill {
    delay: Duration,
    from_first: bool,
}

/// Kills a child; the last acknowledged commit of each writer, after those `acknowledged` before.
fn kill(mut child: Child, when: Kill, mut acknowledged: [u32; WRITERS]) -> [u32; WRITERS] {
    let Kill { delay, from_first } = when;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (first, may_begin) = mpsc::channel();
    let killer = thread::spawn(move || {
        if from_first {
            may_begin.recv().unwrap();
        }
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    for line in lines.map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        if let ["acknowledged", writer, number] = words[..] {
            acknowledged[writer.parse::<usize>().unwrap()] = number.parse().unwrap();
            // The killer waits for the first only.
            let _ = first.send(());
        }
    }
    drop(first);
    killer.join().unwrap();
    acknowledged
}

/// Kills children again and again; how far the writers came, or what was found to be wrong.
async fn rounds(durability: Durability) -> Result<[u32; WRITERS], String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(11);
    let mut acknowledged = [0; WRITERS];
    for round in 0..ROUNDS {
        let when = Kill { delay: Duration::from_millis(random.below(100) as u64), from_first: round % 3 != 0 };
        acknowledged = kill(spawn(&path, durability), when, acknowledged);
        let store = EmbeddedStore::open(&path).unwrap();
        // It may have been killed before it made its tables.
        let began = store.list_tables().await.unwrap().len() == TABLES.len();
        let found = if began { numbers(&all_rows(&store).await.unwrap()) } else { Numbers::new() };
        let mut whole = Numbers::new();
        for (writer, last) in acknowledged.iter().enumerate() {
            let reached = reached(&found, writer);
            if reached < *last {
                return Err(format!("round {round}: writer {writer} was acknowledged {last}, found {reached}"));
            }
            whole.extend(expected(writer, reached));
        }
        assert_eq!(found, whole, "round {round}: torn");
        store.check().await.unwrap();
    }
    Ok(acknowledged)
}

#[tokio::test]
async fn killed_writers_lose_nothing_acknowledged_and_tear_nothing() {
    let acknowledged = rounds(Durability::Durable).await.unwrap();
    println!("acknowledged and found: {acknowledged:?}");
    assert!(acknowledged.iter().sum::<u32>() as usize > ROUNDS, "too few commits to tell: {acknowledged:?}");
}

/// The test can fail: a store that acknowledges before it syncs is found out.
#[tokio::test]
async fn a_store_that_acknowledges_too_early_is_found_out() {
    let found = rounds(Durability::Relaxed).await;
    assert!(found.is_err_and(|why| why.contains("was acknowledged")));
}
