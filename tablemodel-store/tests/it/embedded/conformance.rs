//! The embedded store under the suite that every store passes.
//!
//! Each clause gets a store in a file of its own.

use std::sync::Arc;

use tablemodel_store::{EmbeddedStore, TableStore, conformance_tests};

async fn make() -> Arc<dyn TableStore> {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path().join("store")).unwrap();
    // An open file outlives its name.
    Arc::new(store)
}

conformance_tests!(make);
