//! The tool over a store that fails, and one that is asked to stop.

use std::{path::PathBuf, sync::atomic::Ordering};

use super::{
    clubs::{new, old},
    store::{person, within},
};
use crate::{
    cli::{
        outcome::{DONE, FAILED, STOPPED},
        store::{Tool, apply_for_tests},
    },
    testing::{Call, Fault, FaultPlan, Request, Script, TestDatabase},
};

/// A tool over a database of the test's.
fn tool(db: &TestDatabase) -> Tool {
    Tool { db: (**db).clone(), plans: Vec::new(), golden: PathBuf::new(), stop: Default::default() }
}

async fn filled(persons: u32) -> TestDatabase {
    let db = TestDatabase::atomic::<old::Club>().await.unwrap();
    let all = futures_util::stream::iter((0..persons).map(|id| person(id, id)));
    assert_eq!(db.bulk().insert_all(all).await.unwrap().failed.len(), 0);
    db.reopen::<new::Club>().await.unwrap()
}

#[test]
fn what_is_stopped_says_so_and_goes_on() {
    within(async {
        let db = filled(300).await;
        let tool = tool(&db);
        tool.stop.store(true, Ordering::Relaxed);
        let stopped = apply_for_tests(&tool, &["--batch", "20"]).await;
        assert_eq!(stopped.code, STOPPED, "{stopped:?}");
        assert!(stopped.lines[0].contains("the same call goes on from here"), "{stopped:?}");
        let status = db.migrations().status().await.unwrap().unwrap();
        assert_eq!((status.finished, status.touched), (None, 0));
        tool.stop.store(false, Ordering::Relaxed);
        assert_eq!(apply_for_tests(&tool, &["--batch", "20"]).await.code, DONE);
        assert!(db.verify().await.unwrap().is_clean());
    });
}

/// A disk that is full from the so-manieth commit on.
struct Full(usize);

impl FaultPlan for Full {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        let commits = matches!(call.request, Request::Commit(_));
        self.0 = self.0.saturating_sub(usize::from(commits));
        (commits && self.0 == 0).then(|| Fault::error(crate::store::StoreErrorKind::Denied))
    }
}

#[test]
fn a_disk_that_fills_is_an_error_and_the_same_command_goes_on() {
    for commits in 1..30 {
        within(async {
            let db = filled(80).await;
            db.fail(Full(commits));
            let full = apply_for_tests(&tool(&db), &["--batch", "20", "--workers", "1"]).await;
            if full.code != DONE {
                assert_eq!(full.code, FAILED, "{commits}: {full:?}");
            }
            db.fail(Script::new());
            let db = db.reopen::<new::Club>().await.unwrap();
            if full.code != DONE
                && let Some(status) = db.migrations().status().await.unwrap()
            {
                assert_eq!(status.finished, None, "{commits}: what is half done is marked");
            }
            let applied = apply_for_tests(&tool(&db), &["--batch", "20"]).await;
            assert_eq!(applied.code, DONE, "{commits}: {applied:?}");
            let verified = db.verify().await.unwrap();
            assert!(verified.is_clean() && verified.derived == 160, "{commits}: {:?}", verified.violations);
        });
    }
}
