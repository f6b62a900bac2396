//! What comes to the writer thread, and whom it answers.
//!
//! Nothing is done here. Also who waits for the disk tells the writer through the queue, so that the writer can wait for both.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{
    acknowledger::Failed,
    aside::Aside,
    lanes::Lanes,
    state::{Reply, Work},
};
use crate::StoreError;

/// Requests that one commit takes at most.
const MAX_GROUP_REQUESTS: usize = 256;
/// Requests of many that are begun at once, in mode `Durable`, and that one in a hurry takes along, at most: about twenty milliseconds
/// of work, for which one that comes then waits.
const MANY_AT_ONCE: usize = 128;
/// Requests under way from which on a group takes half of them: the work of more takes about as long as the disk does, and the one is
/// done beside the other. Of few, one sync for all is better than two.
const MANY_REQUESTS: usize = 12;
/// Bytes of requests at which a group takes no more.
pub(super) const MAX_GROUP_BYTES: usize = 8 * 1024 * 1024;
/// How much larger a group is in which nobody is in a hurry: the pages that all of it share are written once.
const MORE_OF_MANY: usize = 2;

/// How long a group of requests that are of many each waits for the next of them: about what it takes to make a batch ready.
const NEXT_OF_MANY: Duration = Duration::from_micros(500);
/// How long it is remembered that nothing came.
const REMEMBERED: Duration = Duration::from_millis(50);

/// What comes through the queue.
pub(super) enum Message {
    Request(Request),
    /// Finish, close the file, answer; nobody, where nobody is left who could ask.
    Close(Option<oneshot::Sender<Reply>>),
    /// The commit that was on its way to the disk is there and acknowledged, or failed.
    Synced(Result<(), Failed>),
}

/// How soon work is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    Now,
    /// As soon as those that follow it at once: one of many that the same caller has under way.
    OfMany,
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
}

impl Request {
    /// The work, and who waits for it.
    pub(super) fn split(self) -> (Work, Waiting) {
        (self.work, Waiting { reply: self.reply })
    }
}

/// A request whose work is being done.
pub(super) struct Waiting {
    reply: oneshot::Sender<Reply>,
}

impl Waiting {
    /// A waker that panics is its owner's: others are answered all the same.
    pub(super) fn answer(self, reply: Reply) {
        // Whoever asked may have gone away: the work is done all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| self.reply.send(reply)));
    }

    /// Whoever asked has gone away, and nothing was done.
    pub(super) fn let_go(self) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self.reply)));
    }
}

/// What a group has taken.
#[derive(Default)]
pub(super) struct Taken {
    requests: usize,
    bytes: usize,
    /// Those of the requests that are of many.
    of_many: usize,
}

impl Taken {
    fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.bytes += request.bytes;
        self.of_many += usize::from(request.haste == Haste::OfMany);
    }

    /// Whether one is in a hurry.
    const fn is_hurried(&self) -> bool {
        self.requests > self.of_many
    }

    /// Whether the group takes one more in such haste.
    const fn takes(&self, haste: Haste) -> bool {
        let is_of_many = matches!(haste, Haste::OfMany);
        let is_larger = if is_of_many { !self.is_hurried() } else { self.of_many > 0 };
        let times = if is_larger { MORE_OF_MANY } else { 1 };
        let is_full = self.requests >= times * MAX_GROUP_REQUESTS || self.bytes >= times * MAX_GROUP_BYTES;
        let is_a_piece = is_of_many && self.is_hurried() && self.of_many >= MANY_AT_ONCE;
        !(is_full || is_a_piece)
    }

    /// Whether others of the same callers are about to follow.
    const fn is_of_many(&self) -> bool {
        self.requests > 0 && !self.is_hurried()
    }
}

/// The writer's end of the queue.
pub(super) struct Queue {
    messages: Receiver<Message>,
    /// Heard, and not taken yet.
    requests: Lanes,
    /// Those in no hurry.
    pub(super) aside: Aside,
    is_closing: bool,
    /// Who is told that the store is closed, and who asked for something after that was asked for: all once it is.
    closers: Vec<oneshot::Sender<Reply>>,
    late: Vec<Waiting>,
    /// Of how many requests the commit is that is on its way to the disk.
    syncing: Option<usize>,
    failed: Option<Failed>,
    next_of_many: Duration,
    /// When nothing came, if that was so when it was last waited for.
    in_vain: Option<Instant>,
    remembered: Duration,
}

impl Queue {
    pub(super) fn new(messages: Receiver<Message>) -> Self {
        let (requests, aside, closers, late) = (Lanes::default(), Aside::default(), Vec::new(), Vec::new());
        Self {
            messages,
            requests,
            aside,
            is_closing: false,
            closers,
            late,
            syncing: None,
            failed: None,
            next_of_many: NEXT_OF_MANY,
            in_vain: None,
            remembered: REMEMBERED,
        }
    }

    /// Whether the store is to be closed, and nothing waits that was asked before.
    pub(super) fn is_at_its_end(&self) -> bool {
        self.is_closing && self.requests.is_empty()
    }

    /// Whether a request waits to be taken.
    pub(super) fn has_more(&mut self) -> bool {
        while !self.is_closing
            && let Ok(message) = self.messages.try_recv()
        {
            self.hear(message);
        }
        !self.requests.is_empty()
    }

    /// The requests with which a group begins, of those that wait now: all; or, where one group is worked on `beside` the disk's
    /// work on another, and many are under way, as many as leave the other half of them, and of those that are of many a piece. What
    /// then [comes along](Self::take_along) may be the rest, where all are of many.
    pub(super) fn take(&mut self, taken: &mut Taken, beside: bool) -> Vec<Request> {
        self.has_more();
        let under_way = self.requests.len() + self.syncing.unwrap_or_default();
        let is_half = beside && under_way >= MANY_REQUESTS;
        let most = if is_half { under_way.div_ceil(2) } else { under_way };
        self.take_some(taken, if beside { most.min(self.at_once()) } else { most }, |_| true)
    }

    /// How many are begun at once, where others may follow.
    fn at_once(&self) -> usize {
        self.requests.hurried() + MANY_AT_ONCE
    }

    /// So many of the requests that wait, up to one that is not wanted, if a group takes them that has taken some.
    fn take_some(&mut self, taken: &mut Taken, most: usize, is_wanted: fn(&Request) -> bool) -> Vec<Request> {
        let mut requests = Vec::new();
        while requests.len() < most
            && let Some(request) = self.requests.take_if(|request| is_wanted(request) && taken.takes(request.haste))
        {
            taken.add(&request);
            requests.push(request);
        }
        requests
    }

    /// Waits for a message until then, or as long as it takes.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> Result<(), RecvTimeoutError> {
        if self.has_more() || self.is_closing {
            return Ok(());
        }
        let message = match deadline {
            Some(deadline) => self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now()))?,
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected)?,
        };
        self.hear(message);
        Ok(())
    }

    /// Notes that a commit of so many requests is on its way to the disk, until [`Message::Synced`] comes.
    pub(super) const fn begin_sync(&mut self, requests: usize) {
        self.syncing = Some(requests);
    }

    /// Whether a commit is on its way to the disk, as far as was heard.
    pub(super) const fn is_syncing(&self) -> bool {
        self.syncing.is_some()
    }

    /// Requests that come along with a group while the disk is busy with the one before. None once that is done, or has not more
    /// requests than this group: then as many are under way as are worked on, and more may not come before it is done. Where all
    /// are of many, those that follow; not into a group that is acknowledged `before_sync`: what that may hold, and whether it may,
    /// was decided by what it began with.
    pub(super) fn take_along(&mut self, taken: &mut Taken, before_sync: bool) -> Vec<Request> {
        loop {
            let has_more = self.has_more(); // asked first: what it hears may be that the disk is done
            let missing = self.syncing.map_or(0, |before| before.saturating_sub(taken.requests));
            if missing == 0 {
                return if before_sync { Vec::new() } else { self.take_following(taken) };
            }
            if has_more {
                return self.take_some(taken, missing.min(self.at_once()), |_| true);
            }
            self.hear_next();
        }
    }

    /// What follows a group of requests that are of many each: every commit writes pages anew that they share. Commits alone: what
    /// else there is to do is seen to before a group begins.
    fn take_following(&mut self, taken: &mut Taken) -> Vec<Request> {
        let next = Instant::now() + self.next_of_many;
        let until = self.aside.deadline().map_or(next, |due| due.min(next));
        let mut has_waited = false;
        while self.is_followed(taken) {
            if self.has_more() {
                self.in_vain = self.in_vain.filter(|_| !has_waited);
                return self.take_some(taken, self.at_once(), |request| matches!(request.work, Work::Commit(_)));
            }
            has_waited = true;
            match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => self.hear(message),
                Err(_) => {
                    // Cut short for others, it says nothing of these.
                    self.in_vain = if until == next { Some(Instant::now()) } else { self.in_vain };
                    break;
                }
            }
        }
        Vec::new()
    }

    /// Whether more is about to follow a group. Few who ask may all be in it, and were where that was waited for in vain.
    fn is_followed(&self, taken: &Taken) -> bool {
        let was_in_vain = self.in_vain.is_some_and(|when| when.elapsed() < self.remembered);
        let may_be_all = was_in_vain && taken.requests < MANY_REQUESTS;
        taken.is_of_many() && taken.takes(Haste::OfMany) && !self.is_closing && !may_be_all
    }

    /// Waits until the commit on its way is on the disk, and acknowledged. The error is why it may not be there.
    pub(super) fn wait_for_disk(&mut self) -> Result<(), StoreError> {
        while self.is_syncing() {
            self.hear_next();
        }
        self.failed.as_ref().map_or(Ok(()), |failed| Err(failed.failure.clone()))
    }

    /// The commit that may not have reached the disk: asked once the thread that waits for it has ended.
    pub(super) fn failed(&mut self) -> Option<Failed> {
        while let Ok(message) = self.messages.try_recv() {
            self.hear(message);
        }
        self.failed.take()
    }

    /// Tells who closed the store how it ended; who came after that learns by the end of the channel that it is closed.
    pub(super) fn end(mut self, ended: &Result<(), StoreError>) {
        while let Ok(message) = self.messages.try_recv() {
            self.hear(message);
        }
        for closer in self.closers {
            // Who asked may have gone away, or be woken by what panics.
            let _ = catch_unwind(AssertUnwindSafe(|| closer.send(ended.clone().map(|()| Vec::new()))));
        }
    }

    fn hear_next(&mut self) {
        match self.messages.recv() {
            Ok(message) => self.hear(message),
            // The thread that waits for the disk can speak as long as it has anything to say.
            Err(_) => (self.syncing, self.failed) = (None, Some(Failed::unwatched(Vec::new()))),
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Synced(ended) => (self.syncing, self.failed) = (None, ended.err()),
            Message::Close(closer) => {
                self.is_closing = true;
                self.closers.extend(closer);
            }
            Message::Request(request) if self.is_closing => self.late.push(request.split().1),
            Message::Request(request) if request.haste == Haste::None => self.aside.add(request, Instant::now()),
            Message::Request(request) => self.requests.add(request),
        }
    }
}

#[cfg(test)]
mod tests;
