//! Links that the program's struct does not have: those of a later release, which are kept as every unknown property is.
//!
//! Nothing is uploaded or fetched here.

use tablemodel_store::{PropertyName, ValueRef};

use super::LinkPlace;
use crate::{
    blob::name::{self, Named},
    database::Database,
    error::{Error, Result},
    plan::{change::Change, group::Group, image::Image, system},
    schema::EntitySchema,
};

impl Database {
    /// Records where such links go, of entities that are saved at another key.
    pub(super) async fn carry_links(&self, changes: &[Change]) -> Result<()> {
        for (number, change) in changes.iter().enumerate() {
            if let Change::Save { old, new } = change {
                self.carry_unknown(old, new).await.map_err(|error| error.in_operation(number))?;
            }
        }
        Ok(())
    }

    /// Records where such links go, of one entity. Before it does: else what it links could be collected.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the program has no blobs, and cannot record it.
    pub(in crate::database) async fn carry_unknown(&self, old: &Group, new: &Image) -> Result<()> {
        if *old.key() == new.key {
            return Ok(());
        }
        let place = LinkPlace::new(&self.table_name(new.schema.table), new.key.clone());
        let properties = old.iter().flat_map(|row| row.properties.iter());
        for (property, blob) in properties.filter_map(|(name, value)| unknown_link(new.schema, name, value)) {
            if self.0.blobs.is_none() {
                let detail = format!(
                    "property `{property}`, which this program does not know, links a blob, and the program has none: \
                     let the release that keeps it there move the entity"
                );
                return Err(Error::unsupported(detail).of(new.schema.entity_type).at_key(old.key().clone()));
            }
            self.check_writable()?;
            self.record_move(blob, &place).await?;
        }
        Ok(())
    }
}

/// The name of the blob that an unknown property of an entity links, if it does.
fn unknown_link<'p>(
    schema: &'static EntitySchema,
    name: &'p PropertyName,
    value: ValueRef<'p>,
) -> Option<(&'p PropertyName, &'p str)> {
    let ValueRef::String(text) = value else { return None };
    let is_link = || matches!(name::parse(text), Some(Named::Blob(owner)) if owner.entity == schema.entity_type);
    (system::is_unknown(schema, name.as_str()) && is_link()).then_some((name, text))
}
