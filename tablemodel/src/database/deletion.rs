//! Deletion of what a path finds: entity by entity, each as it is by then.

use crate::{
    database::Database,
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::query::PathQuery,
    plan::{change::Change, group::Group},
    read::{Reader, load_limit},
};

impl Database {
    /// Deletes every entity that the query finds, and gives their number.
    pub(crate) async fn delete_all<E: TableEntity>(&self, query: PathQuery) -> Result<u64> {
        let mut deleted = 0;
        let mut reader = Reader::new(self, query).await?;
        while let Some(row) = reader.next_row().await? {
            deleted += u64::from(self.delete_found::<E>(&reader, &row).await?);
        }
        Ok(deleted)
    }

    /// Deletes the entity of a row that `reader` gave; false if it is gone, or has left the range.
    async fn delete_found<E: TableEntity>(&self, reader: &Reader, row: &Group) -> Result<bool> {
        let registered = self.writable(E::SCHEMA).await?;
        let (mut found, mut missed) = (reader.entity_in_range::<E>(row).await?, None);
        for _ in 0..load_limit() {
            let Some(entity) = found else { return Ok(false) };
            let state = (entity.key().clone(), entity.etag().clone());
            match missed.take() {
                Some((before, error)) if before == state => return Err(error), // it is not the entity that is not there
                _ => {}
            }
            let change = Change::Delete { schema: E::SCHEMA, old: entity.into_rows() };
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
        Err(Error::new(ErrorKind::Unavailable, detail).of(E::SCHEMA.entity_type).at_key(row.key().clone()))
    }
}
