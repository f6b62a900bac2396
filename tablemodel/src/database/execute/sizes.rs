//! What is too much for one batch, as far as that can be told before anything is read.
//!
//! The exact sizes are checked once it is planned.

use std::collections::HashSet;

use tablemodel_store::limits;

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{change::Change, shape},
};

/// That the entities alone are not too many, before any is read.
pub(super) fn check_count(changes: &[Change]) -> Result<()> {
    if changes.len() <= limits::MAX_BATCH_OPERATIONS {
        return Ok(());
    }
    let entities: HashSet<_> = changes.iter().map(|change| change.key().row.as_str()).collect();
    if entities.len() <= limits::MAX_BATCH_OPERATIONS {
        return Ok(());
    }
    let detail = format!(
        "the batch writes {} entities, over the {} rows that one may have; use `db.bulk()` to write more",
        entities.len(),
        limits::MAX_BATCH_OPERATIONS
    );
    Err(Error::new(ErrorKind::TooMany, detail))
}

/// That what is put over something yet to be read can be stored at all.
pub(super) fn check_sizes(changes: &[Change]) -> Result<()> {
    for (number, change) in changes.iter().enumerate() {
        if let Change::Upsert(image) = change
            && image.schema.shape.is_some()
        {
            shape::cut(image).map_err(|error| error.in_operation(number))?;
        }
    }
    Ok(())
}
