//! The embedded store under the suite that every store passes.
//!
//! Each clause gets a store in a file of its own.

use std::sync::Arc;

use tablemodel_store::{
    Continuation, EmbeddedStore, KeyRange, MemoryStore, Query, StoreErrorKind, TableStore, conformance_tests,
};

async fn make() -> Arc<dyn TableStore> {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path().join("store")).unwrap();
    // An open file outlives its name.
    Arc::new(store)
}

conformance_tests!(make);

#[tokio::test]
async fn a_continuation_of_nobody_is_refused_as_in_memory_also_where_there_is_no_table() {
    let mut query = Query::new("Missing", KeyRange::table());
    query.continuation = Some(Continuation::new("nobody's"));
    for store in [make().await, Arc::new(MemoryStore::new()) as Arc<dyn TableStore>] {
        assert_eq!(store.query(&query).await.unwrap_err().kind(), StoreErrorKind::InvalidInput);
    }
}
