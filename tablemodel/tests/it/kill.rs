//! Processes killed while they write entities: every acknowledged write is there with all its index rows, and nothing
//! else is.
//!
//! The child is this same binary, running [`child`] alone. Power cuts below the engine are tested in `tablemodel-store`.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader},
    path::Path as File,
    process::{Command, Stdio},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use tablemodel::prelude::*;

const ROUNDS: u64 = 50;
const WRITERS: u32 = 4;
/// Where the child finds its file.
const PATH: &str = "TABLEMODEL_TEST_ENTITIES_PATH";

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Counters", partition = "{writer}", row = "counter_{id:06}")]
#[table(index(by_label, row = "label_{label}", unique, keep(tally)))]
#[table(index(by_tally, row = "tally_{tally}_{id:06}"))]
#[table(index(odd, row = "odd_{id:06}", when = is_odd, keys_only))]
struct Counter {
    writer: u32,
    id: u32,
    label: String,
    tally: u32,
    is_odd: bool,
}

#[derive(Debug, TableModel)]
enum Model {
    Counter(Counter),
}

fn counter(writer: u32, id: u32, tally: u32) -> Counter {
    Counter { writer, id, label: format!("{id}-{tally}"), tally, is_odd: tally % 2 == 1 }
}

/// Writes until it is killed, and tells each acknowledged write on its output. Does nothing unless it is a child.
#[tokio::test]
#[ignore = "run by the parent test"]
async fn child() {
    let Some(path) = env::var_os(PATH) else { return };
    let db = Database::open::<Model>(&path).await.unwrap();
    db.ensure_tables().await.unwrap();
    let write = async |writer: u32| {
        for turn in 0.. {
            let (id, start) = (turn % 16, turn / 16);
            let path = || Counter::find().writer(writer).id(id);
            let tally = match path().one(&db).await.unwrap() {
                None => db.insert(&counter(writer, id, start)).await.unwrap().tally,
                Some(old) if old.tally % 7 == 6 => {
                    let next = counter(writer, id, old.tally + 1);
                    let mut batch = db.batch(Counter::in_partition(writer));
                    batch.delete(old).insert(&next); // one batch: never seen without
                    batch.commit().await.unwrap();
                    next.tally
                }
                Some(mut old) => {
                    *old = counter(writer, id, old.tally + 1);
                    db.save(&mut old).await.unwrap();
                    old.tally
                }
            };
            println!("\nacknowledged {writer} {id} {tally}");
        }
    };
    tokio::join!(write(0), write(1), write(2), write(3));
}

/// Runs a child and kills it a while after its first acknowledged write, or, `early`, after its start; adds what it acknowledged.
fn kill_after(path: &File, delay: Duration, early: bool, acknowledged: &mut BTreeMap<(u32, u32), u32>) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["kill::child", "--exact", "--ignored", "--nocapture"]).env(PATH, path);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (writes, began) = channel();
    let killer = thread::spawn(move || {
        if !early {
            began.recv_timeout(Duration::from_secs(30)).ok(); // however long a busy machine takes to start it
        }
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    for line in lines.map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        if let ["acknowledged", writer, id, tally] = words[..] {
            let number = |word: &str| word.parse().unwrap();
            acknowledged.insert((number(writer), number(id)), number(tally));
            writes.send(()).ok(); // nobody listens any more after the first
        }
    }
    killer.join().unwrap();
}

/// What was acknowledged and is not there, with all its index rows, or is there torn.
async fn losses(db: &Database, acknowledged: &BTreeMap<(u32, u32), u32>) -> Vec<String> {
    let verified = db.verify().await.unwrap();
    let mut losses: Vec<_> = verified.violations.iter().map(ToString::to_string).collect();
    for (&(writer, id), &tally) in acknowledged {
        match Counter::find().writer(writer).id(id).one(db).await.unwrap() {
            Some(found) if found.tally >= tally => {}
            found => losses.push(format!("({writer}, {id}) was acknowledged at {tally}, found {found:?}")),
        }
    }
    losses
}

#[tokio::test]
async fn killed_programs_lose_no_acknowledged_entity_and_no_index_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("counters.tablemodel");
    let mut acknowledged = BTreeMap::new();
    for round in 0..ROUNDS {
        kill_after(&path, Duration::from_millis(40 + round * 37 % 60), round % 5 == 4, &mut acknowledged);
        let db = Database::open::<Model>(&path).await.unwrap();
        assert_eq!(losses(&db, &acknowledged).await, Vec::<String>::new(), "round {round}");
    }
    let writes: u32 = acknowledged.values().sum();
    assert!(acknowledged.len() as u32 == WRITERS * 16 && writes > 500, "too few writes to tell: {writes}");
    a_planted_loss_is_noticed(&path, acknowledged).await;
}

/// The control: what the check must find.
async fn a_planted_loss_is_noticed(path: &File, mut acknowledged: BTreeMap<(u32, u32), u32>) {
    let db = Database::open::<Model>(path).await.unwrap();
    *acknowledged.get_mut(&(0, 0)).unwrap() += 1_000_000;
    assert_eq!(losses(&db, &acknowledged).await.len(), 1);
}
