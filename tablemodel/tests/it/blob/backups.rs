//! Backups at the same time, given up half-way, and on a machine that was suspended: a file is never without its blobs.

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
};

use tablemodel::{
    ErrorKind,
    store::{
        DateTime,
        clock::{Clock, SystemClock},
    },
};

use super::*;

/// A file with two blobs, and the folder that it is in.
async fn filled(clock: Arc<dyn Clock>) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::builder().clock(clock).open::<People>(folder.path().join("db")).await.unwrap();
    db.ensure_tables().await.unwrap();
    for (name, seed) in [("a", 1), ("b", 2)] {
        db.insert(&person(name, &large(seed))).await.unwrap();
    }
    (folder, db)
}

async fn assert_whole(file: &std::path::Path) {
    let db = Database::open::<People>(file).await.unwrap();
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean() && verified.entities == 2, "{verified:?}");
    assert_eq!(read(&db, "b").await.portrait.bytes(&db).await.unwrap(), large(2));
}

#[tokio::test]
async fn of_two_backups_to_one_path_one_is_made_and_stays_whole() {
    let (folder, db) = filled(Arc::new(SystemClock)).await;
    let [backup, restored] = ["backup", "restored"].map(|name| folder.path().join(name));
    let (one, other) = tokio::join!(db.backup(&backup), db.backup(&backup));
    assert_one_is_made(one, other);
    assert_whole(&backup).await;
    let (one, other) = tokio::join!(Database::restore(&backup, &restored), Database::restore(&backup, &restored));
    assert_one_is_made(one, other);
    assert_whole(&restored).await;
}

fn assert_one_is_made(one: tablemodel::Result<()>, other: tablemodel::Result<()>) {
    let refused = match (one, other) {
        (Ok(()), Err(error)) | (Err(error), Ok(())) => error,
        both => panic!("{both:?}"),
    };
    assert_eq!(refused.kind(), &ErrorKind::Denied, "{refused}");
}

/// What comes of a future that is dropped when it is woken after so many polls. As it leaves things then, `seen` looks at them first:
/// so a process leaves them that is killed.
async fn polled<F: Future>(future: F, mut polls: usize, seen: impl Fn()) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let next = std::future::poll_fn(|context| match polls.checked_sub(1) {
        None => {
            seen();
            Poll::Ready(None)
        }
        Some(left) => {
            polls = left;
            future.as_mut().poll(context).map(Some)
        }
    });
    next.await
}

/// That there are no blobs beside the backup, or all that are beside the file.
fn assert_none_or_all(file: &std::path::Path, backup: &std::path::Path) {
    fn files(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
    }
    let beside = |file: &std::path::Path| file.with_extension("blobs");
    if beside(backup).exists() {
        assert_eq!(files(&beside(backup)), files(&beside(file)));
    }
}

#[tokio::test]
async fn a_backup_that_is_given_up_leaves_no_file_without_its_blobs() {
    let (folder, db) = filled(Arc::new(SystemClock)).await;
    for polls in 1.. {
        let backup = folder.path().join(format!("backup{polls}"));
        let made = polled(db.backup(&backup), polls, || assert_none_or_all(&folder.path().join("db"), &backup)).await;
        if backup.exists() {
            assert_whole(&backup).await;
        }
        if let Some(made) = made {
            made.unwrap();
            return assert!(polls > 2, "{polls}");
        }
    }
}

/// A machine that is suspended for two hours whenever it is asked for the time.
#[derive(Default)]
struct Suspended(AtomicU64);

impl Clock for Suspended {
    fn now(&self) -> DateTime {
        let hours = 2 * i64::try_from(self.0.fetch_add(1, Ordering::Relaxed)).unwrap();
        DateTime::from_ticks(SystemClock.now().ticks() + hours * 3_600 * 10_000_000)
    }
}

#[tokio::test]
async fn a_backup_while_the_machine_is_suspended_for_longer_than_the_grace_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("db");
    let db = Database::open::<People>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&person("a", &large(1))).await.unwrap();
    db.close().await.unwrap();
    let db = Database::builder().clock(Arc::new(Suspended::default())).open::<People>(&file).await.unwrap();
    let error = db.backup(folder.path().join("backup")).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("blob_grace"), "{error}");
    assert!(!folder.path().join("backup").exists() && !folder.path().join("backup.blobs").exists());
}
