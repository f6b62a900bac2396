//! What tests of several areas need: the rows of a store, all that remains of one, a relay that has nothing left to do, one that never
//! came, a runtime, a watch.
//!
//! No test stands here.

use std::{
    collections::BTreeMap,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use futures_util::TryStreamExt;
use tablemodel::{
    Consistency, DateTime, Properties, Row, TableModel,
    blob::object_store::ObjectStoreExt,
    store::{
        KeyRange, Query, TableStore, TableStoreExt,
        clock::Clock,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan, TestDatabase},
};

/// The physical rows of a table by partition and row key, as the port gives them.
pub(crate) async fn rows_of(store: &dyn TableStore, table: &str) -> BTreeMap<(String, String), Row> {
    let rows = store.query_all(&Query::new(table, KeyRange::table())).await.expect("the table is read");
    rows.into_iter().map(|row| ((row.key.partition.clone(), row.key.row.clone()), row)).collect()
}

/// Rows by table, partition and row key.
pub(crate) type Rows = BTreeMap<(String, String, String), Properties>;

/// Those of a table.
pub(crate) async fn rows_in(store: &dyn TableStore, table: &str) -> Rows {
    let named =
        |((partition, row), found): ((String, String), Row)| ((table.to_owned(), partition, row), found.properties);
    rows_of(store, table).await.into_iter().map(named).collect()
}

/// The objects of a database, by their paths.
pub(crate) async fn objects_of(db: &TestDatabase) -> BTreeMap<String, Vec<u8>> {
    let (blobs, mut objects) = (db.blob_store(), BTreeMap::new());
    let listed: Vec<_> = blobs.list(None).try_collect().await.expect("listed");
    for object in listed {
        let content = blobs.get(&object.location).await.expect("there").bytes().await.expect("read");
        objects.insert(object.location.to_string(), content.to_vec());
    }
    objects
}

/// All that is stored, but for ETags and times of writing, and when that is: programs that begin with the same go the same way.
#[derive(PartialEq)]
pub(crate) struct Remains {
    now: DateTime,
    rows: Rows,
    objects: BTreeMap<String, Vec<u8>>,
}

impl Remains {
    pub(crate) async fn of(db: &TestDatabase) -> Self {
        let (store, mut rows) = (db.store(), Rows::new());
        for table in store.list_tables().await.expect("listed") {
            rows.extend(rows_in(&*store, &table).await);
        }
        Self { now: db.clock().now(), rows, objects: objects_of(db).await }
    }
}

/// What came of what remained, so that it is found out once for all calls and faults that leave the same.
pub(crate) struct Outcomes<T>(Vec<(Remains, T)>);

impl<T> Outcomes<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// What comes of what the database holds, as `found` finds out where it is not known.
    pub(crate) async fn of(&mut self, db: &TestDatabase, found: impl Future<Output = T>) -> &T {
        let remains = Remains::of(db).await;
        let at = match self.0.iter().position(|(known, _)| *known == remains) {
            Some(at) => at,
            None => {
                self.0.push((remains, found.await));
                self.0.len() - 1
            }
        };
        &self.0[at].1
    }
}

/// Past the time that relays leave to writers, and past every pause after a failure.
pub(crate) async fn settle(db: &TestDatabase) {
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(60));
        if db.relay().run_once().await.expect("the relay runs").is_settled() {
            return;
        }
    }
    panic!("the relay does not settle: {:?}", db.relay().poisoned().await);
}

/// Crashes at the first read of an outbox row: delivery begins with it.
pub(crate) struct DieInDelivery;

impl FaultPlan for DieInDelivery {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Get(_, key) if key.row.starts_with("~~out|") => Some(Fault::CrashBefore),
            _ => None,
        }
    }
}

/// The same rows in a store of their own, an hour later, as an export leaves them that came past the markers of partitions once relays
/// had taken these away.
pub(crate) async fn unmarked<M: TableModel>(db: &TestDatabase, mode: Consistency) -> TestDatabase {
    let mut lines = Vec::new();
    db.export(&mut lines).await.expect("exported");
    let lines = String::from_utf8(lines).expect("text");
    let is_marker = |line: &&str| line.contains("\"odata.table\":\"tmdirty\"");
    let (markers, rows): (Vec<_>, Vec<_>) = lines.lines().partition(is_marker);
    assert!(!markers.is_empty(), "no partition was marked");
    let copy = crate::migrate::store_of::<M>(mode).await;
    copy.drop_tables().await.expect("empty");
    copy.import(rows.join("\n").as_bytes()).await.expect("imported");
    copy.ensure_tables().await.expect("ensured");
    copy.clock().advance(Duration::from_secs(3_600));
    copy
}

/// For tests that are no futures, in which time does not pass by itself.
pub(crate) fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

/// The test on a thread of its own, which is left behind where it does not end: for what may go on for ever without a pause.
pub(crate) fn within_a_minute<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let (ends, ended) = channel();
    let run = thread::spawn(move || {
        block_on(test());
        ends.send(()).expect("somebody waits");
    });
    if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("it does not end");
    }
    run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
