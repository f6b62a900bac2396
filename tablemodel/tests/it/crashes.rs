//! A fault at every store call of an operation: the loop that the crash tests of the rooms share.
//!
//! What a room does, and what must hold after it, are the room's own.

use std::fmt::Debug;

use tablemodel::{
    Error, ErrorKind, Result,
    prelude::*,
    store::StoreErrorKind,
    testing::{Fault, Script, TestDatabase},
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

/// A database as it was prepared; prepared anew where its blobs are kept elsewhere.
async fn copy(prepared: &TestDatabase, make: &impl AsyncFn() -> TestDatabase) -> TestDatabase {
    match prepared.fork() {
        Ok(copy) => copy,
        Err(_) => make().await,
    }
}

/// Runs an operation with each fault at each of its store calls. After a restart and `settle`, the `state` is that before it or
/// that after it, the latter if it was acknowledged, and an error is one of faults; then `check` is told of the database, of
/// where it is, and whether the state is the old one. Gives the number of faults.
pub(crate) async fn enumerate<M: TableModel, S: PartialEq + Debug>(
    told: &str,
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
    let (calls, after) = (db.calls().len(), state(&db).await);
    let mut points = 0;
    for (call, fault) in (0..calls).flat_map(|call| faults().into_iter().map(move |fault| (call, fault))) {
        let told = format!("{told}, {fault:?} at call {call} of {calls}");
        let db = copy(&prepared, &make).await;
        db.fail(Script::new().at(call, fault));
        let result = run(&db).await;
        db.fail(Script::new());
        let db = db.reopen::<M>().await.unwrap();
        settle(&db).await;
        let now = state(&db).await;
        assert!(now == before || now == after, "{told}: {now:?}");
        match &result {
            Ok(()) => assert_eq!(now, after, "{told}: acknowledged"),
            Err(error) => assert!(is_of_fault(error), "{told}: {error}"),
        }
        check(&db, &told, now == before).await;
        points += 1;
    }
    points
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
