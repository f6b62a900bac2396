//! Callers that poll, and go on, in ways of their own.

use std::{
    collections::HashMap,
    future::poll_fn,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

use tablemodel_store::{Action, Batch, EmbeddedStore, Properties, TableStore, Value};

use super::{numbered, place, put};

const LONG: Duration = Duration::from_secs(30);

/// A batch of about 3 MiB.
fn large(number: usize) -> [Batch; 1] {
    let wide: Properties = (0..12).map(|at| (format!("P{at:02}"), Value::Binary(vec![7; 60_000]))).collect();
    let insert = |batch: Batch, at| batch.with(format!("{number}-{at}"), Action::Insert(wide.clone()));
    [(0..4).fold(Batch::new("Table", "p"), insert)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_commits_that_nobody_polls_hold_up_no_other() {
    const MANY: usize = 40; // more than 64 MiB
    let (_directory, path) = place();
    let store = EmbeddedStore::open(&path).unwrap();
    store.create_table("Table").await.unwrap();
    let batches: Vec<_> = (0..MANY).map(large).collect();
    let mut under_way: Vec<_> = batches.iter().map(|batch| store.commit(batch)).collect();
    let mut context = Context::from_waker(Waker::noop());
    for commit in &mut under_way {
        let _ = commit.as_mut().poll(&mut context);
    }
    tokio::time::timeout(LONG, put(&store, "Table", "small", 1)).await.expect("it waits for none of them").unwrap();
    for commit in under_way {
        commit.await.unwrap();
    }
}

/// A task that goes on where it is woken, as those of small executors do.
struct Inline(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let Ok(mut slot) = self.0.lock() else { return };
        if let Some(task) = slot.as_mut()
            && task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            *slot = None;
        }
    }
}

/// Commits, and lets go of its handle where the answer comes; tells on which thread. With somebody behind it the writer leaves it to the
/// thread that waits for the disk: who asks for a table that is there, and goes away.
async fn commit_and_go(store: EmbeddedStore, row: usize, is_followed: bool, done: Sender<String>) {
    let batch = [Batch::new("Table", "p").with(row.to_string(), Action::InsertOrReplace(numbered(1)))];
    let mut commit = store.commit(&batch);
    let mut follower = is_followed.then(|| store.create_table("Table"));
    let answered = poll_fn(|context| {
        let answered = commit.as_mut().poll(context);
        if let Some(mut follower) = follower.take() {
            let _ = follower.as_mut().poll(context);
        }
        answered
    });
    answered.await.unwrap();
    drop((commit, follower));
    drop(store);
    let _ = done.send(thread::current().name().unwrap_or_default().to_owned());
}

/// Opened once the one before has closed, which it does by itself, soon.
fn reopened(path: &Path) -> EmbeddedStore {
    for _ in 0..1_000 {
        if let Ok(store) = EmbeddedStore::open(path) {
            return store;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the file stays locked");
}

#[tokio::test]
async fn the_last_handle_may_go_on_the_threads_that_answer() {
    const OWN: [&str; 2] = ["tablemodel-writer", "tablemodel-syncer"];
    let (_directory, path) = place();
    EmbeddedStore::open(&path).unwrap().create_table("Table").await.unwrap();
    let mut last = HashMap::new();
    for round in 0..500 {
        let store = reopened(&path);
        let (done, ended) = channel();
        let task = |row| commit_and_go(store.clone(), row, round % 2 == 0, done.clone());
        let task = |row| Inline(Mutex::new(Some(Box::pin(task(row)))));
        let tasks: Vec<_> = (0..10).map(task).map(Arc::new).collect();
        drop(store);
        tasks.into_iter().for_each(Wake::wake);
        let threads: Vec<_> = (0..10).map(|_| ended.recv_timeout(LONG).expect("each comes back")).collect();
        *last.entry(threads.last().unwrap().clone()).or_insert(0) += 1;
        if OWN.iter().all(|thread| last.get(*thread).is_some_and(|times| *times > 2)) {
            return;
        }
    }
    panic!("the last handles went on {last:?}");
}
