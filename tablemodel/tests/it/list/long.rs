//! Long lists: cut into chunks, so that a change rewrites the first row and one of them.

use futures_util::FutureExt;
use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey, ValueRef,
    prelude::*,
    store::fault::{Call, Request},
    testing::{Fault, FaultPlan, TestDatabase},
};

use super::{Model, Worker, assert_exact, at, database, expected, list_rows, read, rows_in, worker, workers};
use crate::stall::Program;

/// A worker that is in one list beside the entity, and has a key of about 900 characters.
fn long(id: u32) -> Worker {
    Worker { tag: "t".repeat(890), skills: vec![], badge: None, ..worker(id) }
}

async fn chunks(db: &TestDatabase) -> Vec<String> {
    let rows = list_rows(db).await.into_iter().map(|(_, row)| row);
    rows.filter(|row| row.contains(" ~~")).collect()
}

fn bytes(properties: &Properties) -> usize {
    properties.iter().map(|(_, value)| if let ValueRef::String(text) = value { text.len() } else { 8 }).sum()
}

#[tokio::test]
async fn a_list_grows_into_chunks_and_shrinks_to_nothing_in_any_order() {
    let orders: [fn(u32) -> u32; 3] = [|n| n, |n| 59 - n, |n| n * 37 % 60];
    for (number, order) in orders.into_iter().enumerate() {
        let db = database(Consistency::Atomic).await;
        for n in 0..60 {
            db.insert(&long(order(n))).await.unwrap();
            if n % 7 == 0 {
                assert_exact(&db, &format!("order {number}, {n} inserted")).await;
            }
        }
        assert!(chunks(&db).await.len() >= 4, "{:?}", chunks(&db).await);
        assert_exact(&db, &format!("order {number}")).await;
        for n in 0..60 {
            let there = at!(long((n * 23) % 60)).one(&db).await.unwrap().unwrap();
            db.delete(there).await.unwrap();
            assert_exact(&db, &format!("order {number}, {n} deleted")).await;
        }
        assert_eq!(list_rows(&db).await, []);
    }
}

/// The last chunk loses its last key to another program while one reads the list to put a key there.
#[tokio::test]
async fn a_chunk_that_goes_while_its_list_is_read_is_no_damage() {
    let db = database(Consistency::Azure).await;
    for id in 100..160 {
        db.insert(&long(id)).await.unwrap();
    }
    let before = chunks(&db).await.len();
    for id in (100..160).rev() {
        for at in 0.. {
            let told = format!("{id} goes before call {at}");
            let raced = db.fork().expect("in memory");
            let other = raced.database().clone();
            let gone = async move {
                let last = at!(long(id)).one(&other).await.unwrap().unwrap();
                other.delete(last).await.unwrap();
            };
            let program = Program::stalling::<Model>(&raced, at, gone.boxed()).await;
            program.db.insert(&long(999)).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_exact(&raced, &told).await;
            if !program.has_stalled() {
                break;
            }
        }
        let last = at!(long(id)).one(&db).await.unwrap().unwrap();
        db.delete(last).await.unwrap();
        if chunks(&db).await.len() < before {
            return;
        }
    }
    panic!("no chunk went");
}

/// The chunk had the key when it was read, and none when its list was written: so it was left alone.
#[tokio::test]
async fn what_is_inserted_while_it_is_deleted_is_in_its_long_list() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let base = database(mode).await;
        for id in 100..160 {
            base.insert(&long(id)).await.unwrap();
        }
        assert!(chunks(&base).await.len() > 2);
        for at in 0.. {
            let raced = base.fork().expect("in memory");
            let other = raced.reopen::<Model>().await.unwrap();
            let gone = async move {
                let there = at!(long(130)).one(&other).await.unwrap().unwrap();
                other.delete(there).await.unwrap();
            };
            let program = Program::stalling_in::<Model>(mode, &raced, at, gone.boxed()).await;
            let inserted = program.db.insert(&long(130)).await;
            if !program.has_stalled() {
                assert!(at > 1, "{at} calls");
                break;
            }
            assert!(at > 0 || inserted.is_ok(), "{mode:?}: {inserted:?}");
            super::settle(&raced).await;
            assert_exact(&raced, &format!("{mode:?}, deleted before call {at}")).await;
        }
    }
}

/// The same beside one who reads the list, in pages of two rows: no page comes for a chunk that has gone.
#[tokio::test]
async fn a_chunk_that_goes_between_pages_of_its_list_is_no_damage() {
    let db = database(Consistency::Azure).await;
    let path = || Worker::by_name().department(&long(0).department).name(&long(0).name);
    for id in 100..160 {
        db.insert(&long(id)).await.unwrap();
        if chunks(&db).await.len() == 2 {
            break;
        }
    }
    while chunks(&db).await.len() == 2 {
        let before = path().keys(&db).await.unwrap();
        let last = db.get::<Worker>(before.last().expect("one")).await.unwrap().expect("there");
        for at in 0.. {
            let raced = db.fork().expect("in memory");
            raced.fail(TwoByTwo);
            let (other, last) = (raced.database().clone(), last.clone());
            let gone = async move { other.delete(last).await.unwrap() };
            let program = Program::stalling::<Model>(&raced, at, gone.boxed()).await;
            let keys = path().keys(&program.db).await.unwrap_or_else(|error| panic!("before call {at}: {error:?}"));
            assert!(keys == before || keys == before[..before.len() - 1], "before call {at}: {keys:?}");
            if !program.has_stalled() {
                break;
            }
        }
        db.delete(last).await.unwrap();
    }
}

struct TwoByTwo;

impl FaultPlan for TwoByTwo {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        matches!(call.request, Request::Query(_)).then_some(Fault::ShortPage { rows: 2 })
    }
}

/// The keys come in order also where chunks were emptied and cut again.
#[tokio::test]
async fn chunks_that_were_emptied_leave_their_range_to_others() {
    let db = database(Consistency::Atomic).await;
    for id in 100..160 {
        db.insert(&long(id)).await.unwrap();
    }
    for id in 100..120 {
        let there = at!(long(id)).one(&db).await.unwrap().unwrap();
        db.delete(there).await.unwrap();
    }
    for id in (0..60).rev() {
        db.insert(&long(id)).await.unwrap();
        assert_exact(&db, &format!("{id}")).await;
    }
}

#[tokio::test]
async fn a_batch_changes_several_chunks_and_lists_at_once() {
    let db = database(Consistency::Azure).await;
    for start in [0, 40] {
        let mut batch = db.batch(Worker::in_partition("A"));
        for id in start..start + 40 {
            batch.insert(&long(id));
        }
        batch.commit().await.unwrap();
    }
    assert_exact(&db, "inserted by forties").await;
    let mut movers = Worker::by_name().department("A").name("Jones").all(&db).await.unwrap();
    movers.retain(|worker| worker.id % 2 == 0);
    let mut batch = db.batch(Worker::in_partition("A"));
    for mover in &mut movers {
        mover.name = "Smith".into();
        batch.save(mover);
    }
    batch.commit().await.unwrap();
    assert_eq!(Worker::by_name().department("A").name("Smith").count(&db).await.unwrap(), 40);
    assert_exact(&db, "half moved").await;
}

/// One list, and nothing else.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Plain", partition = "{department}", row = "empid_{id:06}", list(by_name, row = "n_{name}"))]
struct Plain {
    department: String,
    id: u32,
    name: String,
}

#[derive(TableModel)]
enum Plains {
    Plain(Plain),
}

fn plain(id: u32) -> Plain {
    Plain { department: "A".into(), id, name: "Jones".into() }
}

/// The figure: what a change of a list of fifty thousand keys reads and writes.
#[tokio::test]
async fn fifty_thousand_keys_in_one_list_and_one_more_touches_two_rows() {
    let db = TestDatabase::atomic::<Plains>().await.unwrap();
    let all = futures_util::stream::iter((0..50_000).map(|n| plain(n * 7 % 50_000)));
    let report = db.bulk().insert_all(all).await.unwrap().into_result().unwrap();
    assert_eq!(report.written, 50_000);
    let path = || Plain::by_name().department("A").name("Jones");
    assert_eq!(path().count(&db).await.unwrap(), 50_000);
    let keys = path().keys(&db).await.unwrap();
    assert_eq!(keys.len(), 50_000);
    assert!(keys.is_sorted());

    let before = rows_in(&*db.store(), "Plain").await;
    db.forget_calls();
    let there = Plain::find().department("A").id(25_000).one(&db).await.unwrap().unwrap();
    db.delete(there).await.unwrap();
    assert_eq!(db.tally().to_string(), "3 point reads, 1 commit of 3 operations, 0 scans"); // one of the entity
    db.insert(&plain(25_000)).await.unwrap();
    let after = rows_in(&*db.store(), "Plain").await;
    let changed: Vec<_> =
        after.iter().filter(|(key, row)| key.1.starts_with("n_") && before.get(*key) != Some(*row)).collect();
    assert_eq!(changed.len(), 2, "the first row and a chunk");
    let written: usize = changed.iter().map(|(_, row)| bytes(row)).sum();
    assert!(written < 20_000, "{written} bytes");
    assert_eq!(path().count(&db).await.unwrap(), 50_000);
}

#[tokio::test]
async fn a_list_beyond_what_its_first_row_can_name_is_refused_before_anything_is_written() {
    let db = database(Consistency::Atomic).await;
    let mut inserted = 0;
    let error = loop {
        let mut batch = db.batch(Worker::in_partition("A"));
        for id in inserted..inserted + 30 {
            // Keys that differ at their end only: what tells chunks apart is as long as the key.
            batch.insert(&Worker { tag: "t".repeat(1_000), city: format!("c{}", id), name: "J".into(), ..long(id) });
        }
        match batch.commit().await {
            Ok(()) => inserted += 30,
            Err(error) => break error,
        }
        assert!(inserted < 5_000, "no limit was met");
    };
    assert_eq!(error.kind(), &ErrorKind::TooLarge);
    assert_eq!(error.entity(), Some("Worker"));
    assert!(error.to_string().contains("list `by_name` would hold"), "{error}");
    assert_eq!(error.key(), Some(&RowKey::new("A", "n_J")));
    assert_eq!(workers(&db).await.len(), inserted as usize);
    let wanted = expected(&workers(&db).await);
    assert_eq!(read(&db, wanted.keys().cloned()).await, wanted);
}
