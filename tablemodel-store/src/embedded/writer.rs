//! The writer thread: takes requests from a queue, commits them in groups, answers each after its commit.
//!
//! The only thread that writes. What a request does is `state`'s; when the disk is waited for is `pace`'s.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Instant,
};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    aside::Aside,
    engine::{Applied, Engine, Sync},
    pace::Pace,
    records,
    redb_engine::words_of,
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
    pub(super) owed: Owed,
}

/// Whom an answer is owed: if the writer ends, they get it once the file is closed.
#[derive(Default)]
pub(super) struct Owed {
    /// Those whose work is being done.
    waiting: Vec<Waiting>,
    /// Who closes the store.
    close: Option<oneshot::Sender<Reply>>,
}

impl<E: Engine> Writer<E> {
    /// Works until the store is closed, all its handles are gone, or the disk fails.
    pub(super) fn run(mut self) {
        let ended =
            catch_unwind(AssertUnwindSafe(|| self.work())).unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
        let Self { engine, views, owed, .. } = self;
        // The file is closed before anybody is told, who may open it again at once.
        drop(engine);
        views.close(ended.as_ref().err().map(stopped));
        if let Err(failure) = &ended {
            owed.waiting.into_iter().for_each(|waiting| waiting.answer(Err(failure.clone())));
        }
        // Whoever closed the store may have gone away.
        let _ = owed.close.map(|reply| reply.send(ended.map(|()| Vec::new())));
    }

    fn work(&mut self) -> Result<(), StoreError> {
        while self.step()? {}
        self.end()
    }

    /// Waits for requests or for time to pass, and does what is due; whether there may be more.
    fn step(&mut self) -> Result<bool, StoreError> {
        let requests = match self.next() {
            Ok(first) => self.take(first),
            Err(RecvTimeoutError::Timeout) => return self.see_to_what_is_due().map(|()| true),
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        };
        if !requests.is_empty() {
            self.commit(requests)?;
        }
        Ok(self.owed.close.is_none())
    }

    /// Commits what still waits, records that stamps were not used, and brings all to the disk.
    fn end(&mut self) -> Result<(), StoreError> {
        while self.aside.deadline().is_some() {
            let requests = self.aside.up_to(MAX_GROUP_BYTES);
            self.commit(requests)?;
        }
        if let Some(counters) = self.state.given_out() {
            self.engine.apply(Sync::Disk, |group| records::put_counters(group, counters))?;
            self.note(0, Sync::Disk);
        }
        if self.pace.is_unsynced() { self.sync(Sync::Disk) } else { Ok(()) }
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

    /// What waits in the queue now, up to a group or to whoever closes the store, with some of those in no hurry.
    fn take(&mut self, first: Message) -> Vec<Request> {
        let mut requests = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Close(reply) => {
                    self.owed.close = Some(reply);
                    break;
                }
                Message::Request(request) if request.haste == Haste::None => self.aside.add(request, Instant::now()),
                Message::Request(request) => {
                    bytes += request.bytes;
                    requests.push(request);
                }
            }
            let is_full = requests.len() >= MAX_GROUP_REQUESTS || bytes >= MAX_GROUP_BYTES;
            next = if is_full { None } else { self.queue.try_recv().ok() };
        }
        if !requests.is_empty() {
            let due = self.aside.due(MAX_GROUP_BYTES, Instant::now());
            requests.extend(if due.is_empty() { self.aside.along() } else { due });
        }
        requests
    }

    /// Commits a group and answers its requests. An error ends the store, and is answered then.
    fn commit(&mut self, requests: Vec<Request>) -> Result<(), StoreError> {
        let bytes = requests.iter().map(|request| request.bytes).sum();
        let flush = requests.iter().any(|request| matches!(request.work, Work::Flush));
        let sync = self.pace.sync_for(bytes, flush, Instant::now());
        let (work, waiting): (Vec<_>, Vec<_>) = requests.into_iter().map(split).unzip();
        self.owed.waiting = waiting;
        let begun = self.hold_view(&work).and_then(|()| self.reclaim_beside());
        let replies = begun.and_then(|()| self.group(work, bytes, sync)).and_then(|replies| {
            if (flush || self.state.is_ahead_of_disk()) && self.pace.is_unsynced() {
                self.sync(Sync::Disk)?;
            }
            Ok(replies)
        })?;
        self.views.renew(&self.state.catalogue);
        let waiting = std::mem::take(&mut self.owed.waiting);
        waiting.into_iter().zip(replies).for_each(|(waiting, reply)| waiting.answer(reply));
        Ok(())
    }

    /// Where tables come or go, readers share the view of before until the commit has its own: a snapshot that they took in
    /// between would have other tables than the catalogue.
    fn hold_view(&self, work: &[Work]) -> Result<(), StoreError> {
        if work.iter().any(Work::changes_tables) { self.views.current().map(drop) } else { Ok(()) }
    }

    fn group(&mut self, work: Vec<Work>, bytes: usize, sync: Sync) -> Result<Vec<Reply>, StoreError> {
        let (state, views) = (&mut self.state, &self.views);
        let change = views.begin();
        state.begin(change);
        let applied = self.engine.apply(sync, |group| {
            let replies = state.carry_out(group, work)?;
            state.settle(group)?;
            views.take_out(change, state.changed());
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
            self.reclaim(sync)?;
            self.views.renew(&self.state.catalogue);
            return Ok(());
        }
        let idle = self.pace.is_idle(now);
        self.sync(if idle { Sync::RecoveryPoint } else { Sync::Disk })
    }

    /// Frees some rows of dropped tables where work never ends; the commit that follows brings that to the disk.
    fn reclaim_beside(&mut self) -> Result<(), StoreError> {
        if self.state.is_reclaiming() { self.reclaim(Sync::Deferred) } else { Ok(()) }
    }

    /// Frees some rows of a dropped table. One that is damaged takes room, and harms nobody: it is left to the next opening.
    fn reclaim(&mut self, sync: Sync) -> Result<(), StoreError> {
        let (state, mut done) = (&mut self.state, false);
        let applied = self.engine.apply(sync, |group| {
            state.reclaim(group)?;
            done = true;
            Ok(())
        });
        match applied {
            Ok(Applied { committed: true, .. }) => self.note(0, sync),
            Ok(_) => {}
            // If the commit failed, it is not the table.
            Err(error) if error.kind() == StoreErrorKind::Corrupt && !done => self.state.leave(),
            Err(error) => return Err(error),
        }
        Ok(())
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

/// A panic ends the store as a failure of the disk does.
fn panicked(panic: &(dyn std::any::Any + Send)) -> StoreError {
    let detail =
        format!("the writer of the store panicked ({}); open it again and read what it holds", words_of(panic));
    StoreError::new(StoreErrorKind::OutcomeUnknown, detail)
}

/// What all callers get after `failure` stopped the store.
fn stopped(failure: &StoreError) -> StoreError {
    let detail = format!("the store stopped after a failure ({failure}); open it again");
    StoreError::new(StoreErrorKind::Closed, detail).caused_by(failure.clone())
}

#[cfg(test)]
mod tests;
