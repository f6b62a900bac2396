//! The thread that waits for the disk in the writer's place, while the writer goes on with the next group: then readers see the
//! commit, and those who asked for it are answered.
//!
//! Writes nothing, and waits for one commit at a time.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, SendError, Sender, channel},
    },
    thread::{self, JoinHandle, ThreadId},
};

use super::{
    engine::{Engine, LeftSync},
    queue::{Message, Waiting},
    rows::Change,
    state::Reply,
    view::{View, Views},
    writer::panicked,
};
use crate::{StoreError, StoreErrorKind};

/// A commit that left its sync.
pub(super) struct Committed<S> {
    /// What readers see once it is on the disk.
    pub(super) view: View<S>,
    pub(super) left: LeftSync,
    pub(super) change: Change,
    pub(super) waiting: Vec<Waiting>,
    pub(super) replies: Vec<Reply>,
}

/// A commit that may not have reached the disk, and whom that is to be told.
pub(super) struct Failed {
    pub(super) failure: StoreError,
    pub(super) waiting: Vec<Waiting>,
}

impl Failed {
    /// Of a commit whose sync nobody waits for.
    pub(super) fn unwatched(waiting: Vec<Waiting>) -> Self {
        let detail = "the thread that waits for the disk has ended; open the store again and read what it holds";
        Self { failure: StoreError::new(StoreErrorKind::OutcomeUnknown, detail), waiting }
    }

    pub(super) fn answer(self) {
        self.waiting.into_iter().for_each(|waiting| waiting.answer(Err(self.failure.clone())));
    }
}

/// The writer's side of the thread.
pub(super) struct Acknowledger<E: Engine> {
    commits: Sender<Committed<E::Snapshot>>,
    thread: JoinHandle<()>,
}

impl<E: Engine> Acknowledger<E> {
    /// Starts the thread, which tells `writer` when each commit is acknowledged.
    pub(super) fn start(engine: Arc<E>, views: Arc<Views<E>>, writer: Sender<Message>) -> Result<Self, StoreError> {
        let (commits, handed_over) = channel();
        let thread = thread::Builder::new().name("tablemodel-syncer".to_owned());
        let thread = thread.spawn(move || run(&*engine, &views, &handed_over, &writer)).map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "no thread could be started").caused_by(error)
        })?;
        Ok(Self { commits, thread })
    }

    /// Which thread it is.
    pub(super) fn thread(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// Hands over a commit: none may be under way. Gives back who waits for it where the thread has ended, which it does not before
    /// this end of the channel is gone.
    pub(super) fn take(&self, committed: Committed<E::Snapshot>) -> Result<(), Failed> {
        self.commits.send(committed).map_err(|SendError(committed)| Failed::unwatched(committed.waiting))
    }

    /// Waits until what was handed over is done, and lets go of the engine.
    pub(super) fn stop(self) {
        drop(self.commits);
        let _ = self.thread.join(); // it has said what there was to say
    }
}

fn run<E: Engine>(engine: &E, views: &Views<E>, commits: &Receiver<Committed<E::Snapshot>>, writer: &Sender<Message>) {
    for Committed { view, left, change, waiting, replies } in commits {
        let finished = catch_unwind(AssertUnwindSafe(|| {
            engine.finish_sync(left)?;
            views.publish(view, change);
            Ok(())
        }));
        let answers = match finished.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
            Ok(()) => {
                let _ = writer.send(Message::Synced(Ok(())));
                waiting.into_iter().zip(replies)
            }
            Err(failure) => {
                let _ = writer.send(Message::Synced(Err(Failed { failure, waiting })));
                continue;
            }
        };
        answers.for_each(|(waiting, reply)| waiting.answer(reply));
    }
}
