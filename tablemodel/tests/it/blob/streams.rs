//! Streams in and out: pieces of any size, parts of 8 MiB, and what is told when one of them fails.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::{Stream, StreamExt, stream};
use tablemodel::{
    DateTime, ErrorKind,
    blob::{Bytes, object_store},
    store::clock::{Clock, ManualClock},
};

use super::{faulty::Course, *};

const MIB: usize = 1024 * 1024;

type Piece = Result<Bytes, std::io::Error>;

fn pieces(count: usize, size: usize) -> impl Stream<Item = Piece> + Send + 'static {
    stream::iter((0..count).map(move |n| Ok(Bytes::from(vec![n as u8; size]))))
}

#[tokio::test]
async fn a_stream_goes_in_by_parts_and_comes_out_by_pieces() {
    let (db, blobs) = faulty().await;
    blobs.heal();
    let film = Some(Blob::from_stream(pieces(40, MIB)));
    let entity = Person { film, ..person("a", b"") };
    let stored = db.insert(&entity).await.unwrap();
    assert_eq!(blobs.calls(), 1 + 5 + 1, "begun, five parts, completed");
    assert_eq!(entity.film.as_ref().unwrap().length(), Some(40 * MIB as u64), "the handle knows it now");
    blobs.heal();
    let mut seen = 0;
    let mut stream = stored.film.as_ref().unwrap().stream(&db);
    while let Some(piece) = stream.try_next().await.unwrap() {
        assert!(piece.len() <= 8 * MIB);
        for part in piece.chunks(MIB) {
            assert!(part.iter().all(|byte| *byte as usize == seen));
            seen += 1;
        }
    }
    assert_eq!((seen, blobs.calls()), (40, 5));
    let whole = stored.film.as_ref().unwrap().bytes(&db).await.unwrap();
    assert_eq!(whole.len(), 40 * MIB);
    assert_eq!(entity.film.as_ref().unwrap().bytes(&db).await.unwrap(), whole);
}

#[tokio::test]
async fn a_content_of_whole_parts_has_no_empty_one() {
    for (mibs, streamed) in [(8, false), (8, true), (16, false), (16, true)] {
        let (db, _) = faulty().await;
        let film = match streamed {
            true => Blob::from_stream(pieces(mibs, MIB).chain(stream::iter([Ok(Bytes::new())]))),
            false => Blob::from(vec![7; mibs * MIB]),
        };
        let stored = db.insert(&Person { film: Some(film), ..person("a", b"") }).await.unwrap();
        let film = read(&db, "a").await.film.clone().unwrap();
        assert_eq!(film.bytes(&db).await.unwrap().len(), mibs * MIB, "{streamed}");
        assert_eq!(stored.film.as_ref(), Some(&film));
    }
}

#[tokio::test]
async fn memory_holds_one_part_at_a_time() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    struct Counted(Vec<u8>);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(self.0.len(), Ordering::SeqCst);
        }
    }
    let piece = |_| -> Piece {
        let alive = ALIVE.fetch_add(MIB, Ordering::SeqCst) + MIB;
        MOST.fetch_max(alive, Ordering::SeqCst);
        Ok(Bytes::from_owner(Counted(vec![0; MIB])))
    };
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open::<People>(folder.path().join("db")).await.unwrap();
    db.ensure_tables().await.unwrap();
    let film = Some(Blob::from_stream(stream::iter(0..100).map(piece)));
    db.insert(&Person { film, ..person("a", b"") }).await.unwrap();
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    let most = MOST.load(Ordering::SeqCst) / MIB;
    assert!(most <= 16, "{most} MiB of 100 were in memory at once");
}

#[tokio::test]
async fn a_short_stream_is_kept_in_the_row() {
    let db = database().await;
    for (length, is_blob) in [(0, false), (15, false), (16, true)] {
        let portrait = Blob::from_stream(pieces(length, 1));
        let name = format!("n{length}");
        let stored = db.insert(&Person { portrait, ..person(&name, b"") }).await.unwrap();
        assert_eq!((stored.portrait.name().is_some(), stored.portrait.length()), (is_blob, Some(length as u64)));
    }
}

#[tokio::test]
async fn a_stream_that_fails_fails_the_write() {
    let (db, blobs) = faulty().await;
    for (good, calls) in [(0, 0), (1, 0), (20, 1 + 2 + 1)] {
        blobs.heal();
        let broken = pieces(good, MIB).chain(stream::iter([Err(std::io::Error::other("cable cut"))]));
        let portrait = Blob::from_stream(broken);
        let entity = Person { portrait, ..person("a", b"") };
        let error = db.insert(&entity).await.unwrap_err();
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Invalid, Some("Person")));
        assert!(format!("{error:?}").contains("cable cut"), "{error:?}");
        assert_eq!(blobs.calls(), calls, "begun, two parts, aborted");
        let error = db.insert(&entity).await.unwrap_err();
        assert!(error.to_string().contains("make the blob anew"), "{error}");
    }
    assert!(names_in(&*db.blob_store()).await.is_empty());
    assert!(Person::find().team("A").all(&db).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_stream_outlives_a_refused_write() {
    let (db, blobs) = faulty().await;
    let there = db.insert(&person("a", b"")).await.unwrap();
    blobs.heal();
    let entity = Person { film: Some(Blob::from_stream(pieces(3, 100))), ..person("a", b"") };
    assert_eq!(db.insert(&entity).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    db.delete(there).await.unwrap();
    db.insert(&entity).await.unwrap();
    assert_eq!(blobs.calls(), 1, "what was uploaded a moment ago is linked");
    let content = read(&db, "a").await.film.clone().unwrap().bytes(&db).await.unwrap();
    assert_eq!(content.len(), 300);

    db.clock().advance(GRACE / 2);
    db.delete(read(&db, "a").await).await.unwrap();
    db.insert(&entity).await.unwrap();
    assert_eq!(blobs.calls(), 1 + 3, "an older upload is fetched, and uploaded anew: fetched once above");
    assert_eq!(read(&db, "a").await.film.clone().unwrap().bytes(&db).await.unwrap(), content);
}

#[tokio::test]
async fn one_handle_may_be_in_several_fields_and_entities() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open::<People>(folder.path().join("db")).await.unwrap();
    db.ensure_tables().await.unwrap();
    for length in [3, 1_000] {
        let (one, two) = (format!("one{length}"), format!("two{length}"));
        let handle = Blob::from_stream(pieces(length, 1));
        let with = |name: &str| Person { portrait: handle.clone(), film: Some(handle.clone()), ..person(name, b"") };
        let mut batch = db.batch(Person::in_partition("A"));
        batch.insert(&with(&one)).insert(&with(&two));
        batch.commit().await.unwrap_or_else(|error| panic!("{length}: {error:?}"));
        for name in [&one, &two] {
            let stored = read(&db, name).await;
            for blob in [&stored.portrait, stored.film.as_ref().unwrap()] {
                assert_eq!(blob.bytes(&db).await.unwrap().len(), length, "{name}");
            }
        }
    }
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_short_stream_outlives_a_refused_write_too() {
    let db = database().await;
    let there = db.insert(&person("a", b"")).await.unwrap();
    let entity = Person { portrait: Blob::from_stream(pieces(3, 1)), ..person("a", b"") };
    assert_eq!(db.insert(&entity).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    db.delete(there).await.unwrap();
    db.insert(&entity).await.unwrap();
    assert_eq!(read(&db, "a").await.portrait.bytes(&db).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_stream_of_another_blob_can_be_written() {
    let db = database().await;
    let one = db.insert(&person("one", &large(1))).await.unwrap();
    let film = Some(Blob::from_stream(one.portrait.stream(&db)));
    let two = db.insert(&Person { film, ..person("two", b"") }).await.unwrap();
    assert_eq!(two.film.clone().unwrap().bytes(&db).await.unwrap(), large(1));
}

#[tokio::test]
async fn an_unwritten_stream_has_no_content() {
    let db = database().await;
    let blob = Blob::from_stream(pieces(1, 1));
    assert_eq!(blob.bytes(&db).await.unwrap_err().kind(), &ErrorKind::Invalid);
    let told: Vec<_> = blob.stream(&db).collect().await;
    assert!(matches!(told.as_slice(), [Err(error)] if error.kind() == &ErrorKind::Invalid));
}

#[tokio::test]
async fn an_upload_slower_than_half_the_grace_is_not_linked() {
    let db = database().await;
    for (minutes, is_linked) in [(29, true), (30, false)] {
        let clock = db.clock().clone();
        let slow = stream::once(async move {
            clock.advance(Duration::from_secs(minutes * 60));
            Ok::<_, std::io::Error>(Bytes::from_static(b"late"))
        });
        let entity = Person { film: Some(Blob::from_stream(Box::pin(slow))), ..person(&minutes.to_string(), b"") };
        let written = db.insert(&entity).await;
        assert_eq!(written.is_ok(), is_linked, "{written:?}");
        if let Err(error) = written {
            assert_eq!(error.kind(), &ErrorKind::Unavailable);
            assert!(error.to_string().contains("blob_grace"), "{error}");
        }
    }
}

/// The clock of a machine that is set back as fast as it goes.
#[derive(Clone)]
struct SetBack(ManualClock, Arc<AtomicU64>);

impl Clock for SetBack {
    fn now(&self) -> DateTime {
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic() + Duration::from_secs(self.1.load(Ordering::Relaxed))
    }
}

#[tokio::test]
async fn an_upload_of_long_ago_is_not_linked_though_the_clock_was_set_back_since() {
    let (db, blobs) = faulty().await;
    let (there, passed) = (db.insert(&person("a", b"")).await.unwrap(), Arc::default());
    let clock = SetBack(db.clock().clone(), Arc::clone(&passed));
    let builder = Database::builder().clock(Arc::new(clock)).blobs(blobs.clone());
    let program = builder.with_store::<People>(db.store()).await.unwrap();
    let entity = Person { film: Some(Blob::from_stream(pieces(3, 100))), ..person("a", b"") };
    assert_eq!(program.insert(&entity).await.unwrap_err().kind(), &ErrorKind::AlreadyExists);
    let uploaded = names_in(&*blobs).await;
    assert_eq!(uploaded.len(), 1);
    passed.store(GRACE.as_secs() / 2, Ordering::Relaxed);
    db.delete(there).await.unwrap();
    program.insert(&entity).await.unwrap();
    let linked = linked(&db).await;
    assert_eq!((linked.len(), linked.is_disjoint(&uploaded)), (1, true), "{linked:?} {uploaded:?}");
}

/// A stream that waits a few times before it ends, told of by how many are being read.
fn slow(counted: &Arc<[AtomicUsize; 2]>) -> impl Stream<Item = Piece> + Send + 'static {
    let counted = Arc::clone(counted);
    stream::once(async move {
        let [now, most] = &*counted;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        now.fetch_sub(1, Ordering::SeqCst);
        Ok(Bytes::from_static(b"reel"))
    })
}

#[tokio::test]
async fn bulk_reads_few_streams_at_once() {
    let db = database().await;
    let counted = Arc::default();
    let films = (0..40).map(|n| {
        let film = Some(Blob::from_stream(slow(&counted)));
        Person { team: format!("T{n}"), film, ..person("a", b"") }
    });
    let films: Vec<_> = films.collect();
    let report = db.bulk().insert_all(stream::iter(films)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (40, 0));
    let most = counted[1].load(Ordering::SeqCst);
    assert!((2..=9).contains(&most), "64 MiB, of 8 for each: {most}");
}

/// Of which the load tells why, also where it wrote the others without it.
#[tokio::test]
async fn a_load_says_why_a_stream_failed_and_writes_the_others() {
    let db = database().await;
    let broken = || Blob::from_stream(stream::iter([Piece::Err(std::io::Error::other("cable cut"))]));
    let films: Vec<_> = (0..5_u8)
        .map(|n| Person {
            film: Some(if n == 3 { broken() } else { Blob::from_stream(pieces(1, 100)) }),
            ..person(&format!("n{n}"), b"")
        })
        .collect();
    let report = db.bulk().insert_all(stream::iter(films)).await.unwrap();
    assert_eq!(report.written, 4, "{report:?}");
    let [failed] = report.failed.as_slice() else { panic!("{report:?}") };
    assert_eq!((failed.kind(), failed.key().map(|key| key.row.as_str())), (&ErrorKind::Invalid, Some("p_n3")));
    let causes = std::iter::successors(std::error::Error::source(failed), |cause| cause.source());
    assert!(causes.last().is_some_and(|cause| cause.to_string().contains("cable cut")), "{failed:?}");
}

/// Its place may not be everybody's to write.
#[tokio::test]
async fn a_blob_that_is_refused_is_no_matter_of_the_others_of_a_load() {
    let refusing = |inner| Arc::new(FaultyBlobs::by(inner, Refusing::default())) as Arc<dyn ObjectStore>;
    let db = database().await.with_blobs::<People>(refusing).await.unwrap();
    let people: Vec<_> = (0..5_u8).map(|n| person(&format!("n{n}"), &large(n))).collect();
    let report = db.bulk().insert_all(stream::iter(people)).await.unwrap();
    assert_eq!((report.written, report.failed.len()), (5, 0), "once alone it is taken: {report:?}");
}

/// Refuses the third call.
#[derive(Debug, Default)]
struct Refusing(AtomicUsize);

#[async_trait::async_trait]
impl Course for Refusing {
    async fn goes_on(&self) -> Result<(), object_store::Error> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            4 => Err(object_store::Error::PermissionDenied { path: "people".into(), source: "it is another's".into() }),
            _ => Ok(()),
        }
    }
}

/// Memory bounds how many are uploaded at a time, and not what is one batch.
#[tokio::test]
async fn bulk_writes_as_many_streams_in_one_batch_as_it_uploads_at_a_time() {
    let db = database().await;
    let films: Vec<_> = (0..24)
        .map(|n| Person { film: Some(Blob::from_stream(pieces(1, 100))), ..person(&format!("n{n:02}"), b"") })
        .collect();
    db.forget_calls();
    let report = db.bulk().insert_all(stream::iter(films)).await.unwrap();
    assert_eq!((report.written, db.tally().commits), (24, 3));
}

#[tokio::test]
async fn a_stream_that_fails_spoils_no_other_of_its_batch() {
    let db = database().await;
    let counted = Arc::default();
    let broken = Blob::from_stream(stream::iter([Piece::Err(std::io::Error::other("cable cut"))]));
    let films = [Blob::from_stream(slow(&counted)), broken, Blob::from_stream(slow(&counted))];
    let people: Vec<_> =
        (0_u8..).zip(films).map(|(n, film)| Person { film: Some(film), ..person(&format!("n{n}"), b"") }).collect();
    let mut batch = db.batch(Person::in_partition("A"));
    for person in &people {
        batch.insert(person);
    }
    let error = batch.commit().await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::Invalid, Some(1)), "{error:?}");
    for sound in [&people[0], &people[2]] {
        db.insert(sound).await.unwrap();
        let film = read(&db, &sound.name).await.film.clone().unwrap();
        assert_eq!(film.bytes(&db).await.unwrap().as_ref(), b"reel");
    }
}
