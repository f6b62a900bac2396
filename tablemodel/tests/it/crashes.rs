//! A fault at every store call of an operation, and a program that dies at any of its calls: the loops that the crash tests share.
//!
//! What a room does, and what must hold after it, are the room's own; which calls are tried in a usual run, `points` tells.

use std::{fmt::Debug, time::Duration};

use tablemodel::{
    Error, ErrorKind, Result,
    prelude::*,
    store::StoreErrorKind,
    testing::{CallKind, CallRecord, Fault, Script, TestDatabase},
};

use crate::{
    points::{ALL, drawn, points},
    tools::Outcomes,
};

/// Every way in which a store call can fail.
pub(crate) fn faults() -> Vec<Fault> {
    let errors = [
        StoreErrorKind::Unavailable,
        StoreErrorKind::OutcomeUnknown,
        StoreErrorKind::Denied,
        StoreErrorKind::Closed,
        StoreErrorKind::Corrupt,
    ];
    [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply].into_iter().chain(errors.map(Fault::error)).collect()
}

/// Whether it is an error that a fault may be answered by.
pub(crate) fn is_of_fault(error: &Error) -> bool {
    let kinds = [ErrorKind::OutcomeUnknown, ErrorKind::Unavailable, ErrorKind::Denied, ErrorKind::Corrupt];
    kinds.contains(error.kind())
}

fn writes(call: &CallRecord) -> bool {
    !matches!(call.call, CallKind::ListTables | CallKind::Get { .. } | CallKind::Query { .. })
}

/// The numbers of the calls that write. Who dies before a call, or at one that only reads, leaves what was there after the last of these
/// before it.
pub(crate) fn writing(calls: &[CallRecord]) -> Vec<usize> {
    (0..calls.len()).filter(|call| writes(&calls[*call])).collect()
}

/// At which of these calls an operation meets which of the faults, `at_most` so many: at each all of them, but that at one that only
/// reads a crash after it is as one before it, and a reply that is lost as a store that is not there.
pub(crate) fn met(calls: &[CallRecord], faults: &[Fault], at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    let mut all = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let is_another = |fault: &&Fault| writes(call) || !matches!(fault, Fault::CrashAfter | Fault::LostReply);
        all.extend(faults.iter().filter(is_another).map(|fault| (number, fault.clone())));
    }
    points(all.len(), at_most, told).into_iter().map(|point| all[point].clone()).collect()
}

/// After which of these calls a program dies, of those that write, and of which it does not hear the reply; `at_most` so many, of
/// which the latter are a third.
pub(crate) fn deaths(calls: &[CallRecord], at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    let writing = writing(calls);
    // Of one or two points, it is one in some scenarios.
    let unheard = at_most / 3 + usize::from(drawn(told, 0) % 3 < at_most % 3);
    let dying = points(writing.len(), at_most - unheard, told).into_iter();
    let deaf = points(calls.len(), unheard, told).into_iter();
    dying.map(|call| (writing[call], Fault::CrashAfter)).chain(deaf.map(|call| (call, Fault::LostReply))).collect()
}

/// Opens a program on a copy of what is prepared and lets it die at calls of `work`, or not hear the reply of one, each time on a copy
/// of its own; then `end` goes on without faults, once it is known to be gone. Gives the number of calls, of which `at_most` so many
/// are tried in a usual run.
pub(crate) async fn replay<M, W, E>(
    (told, at_most): (&str, usize),
    prepared: &TestDatabase,
    opened: impl AsyncFn(&TestDatabase) -> Database,
    work: W,
    end: E,
) -> usize
where
    M: TableModel,
    W: AsyncFn(&Database) -> Result<()>,
    E: AsyncFn(&TestDatabase, &str),
{
    let told = format!("{:?} {told}", prepared.consistency());
    let store = prepared.fork().expect("in memory");
    let db = opened(&store).await;
    store.forget_calls();
    work(&db).await.unwrap_or_else(|error| panic!("{told}, without a fault: {error:?}"));
    drop(db);
    let calls = store.calls();
    for (call, fault) in deaths(&calls, at_most, &told) {
        let told = format!("{told}: {fault:?} at call {call} of {}", calls.len());
        let store = prepared.fork().expect("in memory");
        let db = opened(&store).await;
        let replies = !matches!(fault, Fault::LostReply);
        store.fail(Script::new().at(call, fault));
        let result = work(&db).await;
        drop(db);
        if !replies {
            result.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        }
        store.fail(Script::new());
        let store = store.reopen::<M>().await.expect("opened");
        store.clock().advance(GONE);
        end(&store, &told).await;
    }
    calls.len()
}

/// Longer than a program that says nothing is taken to live.
pub(crate) const GONE: Duration = Duration::from_secs(130);

/// A database as it was prepared; prepared anew where its blobs are kept elsewhere.
async fn copy(prepared: &TestDatabase, make: &impl AsyncFn() -> TestDatabase) -> TestDatabase {
    match prepared.fork() {
        Ok(copy) => copy,
        Err(_) => make().await,
    }
}

/// Runs an operation with each fault at each of its store calls. After a restart and `settle`, the `state` is that before it or
/// that after it, the latter if it was acknowledged, and an error is one of faults; then `check` is told of the database, of
/// where it is, and whether the state is the old one. These are asked once for all faults that leave the same. Gives the number
/// of faults.
pub(crate) async fn enumerate<M: TableModel, S: PartialEq + Debug>(
    told: &str,
    make: impl AsyncFn() -> TestDatabase,
    run: impl AsyncFn(&TestDatabase) -> Result<()>,
    settle: impl AsyncFn(&TestDatabase),
    state: impl AsyncFn(&TestDatabase) -> S,
    check: impl AsyncFn(&TestDatabase, &str, bool),
) -> usize {
    enumerate_some::<M, S>((told, ALL), make, run, settle, state, check).await
}

/// The same, with `at_most` so many faults in a usual run.
pub(crate) async fn enumerate_some<M: TableModel, S: PartialEq + Debug>(
    (told, at_most): (&str, usize),
    make: impl AsyncFn() -> TestDatabase,
    run: impl AsyncFn(&TestDatabase) -> Result<()>,
    settle: impl AsyncFn(&TestDatabase),
    state: impl AsyncFn(&TestDatabase) -> S,
    check: impl AsyncFn(&TestDatabase, &str, bool),
) -> usize {
    let prepared = make().await;
    let db = copy(&prepared, &make).await;
    let before = state(&db).await;
    db.forget_calls();
    run(&db).await.unwrap_or_else(|error| panic!("{told}, without a fault: {error}"));
    let (calls, after) = (db.calls(), state(&db).await);
    let (faults, mut outcomes) = (faults(), Outcomes::new());
    for (call, fault) in met(&calls, &faults, at_most, told) {
        let told = format!("{told}, {fault:?} at call {call} of {}", calls.len());
        let db = copy(&prepared, &make).await;
        db.fail(Script::new().at(call, fault));
        let result = run(&db).await;
        db.fail(Script::new());
        let db = db.reopen::<M>().await.unwrap();
        let found = async {
            settle(&db).await;
            let now = state(&db).await;
            assert!(now == before || now == after, "{told}: {now:?}");
            check(&db, &told, now == before).await;
            now
        };
        let now = outcomes.of(&db, Box::pin(found)).await;
        match &result {
            Ok(()) => assert_eq!(*now, after, "{told}: acknowledged"),
            Err(error) => assert!(is_of_fault(error), "{told}: {error}"),
        }
    }
    calls.len() * faults.len()
}

#[test]
fn what_is_the_same_is_tried_once() {
    let calls = [CallKind::ListTables, CallKind::CreateTable { table: "A".into() }, CallKind::ListTables];
    let calls = calls.map(|call| CallRecord { call, error: None });
    assert_eq!(met(&calls, &faults(), ALL, "").len(), 6 + 8 + 6);
    let deaths: Vec<_> = deaths(&calls, ALL, "").into_iter().map(|(call, fault)| format!("{fault:?} {call}")).collect();
    assert_eq!(deaths, ["CrashAfter 1", "LostReply 0", "LostReply 1", "LostReply 2"]);
}

/// The loop finds what it is for: an operation that acknowledges before it writes.
#[tokio::test]
#[should_panic(expected = "acknowledged")]
async fn what_is_acknowledged_and_lost_is_found() {
    use crate::rekey::{Guest, Model, guests, settle};
    let prepared = async || crate::rekey::database(tablemodel::Consistency::Atomic).await;
    let forgetful = async |db: &TestDatabase| {
        let _ = db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await;
        Ok(())
    };
    let check = async |_: &TestDatabase, _: &str, _: bool| {};
    enumerate::<Model, _>(
        "forgetful",
        prepared,
        forgetful,
        async |db| settle(db).await,
        async |db| guests(db).await,
        check,
    )
    .await;
}
