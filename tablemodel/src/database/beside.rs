//! Work that is done beside its caller: batches of a load, of which several are planned at a time.
//!
//! What is done is told by whoever asks for it; nothing is read or written here.

use std::{
    sync::{Arc, LazyLock},
    thread::available_parallelism,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, poll_immediate},
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinSet, yield_now},
};

/// As many as this process may use: asked once, since that may read several files.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// Pieces that wait to be planned while those before them are, where their caller waits for room.
const READY: usize = 3;

/// A load's work: pieces that are begun at once, or as soon as there is room, and of which few are planned at a time.
pub(super) struct Beside {
    /// Leave to plan.
    planning: Arc<Semaphore>,
    /// Leave to be planned, now or next.
    ready: Arc<Semaphore>,
}

/// Room for one more piece of work.
pub(super) struct Room {
    _leave: Option<OwnedSemaphorePermit>,
}

impl Beside {
    /// Planning takes all processors but one: that is left to who writes what was planned, whom it would else have wait for its
    /// turn while it runs far ahead.
    pub(super) fn of_this_machine() -> Self {
        Self::planning(PROCESSORS.saturating_sub(1).max(1))
    }

    fn planning(at_a_time: usize) -> Self {
        let [planning, ready] = [at_a_time, at_a_time + READY].map(|pieces| Arc::new(Semaphore::new(pieces)));
        Self { planning, ready }
    }

    /// Waits until few of the pieces that were begun in a room wait to be planned: who makes pieces faster than they are planned would
    /// else be far ahead, and each would have left the processor's cache by its turn. One that waits for something before it is planned,
    /// as for what a store elsewhere holds, is not counted while it does, nor afterwards.
    pub(super) fn room(&self) -> impl Future<Output = Room> + Send + use<> {
        let ready = Arc::clone(&self.ready);
        async move { Room { _leave: ready.acquire_owned().await.ok() } } // it is never closed
    }

    /// A piece of work, begun as a task of its own where there is a runtime of tokio; else as a part of its caller. What it
    /// does before it first waits is the planning: what has to wait for something before, or plans again, is not counted then.
    /// Dropped, it ends at its next wait, as any future does.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        self.begin_in(Room { _leave: None }, work)
    }

    /// The same, of a piece that there is room for: that is given back once it is planned.
    pub(super) fn begin_in<T: Send + 'static>(
        &self,
        room: Room,
        work: impl Future<Output = T> + Send + 'static,
    ) -> BoxFuture<'static, T> {
        let planning = Arc::clone(&self.planning);
        let mut work = work.boxed(); // large, and a task is moved as it is made, begun and ended
        apart(async move {
            let leave = planning.acquire().await; // it is never closed
            let planned = poll_immediate(work.as_mut()).await;
            drop((leave, room));
            match planned {
                Some(done) => done,
                None => work.await,
            }
        })
    }
}

/// Frees what nobody needs any more: beside the caller, a piece at a time, where there is a runtime of tokio. The last batches of a load
/// all end at one time, and to free them takes longer than to hear of it.
pub(super) fn let_go<T: Send + 'static>(pieces: Vec<T>) {
    if let (true, Ok(runtime)) = (pieces.len() > 1, Handle::try_current()) {
        runtime.spawn(async move {
            for piece in pieces {
                drop(piece);
                yield_now().await;
            }
        });
    }
}

fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    let Ok(runtime) = Handle::try_current() else { return work.boxed() };
    let mut task = JoinSet::new();
    task.spawn_on(work, &runtime);
    let done = async move {
        match task.join_next().await {
            Some(Ok(done)) => done,
            // It panicked, and so does its caller; or else the runtime ends, and all with it.
            Some(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    };
    done.boxed()
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use futures_util::future::join_all;

    use super::*;

    /// Pieces of which each plans, waits, and goes on; how many planned, and how many waited, at the same time.
    async fn most_at_a_time(beside: &Beside, pieces: usize) -> (usize, usize) {
        #[derive(Default)]
        struct Seen {
            now: AtomicUsize,
            most: AtomicUsize,
        }
        impl Seen {
            fn enter(&self) {
                self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            }
            fn leave(&self) {
                self.now.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let (planning, waiting) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
        let all = Arc::new(tokio::sync::Barrier::new(pieces));
        let begun = (0..pieces).map(|_| {
            let (planning, waiting, all) = (Arc::clone(&planning), Arc::clone(&waiting), Arc::clone(&all));
            beside.begin(async move {
                planning.enter();
                std::thread::sleep(Duration::from_millis(1)); // others would come in between
                planning.leave();
                waiting.enter();
                all.wait().await; // nobody goes on before all have planned
                waiting.leave();
            })
        });
        join_all(begun.collect::<Vec<_>>()).await;
        (planning.most.load(Ordering::SeqCst), waiting.most.load(Ordering::SeqCst))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn few_are_planned_at_a_time_and_all_wait_together() {
        let one = Beside::planning(1);
        assert_eq!(most_at_a_time(&one, 20).await, (1, 20));
        let two = Beside::planning(2);
        let (planned, waited) = most_at_a_time(&two, 20).await;
        assert!(planned <= 2 && waited == 20, "{planned} planned, and {waited} waited");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn as_many_as_have_leave_are_planned_at_the_same_time() {
        let three = Beside::planning(3);
        let meet = Arc::new(Barrier::new(3)); // of threads: fewer at a time would never pass it
        let begun = (0..3).map(|_| {
            let meet = Arc::clone(&meet);
            three.begin(async move { meet.wait().is_leader() })
        });
        let leaders = join_all(begun.collect::<Vec<_>>()).await;
        assert_eq!(leaders.into_iter().filter(|leads| *leads).count(), 1);
    }

    #[test]
    fn without_a_runtime_the_work_is_a_part_of_its_caller() {
        let beside = Beside::of_this_machine();
        let (first, second) = (beside.begin(async { 1 }), beside.begin(async { 2 }));
        let both = futures_util::future::join(first, second).now_or_never();
        assert_eq!(both, Some((1, 2)));
    }

    /// So many pieces, and how many of them are still there.
    fn pieces(count: usize) -> (Vec<Arc<()>>, Arc<()>) {
        let held = Arc::new(());
        (vec![Arc::clone(&held); count], held)
    }

    #[tokio::test]
    async fn what_is_let_go_of_is_freed_soon_and_nobody_waits_for_it() {
        let (all, held) = pieces(20);
        let_go(all);
        assert_eq!(Arc::strong_count(&held), 21); // the one thread of the runtime is here
        while Arc::strong_count(&held) > 1 {
            yield_now().await;
        }
    }

    #[test]
    fn without_a_runtime_it_is_freed_at_once() {
        let (all, held) = pieces(20);
        let_go(all);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    #[should_panic(expected = "the piece's own words")]
    async fn a_panic_of_a_piece_is_its_callers() {
        let beside = Beside::planning(1);
        beside.begin(async { panic!("the piece's own words") }).await
    }

    #[tokio::test]
    async fn a_piece_that_panics_gives_its_leave_back() {
        let beside = Beside::planning(1);
        let panicked = tokio::spawn(beside.begin(async { panic!("expected of this test") })).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
        assert_eq!(beside.begin(async { 3 }).await, 3);
    }

    /// The room that there is, if there is not far too much.
    fn rooms(beside: &Beside) -> Vec<Room> {
        std::iter::from_fn(|| beside.room().now_or_never()).take(100).collect()
    }

    #[tokio::test]
    async fn there_is_room_for_few_pieces_that_wait_to_be_planned_and_again_once_one_is_or_is_dropped() {
        let beside = Beside::planning(1);
        let leave = Arc::clone(&beside.planning).acquire_owned().await;
        let rooms_of = rooms(&beside).into_iter();
        let mut begun: Vec<_> = rooms_of.map(|room| beside.begin_in(room, std::future::pending::<()>())).collect();
        assert_eq!(begun.len(), 1 + READY);
        drop(begun.pop());
        tokio::task::yield_now().await; // its task ends
        let mut free = rooms(&beside);
        assert_eq!(free.len(), 1);
        let last = free.pop().map(|room| beside.begin_in(room, async { 3 }));
        drop(leave);
        assert_eq!(last.expect("begun").await, 3); // those before it wait for ever, and are planned
        assert_eq!(rooms(&beside).len(), 1 + READY);
    }

    #[test]
    fn without_a_runtime_there_is_room_again_once_a_piece_is_planned() {
        let beside = Beside::planning(1);
        let rooms_of = rooms(&beside).into_iter();
        let mut begun: Vec<_> = rooms_of.map(|room| beside.begin_in(room, std::future::pending::<()>())).collect();
        assert_eq!(begun.len(), 1 + READY);
        for planned in &mut begun {
            assert!(rooms(&beside).is_empty());
            assert!(planned.now_or_never().is_none());
            let free = rooms(&beside);
            assert_eq!(free.len(), 1);
            std::mem::forget(free); // taken by another
        }
    }

    #[tokio::test]
    async fn a_piece_that_is_dropped_while_it_waits_for_leave_takes_none() {
        let beside = Beside::planning(1);
        let leave = Arc::clone(&beside.planning).acquire_owned().await;
        let waits = beside.begin(async { panic!("it was dropped") });
        tokio::task::yield_now().await; // it stands in the queue now
        let next = beside.begin(async { 3 });
        tokio::task::yield_now().await;
        drop::<BoxFuture<'_, ()>>(waits);
        drop(leave);
        assert_eq!(next.await, 3);
    }
}
