//! The writer thread: takes requests from a queue, commits them in groups, answers each after its commit.
//!
//! The only thread that writes. What a request does is `state`'s; when the disk is waited for is `pace`'s.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Instant,
};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    aside::Aside,
    engine::{Engine, Sync},
    pace::Pace,
    records,
    state::{Reply, State, Work},
    view::Views,
};
use crate::{StoreError, StoreErrorKind};

/// Requests that one commit takes at most.
const MAX_GROUP_REQUESTS: usize = 256;
/// Bytes of requests at which a group takes no more.
const MAX_GROUP_BYTES: usize = 8 * 1024 * 1024;

/// What comes through the queue.
pub(super) enum Message {
    Request(Request),
    /// Finish, close the file, answer.
    Close(oneshot::Sender<Reply>),
}

/// How soon work is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    Now,
    /// With what others ask for, if they do so soon.
    None,
}

/// Work, and where to answer.
pub(super) struct Request {
    pub(super) work: Work,
    /// About the memory that it takes.
    pub(super) bytes: usize,
    pub(super) haste: Haste,
    pub(super) reply: oneshot::Sender<Reply>,
    /// Its share of the queue, given back when it is answered.
    pub(super) share: Option<OwnedSemaphorePermit>,
}

/// The writer thread's all.
pub(super) struct Writer<E: Engine> {
    pub(super) engine: Arc<E>,
    pub(super) views: Arc<Views<E>>,
    pub(super) state: State,
    pub(super) pace: Pace,
    pub(super) queue: Receiver<Message>,
    pub(super) aside: Aside,
}

/// Some requests, and whether the store is to be closed after them.
#[derive(Default)]
struct Intake {
    requests: Vec<Request>,
    close: Option<oneshot::Sender<Reply>>,
}

impl<E: Engine> Writer<E> {
    /// Works until the store is closed, all its handles are gone, or the disk fails.
    pub(super) fn run(mut self) {
        let ended = loop {
            match self.step() {
                Ok(None) => {}
                Ok(Some(close)) => break Ok(close),
                Err(failure) => break Err(failure),
            }
        };
        let Self { engine, views, pace, queue, .. } = self;
        match ended {
            Ok(close) => {
                let flushed = if pace.is_unsynced() { engine.sync(Sync::Disk) } else { Ok(()) };
                views.close(None);
                drop((queue, engine));
                // Whoever closed the store may have gone away.
                let _ = close.reply.map(|reply| reply.send(flushed.map(|()| Vec::new())));
            }
            Err(failure) => views.close(Some(stopped(&failure))),
        }
    }

    /// Waits for requests or for time to pass, and does what is due; the end if there is one.
    fn step(&mut self) -> Result<Option<Ending>, StoreError> {
        let Intake { requests, close } = match self.next() {
            Ok(first) => self.take(first),
            Err(RecvTimeoutError::Timeout) => return self.see_to_what_is_due().map(|()| None),
            Err(RecvTimeoutError::Disconnected) => return self.end(None).map(Some),
        };
        if !requests.is_empty() {
            self.commit(requests)?;
        }
        close.map(|reply| self.end(Some(reply))).transpose()
    }

    /// Commits what still waits, and records that stamps were not used.
    fn end(&mut self, reply: Option<oneshot::Sender<Reply>>) -> Result<Ending, StoreError> {
        while self.aside.deadline().is_some() {
            let requests = self.aside.up_to(MAX_GROUP_BYTES);
            self.commit(requests)?;
        }
        if let Some(counters) = self.state.given_out() {
            self.engine.apply(Sync::Disk, |group| records::put_counters(group, counters))?;
            self.note(0, Sync::Disk);
        }
        Ok(Ending { reply })
    }

    fn next(&self) -> Result<Message, RecvTimeoutError> {
        if self.state.is_reclaiming() {
            return self.queue.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
        match self.pace.deadline().into_iter().chain(self.aside.deadline()).min() {
            Some(deadline) => self.queue.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// What waits in the queue now, up to a group, with some of those in no hurry.
    fn take(&mut self, first: Message) -> Intake {
        let mut intake = Intake::default();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Close(reply) => {
                    intake.close = Some(reply);
                    break;
                }
                Message::Request(request) if request.haste == Haste::None => self.aside.add(request, Instant::now()),
                Message::Request(request) => {
                    bytes += request.bytes;
                    intake.requests.push(request);
                }
            }
            let is_full = intake.requests.len() >= MAX_GROUP_REQUESTS || bytes >= MAX_GROUP_BYTES;
            next = if is_full { None } else { self.queue.try_recv().ok() };
        }
        if !intake.requests.is_empty() {
            let due = self.aside.due(MAX_GROUP_BYTES, Instant::now());
            intake.requests.extend(if due.is_empty() { self.aside.along() } else { due });
        }
        intake
    }

    /// Commits a group and answers its requests. An error has been answered to all of them, and ends the store.
    fn commit(&mut self, requests: Vec<Request>) -> Result<(), StoreError> {
        let bytes = requests.iter().map(|request| request.bytes).sum();
        let flush = requests.iter().any(|request| matches!(request.work, Work::Flush));
        let sync = self.pace.sync_for(bytes, flush, Instant::now());
        let (work, waiting): (Vec<_>, Vec<_>) = requests.into_iter().map(split).unzip();
        let committed = self.hold_view(&work).and_then(|()| self.group(work, bytes, sync)).and_then(|replies| {
            if (flush || self.state.is_ahead_of_disk()) && self.pace.is_unsynced() {
                self.sync(Sync::Disk)?;
            }
            Ok(replies)
        });
        match committed {
            Ok(replies) => {
                self.views.renew(&self.state.catalogue);
                waiting.into_iter().zip(replies).for_each(|(waiting, reply)| waiting.answer(reply));
                Ok(())
            }
            Err(failure) => {
                self.views.close(Some(stopped(&failure)));
                waiting.into_iter().for_each(|waiting| waiting.answer(Err(failure.clone())));
                Err(failure)
            }
        }
    }

    /// Where tables come or go, readers share the view of before until the commit has its own: a snapshot that they took in
    /// between would have other tables than the catalogue.
    fn hold_view(&self, work: &[Work]) -> Result<(), StoreError> {
        if work.iter().any(Work::changes_tables) { self.views.current().map(drop) } else { Ok(()) }
    }

    fn group(&mut self, work: Vec<Work>, bytes: usize, sync: Sync) -> Result<Vec<Reply>, StoreError> {
        let state = &mut self.state;
        let applied = self.engine.apply(sync, |group| {
            let replies = work.into_iter().map(|work| state.carry_out(group, work)).collect::<Result<Vec<_>, _>>()?;
            state.settle(group)?;
            Ok(replies)
        })?;
        if applied.committed {
            self.note(bytes, sync);
        }
        Ok(applied.result)
    }

    /// Does what is due when no request comes: commits what has waited for one, or sees to the disk.
    fn see_to_what_is_due(&mut self) -> Result<(), StoreError> {
        match self.aside.due(MAX_GROUP_BYTES, Instant::now()) {
            requests if requests.is_empty() => self.see_to_disk(),
            requests => self.commit(requests),
        }
    }

    /// Frees rows of dropped tables, brings data to the disk, settles.
    fn see_to_disk(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if self.state.is_reclaiming() {
            let sync = self.pace.sync_for(0, false, now);
            self.group(Vec::new(), 0, sync)?;
            self.views.renew(&self.state.catalogue);
            return Ok(());
        }
        let idle = self.pace.is_idle(now);
        self.sync(if idle { Sync::RecoveryPoint } else { Sync::Disk })
    }

    fn sync(&mut self, sync: Sync) -> Result<(), StoreError> {
        self.engine.sync(sync)?;
        self.note(0, sync);
        Ok(())
    }

    /// Notes a commit of `bytes` that waited for `sync`.
    fn note(&mut self, bytes: usize, sync: Sync) {
        self.pace.committed(bytes, sync, Instant::now());
        if sync != Sync::Deferred {
            self.state.synced();
        }
    }
}

/// The store is to be closed, and who wants to know.
struct Ending {
    reply: Option<oneshot::Sender<Reply>>,
}

/// A request whose work is being done.
struct Waiting {
    reply: oneshot::Sender<Reply>,
    share: Option<OwnedSemaphorePermit>,
}

impl Waiting {
    fn answer(self, reply: Reply) {
        drop(self.share);
        // Whoever asked may have gone away: the work is done all the same.
        let _ = self.reply.send(reply);
    }
}

fn split(request: Request) -> (Work, Waiting) {
    let Request { work, reply, share, .. } = request;
    (work, Waiting { reply, share })
}

/// What all callers get after `failure` stopped the store.
fn stopped(failure: &StoreError) -> StoreError {
    let detail = format!("the store stopped after a failure ({failure}); open it again");
    StoreError::new(StoreErrorKind::Closed, detail).caused_by(failure.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc::channel};

    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::{
        Action, Batch, Properties, RowKey,
        clock::SystemClock,
        embedded::{
            dictionary::Dictionary,
            engine::{Applied, Snapshot, Space},
            pace::Durability,
            prepare::prepare,
            redb_engine::{RedbEngine, open_backend},
        },
    };

    /// An engine where somebody looks right after each commit, before the writer goes on.
    struct Watched {
        engine: RedbEngine,
        look: Mutex<Option<Box<dyn FnMut() + Send>>>,
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
            let applied = self.engine.apply(sync, work);
            if let Some(look) = self.look.lock().unwrap().as_mut() {
                look();
            }
            applied
        }

        fn sync(&self, sync: Sync) -> Result<(), StoreError> {
            self.engine.sync(sync)
        }

        fn was_repaired(&self) -> bool {
            false
        }

        fn file_bytes(&self) -> Result<u64, StoreError> {
            self.engine.file_bytes()
        }
    }

    fn writer(queue: Receiver<Message>) -> (Writer<Watched>, Arc<Dictionary>) {
        let engine = open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        engine.apply(Sync::Disk, |group| records::initialise(group)).unwrap();
        let records::Loaded { counters, catalogue, dropped, names } =
            records::load(&engine.snapshot().unwrap()).unwrap();
        let (catalogue, names) = (Arc::new(catalogue), Arc::new(names));
        let engine = Arc::new(Watched { engine, look: Mutex::new(None) });
        let views = Arc::new(Views::new(Arc::clone(&engine), Arc::clone(&catalogue), Arc::clone(&names)));
        let state = State::new(catalogue, Arc::clone(&names), counters, dropped, 0, Arc::new(SystemClock));
        let pace = Pace::new(Durability::Durable);
        (Writer { engine, views, state, pace, queue, aside: Aside::default() }, names)
    }

    #[test]
    fn who_reads_while_a_table_comes_or_goes_sees_the_tables_of_his_snapshot() {
        let (sender, queue) = channel();
        let (mut writer, names) = writer(queue);
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
        let works = [
            Work::CreateTable("People".into()),
            Work::Commit(prepared),
            Work::DeleteTable("People".into()),
            Work::Flush,
        ];
        for work in works {
            let (reply, _) = oneshot::channel();
            sender.send(Message::Request(Request { work, bytes: 1, haste: Haste::Now, reply, share: None })).unwrap();
            writer.step().unwrap();
        }
        let missing = StoreErrorKind::TableNotFound;
        assert_eq!(seen.lock().unwrap()[..3], [Err(missing), Ok(true), Ok(true)]);
        assert_eq!(seen.lock().unwrap().last(), Some(&Err(missing)));
    }
}
