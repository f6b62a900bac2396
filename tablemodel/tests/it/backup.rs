//! Files of a database: a backup is one whole moment, a damaged one is refused, and one that cannot be opened says why.

use futures_util::{Future, stream};
use tablemodel::{Database, ErrorKind, prelude::*};

use crate::transfer::{Company, Employee, employee};

#[tokio::test]
async fn a_backup_taken_while_writing_is_one_moment_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let db = Database::open::<Company>(path("live")).await.unwrap();
    db.ensure_tables().await.unwrap();
    let writer = {
        let db = db.clone();
        tokio::spawn(async move {
            for id in 0..300 {
                db.insert(&employee(id)).await.unwrap();
            }
        })
    };
    while Employee::find().department("d0/ä").count(&db).await.unwrap() < 10 {
        tokio::task::yield_now().await;
    }
    db.backup(path("backup")).await.unwrap();
    writer.await.unwrap();
    Database::restore(path("backup"), path("restored")).await.unwrap();
    let restored = Database::open::<Company>(path("restored")).await.unwrap();
    let verified = restored.verify().await.unwrap();
    assert!(verified.is_clean() && verified.entities >= 28, "{verified:?}");
    // What is there is what was written first, without a gap.
    let mut ids = Vec::new();
    for department in ["d0/ä", "d1/ä", "d2/ä"] {
        let found = Employee::find().department(department).all(&restored).await.unwrap();
        ids.extend(found.into_iter().map(|employee| employee.id));
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..ids.len() as u32).collect::<Vec<_>>());
    restored.insert(&employee(1000)).await.unwrap();
    let error = db.backup(path("backup")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied, "{error}");
    let error = Database::restore(path("backup"), path("restored")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied, "a restore overwrites nothing: {error}");
    let error = Database::in_memory::<Company>().await.unwrap().backup(path("none")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("export"), "{error}");
}

/// A folder with a database, `live`, and its backup, `backup`, whose bytes are given too.
async fn backed_up() -> (tempfile::TempDir, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let db = Database::open::<Company>(path("live")).await.unwrap();
    db.ensure_tables().await.unwrap();
    let report = db.bulk().insert_all(stream::iter((0..500).map(employee))).await.unwrap();
    assert_eq!(report.failed.len(), 0);
    db.backup(path("backup")).await.unwrap();
    db.close().await.unwrap();
    let whole = std::fs::read(path("backup")).unwrap();
    (directory, whole)
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_leaves_no_file() {
    let (directory, whole) = backed_up().await;
    let path = |name: &str| directory.path().join(name);
    let mut scrambled = whole.clone();
    let middle = scrambled.len() / 2;
    // A scrambled file must be told, or give back every row: some pages of a file are free.
    scrambled[middle..].iter_mut().for_each(|byte| *byte ^= 0x55);
    let cut = whole[..whole.len() / 3].to_vec();
    let damaged = [
        ("scrambled", scrambled, ErrorKind::Corrupt),
        ("cut", cut, ErrorKind::Denied),
        ("text", b"no store".to_vec(), ErrorKind::Corrupt),
    ];
    for (name, bytes, kind) in damaged {
        std::fs::write(path(name), bytes).unwrap();
        let error = Database::restore(path(name), path("restored")).await.unwrap_err();
        assert_eq!(*error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(name) && !error.to_string().contains("for writing"), "{error}");
        assert!(!path("restored").exists(), "{name}");
    }
}

#[tokio::test]
async fn what_cannot_be_restored_is_named_with_what_to_do() {
    let (directory, whole) = backed_up().await;
    let path = |name: &str| directory.path().join(name);
    let mut damages = 0;
    for at in (whole.len() / 4..whole.len()).step_by(whole.len() / 16) {
        let mut damaged = whole.clone();
        damaged[at..at + 256].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(path("damaged"), damaged).unwrap();
        let Err(error) = Database::restore(path("damaged"), path("restored")).await else {
            std::fs::remove_file(path("restored")).unwrap(); // what was changed is of no row
            continue;
        };
        damages += 1;
        let told = error.to_string();
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{told}");
        assert!(told.contains("damaged: ") && told.contains("restore another"), "{told}");
        assert!(!path("restored").exists());
    }
    assert!(damages > 3, "{damages}");
    std::fs::create_dir(path("folder")).unwrap();
    for (name, words) in [("nowhere", "give a backup's path"), ("folder", "give the path of a file")] {
        let error = Database::restore(path(name), path("restored")).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains(name) && error.to_string().contains(words), "{error}");
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(!cause.contains("create the store"), "{cause}");
    }
    let error = Database::restore(path("backup"), path("live")).await.unwrap_err();
    assert!(error.to_string().contains("copy to") && error.to_string().contains("give another"), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let db = Database::open::<Company>(path("live")).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&employee(1)).await.unwrap();
    let error = Database::open::<Company>(path("live")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("live") && error.to_string().contains("open"), "{error}");
    std::fs::copy(path("live"), path("copied")).unwrap();
    let error = Database::restore(path("copied"), path("restored")).await.unwrap_err();
    assert!(error.to_string().contains("take another by `backup`"), "{error}");
    assert!(std::error::Error::source(&error).is_none(), "one remedy: {error:?}");
    drop(db);
    let reader = Database::builder().read_only().open::<Company>(path("live")).await.unwrap();
    assert!(Employee::find().department("d1/ä").id(1).exists(&reader).await.unwrap());
    let refused = reader.insert(&employee(2)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.entity()), (&ErrorKind::Denied, Some("Employee")), "{refused}");
    assert!(refused.key().is_some_and(|key| key.row.ends_with("000002")) && refused.to_string().contains("read_only"));
    drop(reader);
    std::fs::write(path("foreign"), "SQLite format 3\0".repeat(100)).unwrap();
    let error = Database::open::<Company>(path("foreign")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("foreign"), "{error}");
    assert!(std::fs::read(path("foreign")).unwrap().starts_with(b"SQLite"), "left as it was");
    let missing = Database::builder().read_only().open::<Company>(path("missing")).await;
    assert_eq!(*missing.unwrap_err().kind(), ErrorKind::Denied);
    assert!(!path("missing").exists(), "opening to read makes no file");
}

/// The only thread for long work is taken: what waits for it is not done by who polls.
#[test]
fn files_are_opened_on_a_thread_for_long_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("other"), "no store").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let taken = tokio::task::spawn_blocking(move || released.recv());
        let mut restored = std::pin::pin!(Database::restore(path("other"), path("restored")));
        let mut opened = std::pin::pin!(Database::open::<Company>(path("other")));
        let waits = std::future::poll_fn(|context| {
            let waits = [restored.as_mut().poll(context).is_pending(), opened.as_mut().poll(context).is_pending()];
            std::task::Poll::Ready(waits)
        });
        assert_eq!(waits.await, [true, true], "a file was opened while the thread for it is taken");
        release.send(()).unwrap();
        taken.await.unwrap().unwrap();
        assert_eq!(*restored.await.unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(*opened.await.unwrap_err().kind(), ErrorKind::Corrupt);
    });
}
