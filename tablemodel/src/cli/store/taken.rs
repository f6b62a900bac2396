//! Whether a store has taken a plan already: on record, or by rows of the versions that it makes. Nothing is written.

use super::{super::outcome::Failure, address::Address, entities, unknown, words::Place};
use crate::{Database, Result, cli::Model, format::Format};

/// Why the plan may not change any more, as far as this store goes; none if it may. `made` are the formats that it makes.
/// Cost: a few requests, and one per 1,000 rows of the tables that these are kept in.
///
/// # Errors
///
/// A store that cannot be opened or read.
pub(in crate::cli) fn has_taken(
    models: &[Model],
    place: &Place,
    plan: &str,
    made: &[Format],
) -> std::result::Result<Option<String>, Failure> {
    let address = Address::of(place)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let found = runtime.block_on(async {
        let db = address.open(place, entities(models), true).await?;
        let found = match db.is_registered() {
            true => taken(&db, plan, made).await,
            false => unknown(&db).await.map(|why| Some(why.to_string())),
        };
        let closed = db.close().await;
        found.and_then(|found| closed.map(|()| found))
    });
    Ok(found?)
}

async fn taken(db: &Database, plan: &str, made: &[Format]) -> Result<Option<String>> {
    let how = "a further change is a plan of its own: run `cargo tablemodel diff` without `--amend`";
    if let Some(applied) = db.migrations().plans().await?.into_iter().find(|applied| applied.id == plan) {
        let is = if applied.finished.is_some() { "was applied" } else { "is being applied" };
        return Ok(Some(format!("plan {plan} {is} to this store, which keeps its fingerprint: {how}")));
    }
    // By the lock, not by the model: rows of a form that an entity moves to stand in its table before the store keeps the entity there.
    for format in made {
        let discriminator = format.discriminator();
        if db.has_rows_of(&format.table, &discriminator).await? {
            return Ok(Some(format!("this store has rows of `{discriminator}`, which plan {plan} makes: {how}")));
        }
    }
    Ok(None)
}
