//! What is settled for a write before it is planned: uploads that wait to be linked, and links that stay.
//!
//! Nothing is uploaded here.

use tablemodel_store::{ETag, RowKey, ValueRef};

use super::upload::Task;
use crate::{
    blob::Placed,
    database::{execute::Run, since::Since},
    error::{Error, ErrorKind, Result},
    plan::image::Image,
    schema::EntitySchema,
};

/// What was settled for a write.
#[derive(Debug, Default)]
pub(in crate::database) struct Uploaded {
    /// Since when something waits to be linked: a collector could take it after the grace period.
    pub(in crate::database) since: Option<Since>,
    /// Links that stay if the row that the write is planned over has them, as it had when they were looked at.
    pub(super) assumed: Vec<Assumed>,
}

/// A link of a row, when it was looked at.
#[derive(Debug)]
pub(super) struct Assumed {
    /// Of this change of the write.
    change: usize,
    schema: &'static EntitySchema,
    key: RowKey,
    property: &'static str,
    link: String,
    row: ETag,
}

impl Assumed {
    /// What the task assumes, where it leaves its blob in place.
    pub(super) fn of(task: &Task, placed: &Placed) -> Option<Self> {
        let (Placed::Link(link), Some(row)) = (placed, &task.over) else { return None };
        let [property, ..] = task.pending.names;
        (task.linked.as_ref() == Some(&link.name)).then(|| Self {
            change: task.change,
            schema: task.schema,
            key: task.key.clone(),
            property,
            link: link.name.clone(),
            row: row.clone(),
        })
    }
}

impl Run<'_> {
    /// That what was uploaded cannot have been collected yet, and that the rows that the plan is made over link what they did when it
    /// was seen. Cost: where such a row was changed meanwhile, it is read again.
    pub(in crate::database) async fn check_uploaded(&self) -> Result<()> {
        self.db.check_uploaded(self.uploaded.since)?;
        for Assumed { change, schema, key, property, link, row } in &self.uploaded.assumed {
            let planned_over = self.known.get(&key.row).and_then(Option::as_ref);
            if planned_over.is_some_and(|planned_over| planned_over.etag == *row) {
                continue;
            }
            let rows = self.db.primary_rows(schema, key).await?;
            let fields = rows.map(|rows| Image::stored(schema, &rows)).transpose()?.map(|image| image.fields);
            if fields.is_none_or(|fields| fields.get(property) != Some(ValueRef::String(link))) {
                let detail = format!("another program has replaced the blob of property `{property}`; try again");
                let error = Error::new(ErrorKind::Unavailable, detail).of_field(schema.field_of(property));
                return Err(error.of(schema.entity_type).at_key(key.clone()).in_operation(*change));
            }
        }
        Ok(())
    }
}
