//! Several results at full keys, in the order of these.
//!
//! How one of them is read is `one`'s.

use futures_util::{StreamExt, TryStreamExt, future::BoxFuture, stream};
use tablemodel_store::RowKey;

use super::{
    CONCURRENT_READS,
    one::{shown, waited},
    results::Results,
};
use crate::{
    database::Database,
    entity::TableEntity,
    error::Result,
    path::{found::Found, query::PathQuery},
    stored::Stored,
};

/// The results of several point queries, in their order.
pub(crate) async fn many<F: Found>(db: &Database, queries: Vec<PathQuery>) -> Result<Vec<Option<F>>> {
    let mut found = places(queries.len());
    many_to(db, queries, found.iter_mut().map(|place| place as _).collect()).await?;
    Ok(found)
}

async fn many_to(db: &Database, queries: Vec<PathQuery>, places: Vec<&mut dyn Results>) -> Result<()> {
    // Errors in the values are met before anything is read.
    queries.iter().try_for_each(|query| match query.point()? {
        Some(_) => Ok(()),
        None => query.plan().map(drop),
    })?;
    in_order(queries.into_iter().zip(places).map(|(query, place)| one_to(db, query, place)).collect()).await
}

fn one_to<'a>(db: &'a Database, query: PathQuery, to: &'a mut dyn Results) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        if let Some(shown) = shown(db, &query, to) {
            return shown;
        }
        let rows = Box::pin(waited(db.clone(), query, to.kind())).await?; // apart: most are shown
        rows.into_iter().try_for_each(|rows| to.put(rows))
    })
}

/// The entities whose primary rows have these keys, in their order.
pub(crate) async fn at_keys<E: TableEntity>(db: &Database, keys: Vec<RowKey>) -> Result<Vec<Option<Stored<E>>>> {
    let mut found = places(keys.len());
    at_keys_to(db, keys, found.iter_mut().map(|place| place as _).collect()).await?;
    Ok(found)
}

async fn at_keys_to(db: &Database, keys: Vec<RowKey>, places: Vec<&mut dyn Results>) -> Result<()> {
    in_order(keys.into_iter().zip(places).map(|(key, place)| at_key_to(db, key, place)).collect()).await
}

fn at_key_to<'a>(db: &'a Database, key: RowKey, to: &'a mut dyn Results) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let rows = db.own_rows(to.kind().schema, &key).await?;
        rows.into_iter().try_for_each(|rows| to.put((None, rows)))
    })
}

/// Where so many results are put.
fn places<F>(count: usize) -> Vec<Option<F>> {
    std::iter::repeat_with(|| None).take(count).collect()
}

/// Makes the reads, so many at a time; the first error is that of the first of them.
async fn in_order(reads: Vec<BoxFuture<'_, Result<()>>>) -> Result<()> {
    stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await
}
