//! A fault at every store call of an operation, and a program that dies at any of its calls: the loops that the crash tests share.
//!
//! What a room does, and what must hold after it, are the room's own; which calls are tried in a usual run, `points` tells.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use tablemodel::{
    Error, ErrorKind, Result,
    prelude::*,
    store::StoreErrorKind,
    testing::{CallKind, CallRecord, Fault, Script, TestDatabase},
};

use crate::{
    points::{ALL, bound, chosen, drawn, points},
    tools::{Outcomes, objects_of},
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

/// The numbers of the calls that write. Who dies before a call, or at one that only reads, leaves in the tables what was there after the
/// last of these before it; objects may have come since.
pub(crate) fn writing(calls: &[CallRecord]) -> Vec<usize> {
    (0..calls.len()).filter(|call| writes(&calls[*call])).collect()
}

/// Every fault at every call, in the order of the calls; but that at one that only reads a crash after it is as one before it, and a
/// reply that is lost as a store that is not there, where that is among the faults.
pub(crate) fn every(calls: &[CallRecord], faults: &[Fault]) -> Vec<(usize, Fault)> {
    let is_away = |fault: &Fault| matches!(fault, Fault::Error(error) if error.kind() == StoreErrorKind::Unavailable);
    let may_be_away = faults.iter().any(is_away);
    let mut all = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let is_another = |fault: &&Fault| match fault {
            Fault::CrashAfter => writes(call),
            Fault::LostReply => writes(call) || !may_be_away,
            _ => true,
        };
        all.extend(faults.iter().filter(is_another).map(|fault| (number, fault.clone())));
    }
    all
}

/// Whether the program has just written as it dies, or as it does not hear the reply: rows, by the call; or `objects`, which it puts
/// between its calls: it is taken to have done so between one that reads and one that writes.
fn has_just_written(calls: &[CallRecord], objects: bool, call: usize, fault: &Fault) -> bool {
    match fault {
        Fault::CrashAfter | Fault::LostReply => writes(&calls[call]),
        Fault::CrashBefore => objects && writes(&calls[call]) && (call == 0 || !writes(&calls[call - 1])),
        _ => false,
    }
}

/// At which of these calls an operation meets which of the faults, `at_most` so many in a usual run: all of them, where they are no
/// more; else three quarters are crashes and lost replies of what has just been written, tables or `objects`, as far as there are so
/// many, at the first and the last such call among others; and the rest are of the other faults, another one at each call.
pub(crate) fn met(
    calls: &[CallRecord],
    objects: bool,
    faults: &[Fault],
    at_most: usize,
    told: &str,
) -> Vec<(usize, Fault)> {
    some((calls, objects), faults, bound(at_most), told)
}

fn some((calls, objects): (&[CallRecord], bool), faults: &[Fault], at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    let all = every(calls, faults);
    if all.len() <= at_most {
        return all;
    }
    let is_crash = |(call, fault): &(usize, Fault)| has_just_written(calls, objects, *call, fault);
    let (crashes, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_crash);
    let dying = crashes.len().min(at_most - others.len().min(at_most / 4));
    let mut met = picked(&crashes, dying, told);
    met.extend(in_turns(&others, at_most - dying, told));
    met
}

fn picked(all: &[(usize, Fault)], at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    chosen(all.len(), at_most, told).into_iter().map(|point| all[point].clone()).collect()
}

/// So many of these faults: none a second one at a call before each call has met one, and at each call it is another one's turn.
fn in_turns(others: &[(usize, Fault)], at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    let of_calls: Vec<&[(usize, Fault)]> = others.chunk_by(|one, next| one.0 == next.0).collect();
    let rounds = of_calls.iter().map(|faults| faults.len()).max().unwrap_or(0);
    let turn = drawn(told, at_most);
    let mut met: Vec<(usize, Fault)> = Vec::new();
    for round in 0..rounds {
        let there = of_calls.iter().enumerate().filter(|(_, faults)| round < faults.len());
        let due: Vec<_> = there.map(|(nth, faults)| faults[(turn + nth + round) % faults.len()].clone()).collect();
        let left = at_most - met.len();
        met.extend(picked(&due, left, told));
    }
    met
}

/// That a loop has tried these faults at these calls: `at_most` so many, or as many as there are. What a test counts is what there is.
pub(crate) fn assert_met(tried: usize, calls: &[CallRecord], faults: &[Fault], at_most: usize, told: &str) {
    // Two of them are as others, at a call that only reads.
    let there = calls.len() * (faults.len() - 2);
    assert!(tried >= there.min(at_most), "{told}: {tried} faults were tried of {there}");
}

/// After which of these calls a program dies, of those that write, and of which it does not hear the reply; `at_most` so many, of
/// which the latter are a third. Where it puts `objects` too, it also dies before a call that writes after one that reads.
pub(crate) fn deaths(calls: &[CallRecord], objects: bool, at_most: usize, told: &str) -> Vec<(usize, Fault)> {
    let mut dying = every(calls, &[Fault::CrashBefore, Fault::CrashAfter]);
    dying.retain(|(call, fault)| has_just_written(calls, objects, *call, fault));
    // Of one or two points, it is one in some scenarios.
    let unheard = at_most / 3 + usize::from(drawn(told, 0) % 3 < at_most % 3);
    let deaf = points(calls.len(), unheard, told).into_iter().map(|call| (call, Fault::LostReply));
    picked(&dying, bound(at_most - unheard), told).into_iter().chain(deaf).collect()
}

/// Opens a program on a copy of what is prepared and lets it die at calls of `work`, or not hear the reply of one, each time on a copy
/// of its own; then `end` goes on without faults, once it is known to be gone. Gives the number of calls; `at_most` so many deaths are
/// tried in a usual run.
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
    let (calls, mut tried) = (store.calls(), 0);
    let objects = objects_of(&store).await != objects_of(prepared).await;
    for (call, fault) in deaths(&calls, objects, at_most, &told) {
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
        tried += 1;
    }
    let writing = writing(&calls).len();
    assert!(tried >= writing.min(at_most), "{told}: {tried} deaths were tried, and it writes {writing} times");
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
/// of faults that there are.
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
    let (before, objects) = (state(&db).await, objects_of(&db).await);
    db.forget_calls();
    run(&db).await.unwrap_or_else(|error| panic!("{told}, without a fault: {error}"));
    let (calls, objects) = (db.calls(), objects_of(&db).await != objects);
    let after = state(&db).await;
    let (faults, mut outcomes, mut tried) = (faults(), Outcomes::new(), 0);
    for (call, fault) in met(&calls, objects, &faults, at_most, told) {
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
        tried += 1;
    }
    assert_met(tried, &calls, &faults, at_most, told);
    calls.len() * faults.len()
}

/// One call that reads, one that writes, and so on.
fn in_alternation(count: usize) -> Vec<CallRecord> {
    let kinds = [CallKind::ListTables, CallKind::CreateTable { table: "A".into() }];
    kinds.into_iter().cycle().take(count).map(|call| CallRecord { call, error: None }).collect()
}

fn named(met: Vec<(usize, Fault)>) -> Vec<String> {
    met.into_iter().map(|(call, fault)| format!("{fault:?} {call}")).collect()
}

#[test]
fn what_is_the_same_is_tried_once() {
    let calls = in_alternation(3);
    assert_eq!(met(&calls, false, &faults(), ALL, "").len(), 6 + 8 + 6);
    let gone = [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply];
    let of_reads = named(every(&calls[..1], &gone));
    assert_eq!(of_reads, ["CrashBefore 0", "LostReply 0"], "the program goes on where its read failed");
    let unheard = ["LostReply 0", "LostReply 1", "LostReply 2"];
    assert_eq!(named(deaths(&calls, false, ALL, "")), [&["CrashAfter 1"][..], &unheard[..]].concat());
    assert_eq!(named(deaths(&calls, true, ALL, "")), [&["CrashBefore 1", "CrashAfter 1"][..], &unheard[..]].concat());
}

#[test]
fn of_many_faults_most_are_at_the_writes_and_the_others_take_turns() {
    let calls = in_alternation(20);
    let some = |objects, at_most| some((&calls, objects), &faults(), at_most, "many");
    for at_most in 0..=140 {
        for objects in [false, true] {
            let met = some(objects, at_most);
            let dying = met.iter().filter(|(call, fault)| has_just_written(&calls, objects, *call, fault)).count();
            assert!(dying >= (at_most - at_most / 4).min(20), "{dying} of {at_most}");
            let met: BTreeSet<String> = named(met).into_iter().collect();
            assert_eq!(met.len(), at_most, "none is tried twice: {met:?}");
        }
    }
    let met = named(some(false, 16));
    let ends = ["CrashAfter 1", "LostReply 1", "CrashAfter 19", "LostReply 19"];
    assert!(ends.iter().all(|end| met.iter().any(|met| met == end)), "{met:?}");
    assert!(named(some(true, 16)).contains(&"CrashBefore 1".to_owned()), "an object may have come before it");
    let kinds: BTreeSet<String> = some(false, 60).into_iter().map(|(_, fault)| format!("{fault:?}")).collect();
    assert_eq!(kinds.len(), faults().len(), "{kinds:?}");
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
