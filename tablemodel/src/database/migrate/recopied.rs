//! The copies of entities that have just moved: looked at once more, when every program knows where they are.
//!
//! While an entity moves, its copies follow in the old form, and what it moves to follows that. A change of a source that came so late
//! that the old form was written no more has reached neither. What a copy holds is planned in `plan::copies`.

use tablemodel_store::{KeyRange, PropertyName, Query, Row, RowKey, StoreErrorKind, limits};

use super::{states::Owned, undo::rows_of};
use crate::{
    database::Database,
    error::{Error, ErrorKind, Result},
    plan::{change::is_primary, system},
    schema::EntitySchema,
};

/// Brings the copies of every entity of the new form to what their sources are. In one commit with their sources, they are.
///
/// Cost: a walk over the table; for each 100 entities of one partition, reads of them and of their sources, and a batch of those that
/// are behind.
pub(super) async fn recopy(owned: &Owned, form: &'static EntitySchema) -> Result<()> {
    let db = &owned.db;
    if db.is_atomic() || form.copies.is_empty() {
        return Ok(());
    }
    let mut query = Query::new(db.table_name(form.table), KeyRange::table()).filtered(rows_of(form.entity_type));
    query.select = Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]);
    loop {
        let mut page = match db.query_store(&query).await {
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(()),
            other => other?,
        };
        page.rows.retain(|row| is_primary(form, row));
        for rows in page.rows.chunk_by(|a, b| a.key.partition == b.key.partition) {
            for rows in rows.chunks(limits::MAX_BATCH_OPERATIONS) {
                recopy_all(db, form, keys(rows)).await?;
            }
        }
        owned.go_on().await?;
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok(()),
        }
    }
}

/// Those of one partition. One that cannot be read, or written as it is, stays so, for `verify` to tell.
async fn recopy_all(db: &Database, form: &'static EntitySchema, keys: Vec<RowKey>) -> Result<()> {
    match db.recopy(form, keys.clone()).await {
        Err(error) if is_of_entity(&error) => {}
        other => return other,
    }
    for key in keys {
        match db.recopy(form, vec![key.clone()]).await {
            Err(error) if is_of_entity(&error) => {
                tracing::warn!(entity = form.entity_type, %key, %error, "what it copies was not looked at");
            }
            other => other?,
        }
    }
    Ok(())
}

/// Whether the entity is as it should not be, and the store well.
fn is_of_entity(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corrupt
            | ErrorKind::Invalid
            | ErrorKind::KeyOverflow
            | ErrorKind::KeyTooLong
            | ErrorKind::Overflow
            | ErrorKind::TooLarge
            | ErrorKind::UnknownVersion
            | ErrorKind::UpgradeFailed { .. }
    )
}

fn keys(rows: &[Row]) -> Vec<RowKey> {
    rows.iter().map(|row| row.key.clone()).collect()
}
