//! The writer thread: takes requests from a queue, commits them in groups, answers each after its commit.
//!
//! The only thread that writes. What a request does is `state`'s; when the disk is waited for is `pace`'s. Where others wait for their
//! turn, it goes on with them while `acknowledger` waits for the disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc::RecvTimeoutError},
    time::Instant,
};

use super::{
    acknowledger::{Acknowledger, Committed, Failed},
    engine::{Applied, Engine, Group, LeftSync, Sync},
    pace::Pace,
    queue::{MAX_GROUP_BYTES, Queue, Request, Taken, Waiting},
    records,
    redb_engine::words_of,
    rows::Change,
    state::{Reply, State, Work},
    view::Views,
};
use crate::{StoreError, StoreErrorKind};

/// The writer thread's all.
pub(super) struct Writer<E: Engine> {
    pub(super) engine: Arc<E>,
    pub(super) views: Arc<Views<E>>,
    pub(super) state: State,
    pub(super) pace: Pace,
    pub(super) queue: Queue,
    pub(super) acknowledger: Acknowledger<E>,
    /// Those whose work is being done: if the writer ends, they get their answer once the file is closed.
    pub(super) waiting: Vec<Waiting>,
}

impl<E: Engine> Writer<E> {
    /// Works until the store is closed, all its handles are gone, or the disk fails.
    pub(super) fn run(mut self) {
        let ended =
            catch_unwind(AssertUnwindSafe(|| self.work())).unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
        let Self { engine, views, acknowledger, mut queue, waiting, .. } = self;
        // The file is closed before anybody is told, who may open it again at once.
        acknowledger.stop();
        drop(engine);
        let before = queue.failed();
        views.close(before.as_ref().map(|failed| &failed.failure).or(ended.as_ref().err()).map(stopped));
        before.into_iter().for_each(Failed::answer);
        if let Err(failure) = &ended {
            waiting.into_iter().for_each(|waiting| waiting.answer(Err(failure.clone())));
        }
        queue.end(&ended);
    }

    fn work(&mut self) -> Result<(), StoreError> {
        while self.step()? {}
        self.end()
    }

    /// Waits for requests or for time to pass, and does what is due; whether there may be more.
    fn step(&mut self) -> Result<bool, StoreError> {
        if !self.queue.has_more() {
            self.wait_for_disk()?;
        }
        match self.wait() {
            Ok(()) => self.commit_next()?,
            Err(RecvTimeoutError::Timeout) => self.see_to_what_is_due()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
        Ok(!self.queue.is_at_its_end())
    }

    /// Commits what still waits, records that stamps were not used, and brings all to the disk.
    fn end(&mut self) -> Result<(), StoreError> {
        while self.queue.aside.deadline().is_some() {
            let requests = self.queue.aside.up_to(MAX_GROUP_BYTES);
            self.commit(requests, Taken::default())?;
        }
        self.wait_for_disk()?;
        if let Some(counters) = self.state.given_out() {
            match self.engine.apply(Sync::Disk, |group| records::put_counters(group, counters)) {
                // Nothing that was acknowledged is kept from the disk: the next opening passes over stamps, and that is all.
                Err(_) if !self.pace.is_unsynced() => return Ok(()),
                other => other?,
            };
            self.note(0, Sync::Disk);
        }
        if self.pace.is_unsynced() { self.sync(Sync::Disk) } else { Ok(()) }
    }

    /// Waits until the commit before is on the disk, of which nobody is a part who waits for an answer of this thread.
    fn wait_for_disk(&mut self) -> Result<(), StoreError> {
        self.queue.wait_for_disk().map_err(|failure| stopped(&failure))
    }

    fn wait(&mut self) -> Result<(), RecvTimeoutError> {
        if self.state.is_reclaiming() {
            return if self.queue.has_more() { Ok(()) } else { Err(RecvTimeoutError::Timeout) };
        }
        let deadline = self.pace.deadline().into_iter().chain(self.queue.aside.deadline()).min();
        self.queue.wait(deadline)
    }

    /// Commits what waits now, up to a group, with some of those in no hurry.
    fn commit_next(&mut self) -> Result<(), StoreError> {
        let mut taken = Taken::default();
        let beside = self.pace.may_leave(Sync::Disk);
        let mut requests = self.queue.take(&mut taken, beside);
        if requests.is_empty() {
            return Ok(());
        }
        let aside = &mut self.queue.aside;
        let due = aside.due(MAX_GROUP_BYTES, Instant::now());
        requests.extend(if due.is_empty() { aside.along() } else { due });
        self.commit(requests, taken)
    }

    /// Commits a group and answers its requests. An error ends the store, and is answered then.
    fn commit(&mut self, requests: Vec<Request>, taken: Taken) -> Result<(), StoreError> {
        let bytes = requests.iter().map(|request| request.bytes).sum();
        let flush = requests.iter().any(|request| matches!(request.work, Work::Flush));
        let sync = self.pace.sync_for(bytes, flush, Instant::now());
        let work = begin(requests, &mut self.waiting);
        self.hold_view(&work)?;
        self.reclaim_beside()?;
        let Grouped { replies, change, committed, left } = self.group(work, taken, sync)?;
        if committed {
            self.note(bytes, sync);
            // The commit before is on the disk before this one writes; that readers see it may take a moment longer.
            self.queue.wait_for_disk()?;
        } else {
            self.wait_for_disk()?;
        }
        if let Some(left) = left {
            return self.hand_over(change, replies, left);
        }
        if (flush || self.state.is_ahead_of_disk()) && self.pace.is_unsynced() {
            self.sync(Sync::Disk)?;
        }
        self.acknowledge(replies);
        // A group that wrote nothing brought nothing to the disk either: who asks for what is refused puts nothing off.
        let now = Instant::now();
        let is_due = !committed && self.pace.deadline().is_some_and(|due| due <= now);
        if is_due { self.bring_to_disk(now) } else { Ok(()) }
    }

    /// Does the work of a group in one commit. While the disk is busy with the commit before, those who come then come along; so do
    /// those that follow others of many.
    fn group(&mut self, work: Vec<Work>, mut taken: Taken, sync: Sync) -> Result<Grouped, StoreError> {
        let Self { state, views, queue, waiting, pace, .. } = self;
        let is_behind = queue.is_syncing();
        // What was acknowledged before it is on the disk waits for nobody.
        let is_before_sync = sync == Sync::Deferred || pace.is_unsynced();
        let change = views.begin();
        state.begin(change);
        let applied = self.engine.apply(sync, |group| {
            let mut replies = state.carry_out(group, work)?;
            loop {
                let more = queue.take_along(&mut taken, is_before_sync);
                if more.is_empty() {
                    break;
                }
                replies.extend(state.carry_out(group, begin(more, waiting))?);
            }
            state.settle(group)?;
            views.take_out(change, state.changed());
            // Where others come, the next group need not wait for the disk.
            let leaves_sync = pace.may_leave(sync) && (is_behind || queue.has_more());
            if leaves_sync {
                group.leave_sync();
            }
            // Also a stamp that a crash could give out again is seen by nobody before it is safe.
            if leaves_sync || (sync == Sync::Deferred && state.is_ahead_of_disk()) {
                views.current()?; // which readers share until this commit is acknowledged
            }
            Ok(replies)
        });
        let Applied { result: replies, committed, left } = applied?;
        Ok(Grouped { replies, change, committed, left })
    }

    /// Lets readers see what was committed, and answers who asked for it.
    fn acknowledge(&mut self, replies: Vec<Reply>) {
        self.views.renew(&self.state.catalogue);
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().zip(replies).for_each(|(waiting, reply)| waiting.answer(reply));
    }

    /// Leaves that, and the wait for the disk, to the thread for it.
    fn hand_over(&mut self, change: Change, replies: Vec<Reply>, left: LeftSync) -> Result<(), StoreError> {
        let Ok(view) = self.views.following(&self.state.catalogue, change) else {
            self.engine.finish_sync(left)?;
            self.acknowledge(replies);
            return Ok(());
        };
        let waiting = std::mem::take(&mut self.waiting);
        self.queue.begin_sync(waiting.len());
        self.acknowledger.take(Committed { view, left, change, waiting, replies }).map_err(|failed| {
            self.waiting = failed.waiting;
            failed.failure
        })
    }

    /// Where tables come or go, readers share the view of before until the commit has its own: a snapshot that they took in
    /// between would have other tables than the catalogue.
    fn hold_view(&self, work: &[Work]) -> Result<(), StoreError> {
        if work.iter().any(Work::changes_tables) { self.views.current().map(drop) } else { Ok(()) }
    }

    /// Does what is due when no request comes: commits what has waited for one, or sees to the disk.
    fn see_to_what_is_due(&mut self) -> Result<(), StoreError> {
        match self.queue.aside.due(MAX_GROUP_BYTES, Instant::now()) {
            requests if requests.is_empty() => self.see_to_disk(),
            requests => self.commit(requests, Taken::default()),
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
        // Those that waited aside may have gone away: then nothing is due.
        let is_due = self.pace.deadline().is_some_and(|due| due <= now);
        if is_due { self.bring_to_disk(now) } else { Ok(()) }
    }

    /// Brings data to the disk; settles, where nothing was written for long enough.
    fn bring_to_disk(&mut self, now: Instant) -> Result<(), StoreError> {
        let idle = self.pace.is_idle(now);
        self.sync(if idle { Sync::RecoveryPoint } else { Sync::Disk })
    }

    /// Frees some rows of dropped tables where work never ends; the commit that follows brings that to the disk.
    fn reclaim_beside(&mut self) -> Result<(), StoreError> {
        if !self.state.is_reclaiming() {
            return Ok(());
        }
        self.wait_for_disk()?;
        self.reclaim(Sync::Deferred)
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

/// What a group of requests came to.
struct Grouped {
    replies: Vec<Reply>,
    change: Change,
    /// Whether anything was written.
    committed: bool,
    /// The sync that it left.
    left: Option<LeftSync>,
}

/// The work of requests, whose callers wait from now on.
fn begin(requests: Vec<Request>, waiting: &mut Vec<Waiting>) -> Vec<Work> {
    let split = |request: Request| {
        let (work, waits) = request.split();
        waiting.push(waits);
        work
    };
    requests.into_iter().map(split).collect()
}

/// A panic ends the store as a failure of the disk does.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> StoreError {
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
