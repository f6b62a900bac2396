//! Processes killed while they write: every acknowledged commit is there, whole.
//!
//! The child is this same binary, running [`child`] alone. A kill leaves the page cache of the machine: power cuts are
//! `power_cut`'s.

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tablemodel_store::{EmbeddedStore, TableStore};

use crate::{
    disk::Random,
    workload::{Numbers, TABLES, all_rows, commit, expected, numbers, reached},
};

const WRITERS: usize = 4;
const ROUNDS: usize = 60;
/// Where the child finds its store.
const PATH: &str = "TABLEMODEL_TEST_KILL_PATH";

/// Writes until it is killed, and tells each acknowledged commit on its output. Does nothing unless it is a child.
#[tokio::test]
#[ignore = "run by the parent test"]
async fn child() {
    let Some(path) = env::var_os(PATH) else { return };
    let store = EmbeddedStore::open(&path).unwrap();
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

fn spawn(path: &Path) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["kill::child", "--exact", "--ignored", "--nocapture"]).env(PATH, path);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a child after a while; the last acknowledged commit of each writer.
fn kill_after(path: &Path, delay: Duration, mut acknowledged: [u32; WRITERS]) -> [u32; WRITERS] {
    let mut child = spawn(path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let killer = thread::spawn(move || {
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    for line in lines.map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        if let ["acknowledged", writer, number] = words[..] {
            acknowledged[writer.parse::<usize>().unwrap()] = number.parse().unwrap();
        }
    }
    killer.join().unwrap();
    acknowledged
}

#[tokio::test]
async fn killed_writers_lose_nothing_acknowledged_and_tear_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(11);
    let mut acknowledged = [0; WRITERS];
    for round in 0..ROUNDS {
        let delay = Duration::from_millis(30 + random.below(120) as u64);
        acknowledged = kill_after(&path, delay, acknowledged);
        let store = EmbeddedStore::open(&path).unwrap();
        // Killed before it made its tables.
        if store.list_tables().await.unwrap().len() < TABLES.len() {
            continue;
        }
        let found = numbers(&all_rows(&store).await.unwrap());
        let mut whole = Numbers::new();
        for (writer, last) in acknowledged.iter().enumerate() {
            let reached = reached(&found, writer);
            assert!(reached >= *last, "round {round}: writer {writer} was acknowledged {last}, found {reached}");
            whole.extend(expected(writer, reached));
        }
        assert_eq!(found, whole, "round {round}: torn");
        store.check().await.unwrap();
    }
    assert!(acknowledged.iter().all(|number| *number as usize > ROUNDS), "too few commits to tell: {acknowledged:?}");
}
