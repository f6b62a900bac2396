//! Clauses for stores that commit one batch at a time.
//!
//! Stores that declare `atomic_across` have clauses of their own.

use super::{
    Broken,
    bench::{Bench, n},
    broken::{ensure_eq, refused},
};
use crate::{Action, StoreErrorKind::Unsupported};

pub(super) async fn several_batches_are_unsupported_and_write_nothing(bench: &Bench) -> Result<(), Broken> {
    let table = bench.table().await?;
    let batches = ["p", "q"].map(|partition| table.batch(partition).with("r", Action::Insert(n(1))));
    refused(bench.store().commit(&batches).await, Unsupported, "a commit of two batches")?;
    refused(bench.store().commit_patiently(&batches).await, Unsupported, "a patient commit of two batches")?;
    refused(bench.store().commit_owned(batches.into()).await, Unsupported, "an owned commit of two batches")?;
    for partition in ["p", "q"] {
        ensure_eq!(table.get(partition, "r").await?, None, "the row of partition {partition}");
    }
    Ok(())
}
