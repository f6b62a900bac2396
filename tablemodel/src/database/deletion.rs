//! Deletion of what a path finds: entity by entity, each as it is by then.

use crate::{
    database::Database,
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::query::PathQuery,
    plan::{change::Change, group::Group, image},
    read::{Reader, load_limit},
};

impl Database {
    /// Deletes every entity that the query finds, and gives their number.
    pub(crate) async fn delete_all<E: TableEntity>(&self, query: PathQuery) -> Result<u64> {
        self.delete_each(query, |rows| image::decode::<E>(rows).map(drop)).await
    }

    /// What cannot be read, as `check` tells, is not deleted.
    async fn delete_each(&self, query: PathQuery, check: fn(&Group) -> Result<()>) -> Result<u64> {
        let mut deleted = 0;
        let mut reader = Reader::new(self, query).await?;
        while let Some(row) = reader.next_row().await? {
            deleted += u64::from(self.delete_found(&reader, &row, check).await?);
        }
        Ok(deleted)
    }

    /// Deletes the entity of a row that `reader` gave; false if it is gone, or has left the range.
    async fn delete_found(&self, reader: &Reader, row: &Group, check: fn(&Group) -> Result<()>) -> Result<bool> {
        let schema = reader.schema();
        let registered = self.writable(schema).await?;
        let (mut found, mut missed) = (reader.entity_in_range(row).await?, None);
        for _ in 0..load_limit() {
            let Some(old) = found else { return Ok(false) };
            check(&old)?;
            let state = (old.key().clone(), old.head.etag.clone());
            match missed.take() {
                Some((before, error)) if before == state => return Err(error), // it is not the entity that is not there
                _ => {}
            }
            let change = Change::Delete { schema, old };
            match self.write_one(&registered, change).await {
                Ok(_) => return Ok(true),
                Err(error) if *error.kind() == ErrorKind::NotFound && !reader.is_over_index() => return Ok(false),
                Err(error) if *error.kind() == ErrorKind::NotFound => missed = Some((state, error)), // gone, or under another key
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            found = reader.entity_now(row).await?;
        }
        let detail = "the entity keeps changing while it is to be deleted; try again";
        Err(Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(row.key().clone()))
    }
}
