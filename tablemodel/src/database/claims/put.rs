//! Claims that a writer put itself, and gives back where its write is known not to have happened.
//!
//! A claim that was pending for the entity before is another writer's too, who may be about to write the entity with the value: it
//! is left. Any other is taken away under the ETag that this writer left it with, so that whoever wrote it since keeps it.

use futures_util::{StreamExt, stream};
use tablemodel_store::{Action, Batch, Condition, ETag, Receipts, RowKey};

use crate::database::Database;

/// Claims that are given back at the same time.
const CONCURRENT_CLAIMS: usize = 8;

/// The claims that a writer put, and nobody else counts on.
#[derive(Debug, Default)]
pub(in crate::database) struct Put(Vec<Claimed>);

#[derive(Debug)]
struct Claimed {
    table: String,
    key: RowKey,
    etag: ETag,
}

impl Put {
    /// Whether the claim is as this writer put it.
    pub(super) fn left(&self, table: &str, key: &RowKey, etag: &ETag) -> bool {
        self.0.iter().any(|claimed| claimed.table == table && claimed.key == *key && claimed.etag == *etag)
    }

    /// Notes that this writer put the claim.
    pub(super) fn note(&mut self, table: &str, key: &RowKey, receipts: &[Receipts]) {
        self.0.retain(|claimed| claimed.table != table || claimed.key != *key);
        let written = receipts.first().and_then(|batch| batch.first());
        if let Some(etag) = written.and_then(|written| written.etag.clone()) {
            self.0.push(Claimed { table: table.to_owned(), key: key.clone(), etag });
        }
    }
}

impl Database {
    /// Gives the claims back of a write that is known not to have happened. Cost: a write for each of them.
    pub(in crate::database) async fn give_claims_back(&self, put: Put) {
        let given: Vec<_> = put.0.iter().map(|claimed| self.give_claim_back(claimed)).collect();
        stream::iter(given).buffer_unordered(CONCURRENT_CLAIMS).collect::<()>().await;
    }

    async fn give_claim_back(&self, Claimed { table, key, etag }: &Claimed) {
        let gone = Action::Delete(Condition::Match(etag.clone()));
        let batch = Batch::new(table, key.partition.clone()).with(key.row.clone(), gone);
        if let Err(error) = self.race(batch, 0).await {
            tracing::warn!(%key, %error, "a unique value that nobody has is free again in a minute");
        }
    }
}
