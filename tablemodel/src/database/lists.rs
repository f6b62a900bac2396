//! Lists whose keys stand in blobs: fetched where a list's row is read, and put before a row is written that links them.
//!
//! What the row says of them is `rooms::list`'s. The blob of a row that is written over is collected as any other.

#[cfg(feature = "blob")]
use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Action, Row, RowKey};

#[cfg(feature = "blob")]
use crate::{
    blob::name::{self, Named, Owner},
    database::{calls::ATTEMPTS, since::Since},
    error::Error,
    rooms::list::Content,
};
use crate::{
    database::{Database, execute::Run},
    error::{ErrorKind, Result},
    plan::batch::BatchPlan,
    rooms::list,
    schema::{EntitySchema, IndexSchema},
};

/// Blobs of one commit that are put at a time.
#[cfg(feature = "blob")]
const CONCURRENT: usize = 8;

impl Database {
    /// The row, and if it is one of a list whose keys stand in a blob, with them as if they stood in it.
    pub(crate) async fn with_keys(&self, table: &str, row: Option<Row>) -> Result<Option<Row>> {
        match row {
            Some(row) if list::is_outside(&row) => Box::pin(self.fetch_keys(table, row)).await,
            row => Ok(row),
        }
    }
}

impl Database {
    /// The rows, those of lists with the keys that stand in their blobs, unless these cannot be read.
    pub(super) async fn with_readable_keys(&self, table: &str, rows: Vec<Row>) -> Result<Vec<Row>> {
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            match list::is_outside(&row) {
                true => all.extend(Box::pin(self.with_own_keys(table, row)).await?),
                false => all.push(row),
            }
        }
        Ok(all)
    }

    async fn with_own_keys(&self, table: &str, row: Row) -> Result<Option<Row>> {
        if !self.owns_keys(table, &row) {
            return Ok(Some(row));
        }
        match self.with_keys(&self.table_name(table), Some(row.clone())).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => Ok(Some(row)),
            other => other,
        }
    }
}

#[cfg(not(feature = "blob"))]
impl Database {
    fn owns_keys(&self, _table: &str, _row: &Row) -> bool {
        false
    }

    async fn fetch_keys(&self, _table: &str, row: Row) -> Result<Option<Row>> {
        let detail = "the keys of the list stand in a blob, for which the cargo feature `blob` is needed";
        Err(crate::error::Error::unsupported(detail).at_key(row.key))
    }

    pub(super) async fn put_outgrown(
        &self,
        _schema: &EntitySchema,
        _index: &IndexSchema,
        _key: &RowKey,
        action: Action,
    ) -> Result<Action> {
        Ok(action)
    }

    /// Not called: without the feature no list goes into a blob.
    pub(super) fn list_blob(&self, _: &EntitySchema, _: &RowKey) -> String {
        String::new()
    }
}

#[cfg(not(feature = "blob"))]
impl Run<'_> {
    pub(super) async fn put_lists(&mut self, _: impl IntoIterator<Item = &BatchPlan>) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "blob")]
impl Database {
    /// Cost: one request. Where the list was changed and the blob is gone since the row was read, the row is read again.
    async fn fetch_keys(&self, table: &str, row: Row) -> Result<Option<Row>> {
        let (key, mut row) = (row.key.clone(), row);
        for _ in 0..ATTEMPTS {
            let Some(link) = list::link(&row)? else { return Ok(Some(row)) };
            let name = link.name.clone();
            match self.fetch_whole(link).await {
                Ok(bytes) => {
                    let keys = String::from_utf8(bytes.into()).map_err(|_| unreadable(&key))?;
                    return Ok(Some(list::put_back(row, keys)));
                }
                Err(error) if *error.kind() != ErrorKind::NotFound => return Err(error),
                Err(_) => match self.get_row(table, &key).await? {
                    // It was put before the row, and goes only once no row links it.
                    Some(now) if list::link(&now)?.is_some_and(|now| now.name == name) => {
                        return Err(lost(&key, &name));
                    }
                    Some(now) => row = now,
                    None => return Ok(None),
                },
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the list keeps changing while it is read; try again").at_key(key))
    }

    /// Whether the blob is named as that of the row that links it, and not collected as another's.
    fn owns_keys(&self, table: &str, row: &Row) -> bool {
        let Ok(Some(link)) = list::link(row) else { return false };
        let full = self.table_name(table).to_ascii_lowercase();
        let is_own = |owner: &Owner| owner.table == full && owner.key.as_ref().is_none_or(|key| *key == row.key);
        matches!(name::parse(&link.name), Some(Named::Blob(owner)) if is_own(&owner))
    }

    /// The name of a new blob for the list at this key.
    pub(super) fn list_blob(&self, schema: &EntitySchema, key: &RowKey) -> String {
        let random = &self.environment().random;
        let random = [random.next(), random.next()];
        name::fresh(&self.table_name(schema.table), schema.entity_type, key, random).0
    }
}

#[cfg(feature = "blob")]
impl Run<'_> {
    /// Puts the keys of lists that the plans, and those of other partitions beside them, are about to link. One request
    /// each.
    pub(super) async fn put_lists(&mut self, plans: impl IntoIterator<Item = &BatchPlan>) -> Result<()> {
        let plans: Vec<_> = plans.into_iter().collect();
        let contents: Vec<_> = plans.into_iter().chain(&self.places).flat_map(|plan| &plan.contents).collect();
        if contents.is_empty() {
            return Ok(());
        }
        let puts = contents.into_iter().map(|content| self.db.put_list(content));
        let puts: Vec<_> = puts.collect();
        let put: Vec<Since> = stream::iter(puts).buffer_unordered(CONCURRENT).try_collect().await?;
        self.uploaded.since = self.uploaded.since.into_iter().chain(put).min();
        self.db.check_uploaded(self.uploaded.since)
    }
}

#[cfg(feature = "blob")]
impl Database {
    /// The write of a list's row, after the keys that outgrow it were put into a blob.
    pub(super) async fn put_outgrown(
        &self,
        schema: &EntitySchema,
        index: &IndexSchema,
        key: &RowKey,
        action: Action,
    ) -> Result<Action> {
        let mut contents = Vec::new();
        let action = list::take_out(index, key, action, |key| self.list_blob(schema, key), &mut contents);
        for content in &contents {
            self.put_list(content).await?;
        }
        Ok(action)
    }

    /// Puts the blob; tells since when it waits for its row.
    async fn put_list(&self, Content { key, name, keys }: &Content) -> Result<Since> {
        let since = self.since();
        let put = self.put_whole(name, key, keys.clone().into()).await;
        put.map_err(|error| error.within("the keys of a list").at_key(key.clone())).map(|()| since)
    }
}

#[cfg(feature = "blob")]
fn unreadable(key: &RowKey) -> Error {
    Error::corrupt("the keys of a list cannot be read").at_key(key.clone())
}

#[cfg(feature = "blob")]
fn lost(key: &RowKey, name: &str) -> Error {
    Error::corrupt(format!("the keys of the list stand in blob `{name}`, which is not there")).at_key(key.clone())
}
