//! Whether a store has taken a plan already: on record, or by rows of the versions that it makes. Nothing is written.

use super::{super::outcome::Failure, address::Address, entities, words::Place};
use crate::{Database, Result, cli::Model};

/// Why the plan may not change any more, as far as this store goes; none if it may.
/// Cost: a few requests, and one per 1,000 rows of the entities' tables.
///
/// # Errors
///
/// A store that cannot be opened or read.
pub(in crate::cli) fn has_taken(
    models: &[Model],
    place: &Place,
    plan: &str,
    versions: &[(String, u32)],
) -> std::result::Result<Option<String>, Failure> {
    let address = Address::of(place)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let found = runtime.block_on(async {
        let db = address.open(place, entities(models), true).await?;
        let found = taken(&db, plan, versions).await;
        let closed = db.close().await;
        found.and_then(|found| closed.map(|()| found))
    });
    let how = "a further change is a plan of its own: run `cargo tablemodel diff` without `--amend`";
    Ok(found?.map(|what| format!("{what}: {how}")))
}

async fn taken(db: &Database, plan: &str, versions: &[(String, u32)]) -> Result<Option<String>> {
    if let Some(applied) = db.migrations().plans().await?.into_iter().find(|applied| applied.id == plan) {
        let is = if applied.finished.is_some() { "was applied" } else { "is being applied" };
        return Ok(Some(format!("plan {plan} {is} to this store, which keeps its fingerprint")));
    }
    for schema in db.model().iter().copied() {
        for (entity, version) in versions.iter().filter(|(entity, _)| entity == schema.entity_type) {
            let discriminator = format!("{entity}@{version}");
            if db.sample(schema, 1).await?.contains_key(&discriminator) {
                return Ok(Some(format!("this store has rows of `{discriminator}`, which plan {plan} makes")));
            }
        }
    }
    Ok(None)
}
