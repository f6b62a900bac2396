//! What entities want of rows, and what is wrong with the rows that stand there.

use tablemodel_store::{Properties, PropertyName, Row, RowKey, ValueRef};

use super::mend::Mend;
use crate::{
    plan::{shadow, system},
    rooms::aggregate,
    schema::{Derived, EntitySchema, is_move},
};

/// What an entity wants of one row.
pub(super) struct Wanted {
    pub(super) schema: &'static EntitySchema,
    pub(super) kind: Derived,
    /// The entity.
    pub(super) owner: RowKey,
    pub(super) properties: Properties,
    pub(super) sequence: i64,
    /// While an index is being built its rows may be missing.
    pub(super) required: bool,
}

/// A row that an entity wants in another partition.
pub(super) struct WantedAway {
    pub(super) table: &'static str,
    pub(super) key: RowKey,
    pub(super) wanted: Wanted,
}

/// A row here whose entity lives in another partition.
pub(super) struct Guest {
    pub(super) schema: &'static EntitySchema,
    pub(super) index: usize,
    pub(super) row: Row,
}

impl Wanted {
    /// What is wrong with the row that stands where this is wanted.
    pub(super) fn misfits(&self, row: &Row) -> Vec<&'static str> {
        let mut misfits = Vec::new();
        if system::sequence(&row.properties) > self.sequence {
            misfits.push("its sequence number is ahead of its entity's");
        }
        let same_type = system::entity_type(&row.properties) == Some(self.kind.discriminator.as_ref());
        let same_owner = match is_move(&self.kind.name) {
            true => shadow::owner(row).as_ref() == Some(&self.owner),
            false => system::is_owned_by(row, &self.owner),
        };
        if system::is_pending(&row.properties) && !self.kind.name.starts_with('~') {
            misfits.push("it claims the value of its entity, and is not confirmed: reads pass over it");
        }
        if !same_type || !same_owner || !own_fields(&row.properties).eq(own_fields(&self.properties)) {
            misfits.push("it does not hold what its entity wants");
        }
        misfits
    }

    /// The form that the entity moves to, where it is the entity in that form that is wanted.
    pub(super) fn form(&self) -> Option<&'static EntitySchema> {
        let number = self.schema.derived_position(&self.kind.name)?;
        let moved = self.schema.moves_to.as_ref().filter(|_| shadow::is_primary(self.schema, number))?;
        Some(moved.form())
    }

    pub(super) fn missing(&self) -> String {
        format!("the entity {} wants a row `{}` here", self.owner, self.kind.discriminator)
    }

    /// What puts this row right.
    pub(super) fn rewrite(&self, row: &Row) -> Mend {
        // A contribution is taken away with what it adds.
        let is_counted = aggregate::is_contribution(&row.properties);
        // A number is one of its owner's: another's says nothing, and who owns a value is decided by claiming it.
        let is_claim = self.kind.unique && self.kind.table.is_some();
        let is_anothers = is_claim && system::owner(row).as_ref() != Some(&self.owner);
        match is_counted || (!is_anothers && system::sequence(&row.properties) > self.sequence) {
            true => Mend::Rewrite(row.etag.clone(), self.schema.entity_type, self.owner.clone()),
            false => self.touch(),
        }
    }

    /// What puts a missing row right.
    pub(super) fn touch(&self) -> Mend {
        Mend::Touch(self.schema.entity_type, self.owner.clone(), self.sequence)
    }
}

/// The properties that are not the system's.
fn own_fields(properties: &Properties) -> impl Iterator<Item = (&PropertyName, ValueRef<'_>)> {
    properties.iter().filter(|(name, _)| !system::is_system(name.as_str()))
}
