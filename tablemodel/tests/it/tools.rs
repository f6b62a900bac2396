//! What tests of several areas need: the rows of a store, a relay that has nothing left to do, one that never came, a runtime, a watch.
//!
//! No test stands here.

use std::{
    collections::BTreeMap,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use tablemodel::{
    Consistency, Properties, Row, TableModel,
    store::{
        KeyRange, Query, TableStore, TableStoreExt,
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
