//! A fault at every store call of the first write after an upgrade, in both modes.

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::StoreErrorKind,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    MODES, assert_clean, row, settle, text, v3,
    writes::{KINDS, prepared, run},
};

/// The employee 1 and the version of its row.
async fn state(db: &TestDatabase) -> (Option<v3::Employee>, Option<String>) {
    let one = v3::Employee::find().department("Sales").id(1).one(db).await.unwrap().map(Stored::into_inner);
    let version = row(db, "empid_000001").await.and_then(|row| text(&row, "EntityType"));
    (one, version)
}

#[tokio::test]
async fn the_row_is_old_or_new_and_has_exactly_the_rows_of_that() {
    let faults =
        || [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply, Fault::error(StoreErrorKind::Unavailable)];
    let mut points = 0;
    for mode in MODES {
        for kind in KINDS {
            let all = prepared(mode).await;
            let before = state(&all.v3).await;
            all.v3.forget_calls();
            run(&all.v3, kind).await.unwrap();
            let calls = all.v3.calls().len();
            settle(&all.v3).await;
            let after = state(&all.v3).await;
            assert_ne!(before, after);
            for call in 0..calls {
                for fault in faults() {
                    let told = format!("{mode:?} {kind:?}, {fault:?} at call {call} of {calls}");
                    let all = prepared(mode).await;
                    all.v3.fail(Script::new().at(call, fault));
                    let result = run(&all.v3, kind).await;
                    all.v3.fail(Script::new());
                    let db = all.v3.reopen::<v3::Model>().await.unwrap();
                    settle(&db).await;
                    let now = state(&db).await;
                    assert!(now == before || now == after, "{told}: {now:?}");
                    match result {
                        Ok(()) => assert_eq!(now, after, "{told}: acknowledged"),
                        Err(error) => assert!(
                            matches!(
                                error.kind(),
                                ErrorKind::OutcomeUnknown | ErrorKind::Unavailable | ErrorKind::Denied
                            ),
                            "{told}: {error}"
                        ),
                    }
                    assert_clean(&db, &told).await;
                    points += 1;
                }
            }
        }
    }
    assert!(points > 300, "{points} points");
}

/// What an older program left undone, a relay of the newer one does.
#[tokio::test]
async fn a_relay_of_the_newer_program_delivers_what_the_older_one_left() {
    for call in 0..12 {
        let all = prepared(Consistency::Azure).await;
        all.v1.fail(Script::new().at(call, Fault::CrashBefore));
        let path = super::v1::Employee::find().department("Sales").id(1);
        let _ = all.v1.update(path, |one| Ok((one.email, one.name) = ("N1@X".into(), "G1 H1".into()))).await;
        all.v1.fail(Script::new());
        let db = all.v3.reopen::<v3::Model>().await.unwrap();
        settle(&db).await;
        assert_clean(&db, &format!("call {call}")).await;
        run(&db, super::writes::Kind::Save).await.unwrap();
        settle(&db).await;
        assert_clean(&db, &format!("call {call}, then written as new")).await;
    }
}
