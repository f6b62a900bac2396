//! The writer on an engine that is watched.

use std::{
    pin::Pin,
    sync::{
        Mutex, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Sender, channel},
    },
    task::{Context, Poll, Wake, Waker},
};

use redb::backends::InMemoryBackend;
use tokio::sync::oneshot;

use super::*;
use crate::{
    Action, Batch, Properties, RowKey, ValueRef,
    clock::SystemClock,
    embedded::{
        dictionary::Dictionary,
        engine::{Applied, Snapshot, Space},
        keys::key_bytes,
        pace::Durability,
        prepare::prepare,
        queue::{Haste, Message},
        redb_engine::{RedbEngine, open_backend},
        rows::{Mark, Rows},
    },
};

/// An engine where somebody looks right after each commit, before the writer goes on.
struct Watched {
    engine: RedbEngine,
    look: Mutex<Option<Box<dyn FnMut() + Send>>>,
    /// Whether its disk takes no more.
    fails: AtomicBool,
}

impl Watched {
    fn disk(&self) -> Result<(), StoreError> {
        let failure = || StoreError::new(StoreErrorKind::Closed, "the disk failed");
        if self.fails.load(Ordering::Relaxed) { Err(failure()) } else { Ok(()) }
    }
}

impl Engine for Watched {
    type Snapshot = <RedbEngine as Engine>::Snapshot;
    type Group<'t> = <RedbEngine as Engine>::Group<'t>;

    fn snapshot(&self) -> Result<Self::Snapshot, StoreError> {
        self.engine.snapshot()
    }

    fn apply<T>(
        &self,
        sync: Sync,
        work: impl FnOnce(&mut Self::Group<'_>) -> Result<T, StoreError>,
    ) -> Result<Applied<T>, StoreError> {
        if sync != Sync::Deferred {
            self.disk()?;
        }
        let applied = self.engine.apply(sync, work);
        if let Some(look) = self.look.lock().unwrap().as_mut() {
            look();
        }
        applied
    }

    fn sync(&self, sync: Sync) -> Result<(), StoreError> {
        self.disk()?;
        self.engine.sync(sync)
    }

    fn finish_sync(&self, left: LeftSync) -> Result<(), StoreError> {
        self.engine.finish_sync(left)
    }

    fn was_repaired(&self) -> bool {
        false
    }

    fn file_bytes(&self) -> Result<u64, StoreError> {
        self.engine.file_bytes()
    }
}

fn writer(durability: Durability) -> (Sender<Message>, Writer<Watched>, Arc<Dictionary>) {
    let (sender, queue) = channel();
    let engine = open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
    engine.apply(Sync::Disk, |group| records::initialise(group)).unwrap();
    let records::Loaded { counters, catalogue, dropped, names } = records::load(&engine.snapshot().unwrap()).unwrap();
    let (catalogue, names) = (Arc::new(catalogue), Arc::new(names));
    let engine = Arc::new(Watched { engine, look: Mutex::new(None), fails: AtomicBool::new(false) });
    let views =
        Arc::new(Views::new(Arc::clone(&engine), Arc::clone(&catalogue), Arc::clone(&names), Rows::new(1 << 20)));
    let state =
        State::new(catalogue, Arc::clone(&names), counters, dropped, durability.reserve(), Arc::new(SystemClock));
    let pace = Pace::new(durability);
    let acknowledger = Acknowledger::start(Arc::clone(&engine), Arc::clone(&views), sender.clone()).unwrap();
    let writer = Writer { engine, views, state, pace, queue: Queue::new(queue), acknowledger, waiting: Vec::new() };
    (sender, writer, names)
}

#[test]
fn who_reads_while_a_table_comes_or_goes_sees_the_tables_of_his_snapshot() {
    let (sender, mut writer, names) = writer(Durability::Durable);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (views, noted) = (Arc::clone(&writer.views), Arc::clone(&seen));
    let look = move || {
        let view = views.current().unwrap();
        let recorded = view.snapshot.len(Space::Tables).unwrap() as usize;
        assert_eq!(recorded, view.catalogue.sorted().len(), "a backup would lack a table, or have one too many");
        let found = view.get("People", &RowKey::new("p", "r"));
        noted.lock().unwrap().push(found.map(|row| row.is_some()).map_err(|error| error.kind()));
    };
    *writer.engine.look.lock().unwrap() = Some(Box::new(look));
    let row = Batch::new("People", "p").with("r", Action::Insert(Properties::new()));
    let prepared = prepare(&[row], &names);
    let works =
        [Work::CreateTable("People".into()), Work::Commit(prepared), Work::DeleteTable("People".into()), Work::Flush];
    for work in works {
        let (reply, _answer) = oneshot::channel();
        sender.send(Message::Request(Request { work, bytes: 1, haste: Haste::Now, reply })).unwrap();
        writer.step().unwrap();
    }
    let missing = StoreErrorKind::TableNotFound;
    assert_eq!(seen.lock().unwrap()[..3], [Err(missing), Ok(true), Ok(true)]);
    assert_eq!(seen.lock().unwrap().last(), Some(&Err(missing)));
}

/// Whether this row of the first table is kept from when it was looked up.
fn is_kept(views: &Views<Watched>, row: &str) -> bool {
    let (view, key) = (views.current().unwrap(), key_bytes("p", row));
    let space = view.catalogue.rows("People").unwrap();
    view.rows.get(Mark::of(space, &key), &key).is_some()
}

/// Has the writer do this work now.
fn done(sender: &Sender<Message>, writer: &mut Writer<Watched>, work: Work) {
    let (message, _answer) = asked(work);
    sender.send(message).unwrap();
    writer.step().unwrap();
}

#[test]
fn who_reads_before_a_commit_is_answered_finds_no_row_of_it_as_it_was_and_another_as_it_is() {
    let (sender, mut writer, names) = writer(Durability::Durable);
    let rows = |rows: &[&str], number: i32| {
        let put = |batch: Batch, row: &&str| {
            batch.with(*row, Action::InsertOrReplace(Properties::from_iter([("N", number)])))
        };
        Work::Commit(prepare(&[rows.iter().fold(Batch::new("People", "p"), put)], &names))
    };
    let views = Arc::clone(&writer.views);
    let number = move |row: &str| {
        let found = views.current().unwrap().get("People", &RowKey::new("p", row)).unwrap().unwrap();
        found.properties.get("N").map(ValueRef::to_value)
    };
    done(&sender, &mut writer, Work::CreateTable("People".into()));
    done(&sender, &mut writer, rows(&["a", "b"], 1));
    assert_eq!(number("b"), Some(1.into()));
    assert!(is_kept(&writer.views, "b") && !is_kept(&writer.views, "a"));
    done(&sender, &mut writer, rows(&["c"], 1)); // and whoever reads next takes a new snapshot
    let seen = Arc::new(Mutex::new(None));
    let (read, noted) = (number.clone(), Arc::clone(&seen));
    *writer.engine.look.lock().unwrap() = Some(Box::new(move || *noted.lock().unwrap() = Some(["a", "b"].map(&read))));
    done(&sender, &mut writer, rows(&["a", "b"], 2));
    assert_eq!(seen.lock().unwrap().take(), Some([Some(2.into()), Some(2.into())]));
    assert_eq!(["a", "b", "c"].map(number), [2, 2, 1].map(|number| Some(number.into())));
}

#[test]
fn a_stamp_that_a_crash_could_give_out_again_is_seen_by_nobody_before_the_sync() {
    for durability in [Durability::Relaxed, Durability::Bulk] {
        let (sender, mut writer, names) = writer(durability);
        done(&sender, &mut writer, Work::CreateTable("People".into()));
        let row = Batch::new("People", "p").with("r", Action::Insert(Properties::new()));
        let (views, seen) = (Arc::clone(&writer.views), Arc::new(Mutex::new(Vec::new())));
        let find = move || views.current().unwrap().get("People", &RowKey::new("p", "r")).unwrap().is_some();
        let (noted, look) = (Arc::clone(&seen), find.clone());
        *writer.engine.look.lock().unwrap() = Some(Box::new(move || noted.lock().unwrap().push(look())));
        done(&sender, &mut writer, Work::Commit(prepare(&[row], &names)));
        assert_eq!(*seen.lock().unwrap(), [false], "the first stamp is not recorded ahead yet");
        assert!(find());
    }
}

#[test]
fn who_asks_for_what_is_refused_puts_nothing_off_that_is_to_reach_the_disk() {
    let (sender, mut writer, names) = writer(Durability::Relaxed);
    let row = Batch::new("People", "p").with("r", Action::Insert(Properties::new()));
    let commit = || Work::Commit(prepare(std::slice::from_ref(&row), &names));
    done(&sender, &mut writer, Work::CreateTable("People".into()));
    done(&sender, &mut writer, commit());
    let long_ago = Instant::now().checked_sub(std::time::Duration::from_millis(200)).unwrap();
    writer.pace.committed(1, Sync::Deferred, long_ago);
    done(&sender, &mut writer, commit()); // the row exists
    assert!(!writer.pace.is_unsynced());

    writer.pace.committed(1, Sync::Disk, long_ago);
    assert!(writer.pace.deadline().is_some());
    done(&sender, &mut writer, commit());
    assert_eq!(
        writer.pace.deadline(),
        None,
        "nothing was written for long enough: the file is ready to be opened at once"
    );
}

/// Whoever waits for an answer: notes, at the moment that it comes, whether the engine was closed before.
struct Waiter {
    engine: Weak<Watched>,
    closed_before: Mutex<Option<bool>>,
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        *self.closed_before.lock().unwrap() = Some(self.engine.strong_count() == 0);
    }
}

/// Runs a writer on these messages until it ends: the answers, and for each whether the engine was closed before it.
fn ended(writer: Writer<Watched>, answers: Vec<oneshot::Receiver<Reply>>) -> Vec<(Reply, bool)> {
    let waiters: Vec<_> = (answers.into_iter())
        .map(|mut answer| {
            let engine = Arc::downgrade(&writer.engine);
            let waiter = Arc::new(Waiter { engine, closed_before: Mutex::new(None) });
            let waker = Waker::from(Arc::clone(&waiter));
            assert!(Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)).is_pending());
            (answer, waiter)
        })
        .collect();
    writer.run();
    let told = |(mut answer, waiter): (oneshot::Receiver<Reply>, Arc<Waiter>)| {
        let Poll::Ready(Ok(reply)) = Pin::new(&mut answer).poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("no answer came");
        };
        let closed_before = waiter.closed_before.lock().unwrap().unwrap();
        (reply, closed_before)
    };
    waiters.into_iter().map(told).collect()
}

/// A request for this work, and where its answer comes.
fn asked(work: Work) -> (Message, oneshot::Receiver<Reply>) {
    let (reply, answer) = oneshot::channel();
    (Message::Request(Request { work, bytes: 1, haste: Haste::Now, reply }), answer)
}

fn kinds(told: Vec<(Reply, bool)>) -> Vec<(Option<StoreErrorKind>, bool)> {
    told.into_iter().map(|(reply, closed)| (reply.err().map(|error| error.kind()), closed)).collect()
}

#[test]
fn who_closes_the_store_is_told_that_what_was_acknowledged_did_not_reach_the_disk() {
    for durability in [Durability::Relaxed, Durability::Bulk] {
        let (sender, mut writer, names) = writer(durability);
        let row = Batch::new("People", "p").with("r", Action::InsertOrReplace(Properties::new()));
        // The first commits wait for the disk, since no stamps are recorded ahead yet.
        let commit = || Work::Commit(prepare(std::slice::from_ref(&row), &names));
        for work in [Work::CreateTable("People".into()), commit(), commit()] {
            let (message, mut answer) = asked(work);
            sender.send(message).unwrap();
            writer.step().unwrap();
            answer.try_recv().unwrap().unwrap();
        }
        assert!(writer.pace.is_unsynced());
        writer.engine.fails.store(true, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        sender.send(Message::Close(Some(reply))).unwrap();
        let views = Arc::clone(&writer.views);
        assert_eq!(kinds(ended(writer, vec![answer])), [(Some(StoreErrorKind::Closed), true)]);
        assert!(views.failure().is_some(), "others who close it are told as well");
    }
}

#[test]
fn who_is_told_of_a_failure_finds_the_file_closed() {
    let (sender, writer, _) = writer(Durability::Durable);
    writer.engine.fails.store(true, Ordering::Relaxed);
    let (message, answer) = asked(Work::CreateTable("People".into()));
    let (reply, closed) = oneshot::channel();
    sender.send(message).unwrap();
    sender.send(Message::Close(Some(reply))).unwrap();
    let told = kinds(ended(writer, vec![answer, closed]));
    assert_eq!(told, [(Some(StoreErrorKind::Closed), true); 2]);
}

#[test]
fn a_panic_of_the_writer_closes_the_store_and_leaves_the_outcome_unknown() {
    let (sender, writer, _) = writer(Durability::Durable);
    *writer.engine.look.lock().unwrap() = Some(Box::new(|| panic!("planted")));
    let views = Arc::clone(&writer.views);
    let (message, answer) = asked(Work::CreateTable("People".into()));
    sender.send(message).unwrap();
    assert_eq!(kinds(ended(writer, vec![answer])), [(Some(StoreErrorKind::OutcomeUnknown), true)]);
    let after = views.current().err().unwrap();
    assert_eq!(after.kind(), StoreErrorKind::Closed);
    assert!(after.to_string().contains("planted"), "{after}");
}
