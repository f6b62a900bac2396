//! Plans of faults that use the store themselves, panic or replace one another, and calls of several threads.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        mpsc::{RecvTimeoutError, channel},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use tablemodel_store::{
    MemoryStore, StoreErrorKind, TableStore,
    fault::{Call, Fault, FaultStore, Script},
};

fn store() -> FaultStore {
    FaultStore::new(Arc::new(MemoryStore::new()), Script::new())
}

/// What a store in memory answers at once.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it waits"),
    }
}

fn tables(store: &FaultStore) -> Result<Vec<String>, StoreErrorKind> {
    at_once(store.list_tables()).map_err(|error| error.kind())
}

/// On a thread of its own, which is left behind where it hangs.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (ends, ended) = channel();
    let run = thread::spawn(move || {
        test();
        ends.send(()).unwrap();
    });
    if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("it hangs");
    }
    run.join().unwrap();
}

#[test]
fn a_plan_may_call_the_store_between_two_calls_and_meets_no_fault_there() {
    within_a_minute(|| {
        let store = store();
        let (own, mut asked) = (store.clone(), Vec::new());
        store.replan(move |call: &Call<'_>| {
            asked.push(call.number);
            if call.number == 1 {
                at_once(own.create_table("Between")).unwrap();
                assert_eq!((own.calls(), asked.as_slice()), (3, &[0, 1][..]), "counted, and not asked about");
            }
            (call.number == 3).then(|| Fault::error(StoreErrorKind::Denied))
        });
        assert_eq!(tables(&store).unwrap(), [""; 0]);
        assert_eq!(tables(&store).unwrap(), ["Between"]);
        assert_eq!(tables(&store), Err(StoreErrorKind::Denied), "the next number is the fourth");
        store.replan(Script::new());
    });
}

#[test]
fn a_plan_may_set_the_next_one() {
    within_a_minute(|| {
        let store = store();
        let own = store.clone();
        store.replan(move |_: &Call<'_>| {
            own.replan(|_: &Call<'_>| Some(Fault::error(StoreErrorKind::Unavailable)));
            assert_eq!(tables(&own), Err(StoreErrorKind::Unavailable), "from the next call on");
            Some(Fault::error(StoreErrorKind::Denied))
        });
        assert_eq!(tables(&store), Err(StoreErrorKind::Denied));
        assert_eq!(tables(&store), Err(StoreErrorKind::Unavailable));
    });
}

#[test]
fn a_plan_may_wait_for_another_thread_that_calls_the_store() {
    within_a_minute(|| {
        let store = store();
        let own = store.clone();
        store.replan(move |_: &Call<'_>| {
            let its = own.clone();
            thread::spawn(move || tables(&its)).join().unwrap().unwrap();
            Some(Fault::error(StoreErrorKind::Denied))
        });
        assert_eq!(tables(&store), Err(StoreErrorKind::Denied));
        assert_eq!(store.calls(), 2);
        store.replan(Script::new());
    });
}

#[test]
fn a_plan_that_panicked_is_asked_again() {
    within_a_minute(|| {
        let store = store();
        store.replan(|call: &Call<'_>| {
            assert!(call.number > 0, "the first call");
            Some(Fault::error(StoreErrorKind::Denied))
        });
        let its = store.clone();
        thread::spawn(move || tables(&its)).join().unwrap_err();
        assert_eq!(tables(&store), Err(StoreErrorKind::Denied));
    });
}

#[test]
fn calls_of_several_threads_are_each_asked_about_in_the_order_of_their_numbers() {
    let (store, asked) = (store(), Arc::new(Mutex::new(Vec::new())));
    let noted = asked.clone();
    store.replan(move |call: &Call<'_>| {
        noted.lock().unwrap().push(call.number);
        thread::yield_now();
        None
    });
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| drop(tables(&store).unwrap())));
        }
    });
    assert_eq!(*asked.lock().unwrap(), (0..1_000).collect::<Vec<_>>());
}
