//! The rows of forms that entities move to, and the parts of entities, of whatever form.
//!
//! That a shadow is what its entity wants is looked at from the entity's side.

use tablemodel_store::Row;

use super::Check;
use crate::{
    database::{
        Database,
        verify::{ViolationKind, mend::Mend, wanted::Guest},
    },
    error::Result,
    plan::{
        forms,
        part::{self, Parts, Standing},
        shadow, system,
    },
    schema::EntitySchema,
};

/// Whether parts of the entity, or of the form that it moves to, may stand in the table.
pub(super) fn may_have_parts(schema: &EntitySchema, table: &str) -> bool {
    let moves_here = schema.moves_to.as_ref().is_some_and(|moved| moved.form().table.eq_ignore_ascii_case(table));
    moves_here || schema.table.eq_ignore_ascii_case(table)
}

/// The entities that are on their way to forms which this program does not have, each with the version from which on rows are of that.
pub(super) fn coming(db: &Database) -> Vec<(&'static str, u32)> {
    let coming = |schema: &'static EntitySchema| Some((schema.entity_type, db.registered(schema).ok()?.coming?));
    db.model().iter().copied().filter_map(coming).collect()
}

fn is_coming(coming: &[(&'static str, u32)], schema: &'static EntitySchema, row: &Row) -> bool {
    let of = coming.iter().find(|(entity, _)| *entity == schema.entity_type);
    of.is_some_and(|(_, coming)| system::version(&row.properties) >= Some(*coming))
}

impl Check {
    /// Whether the row is of a form that the entity is kept in no more, which a switch on its way takes; or of one that it moves to, for
    /// programs that know of that.
    pub(super) fn is_of_other(&self, schema: &'static EntitySchema, row: &Row) -> bool {
        forms::is_of_other(schema, &row.properties) || is_coming(&self.coming, schema, row)
    }

    /// A row of the form that an entity moves to; any other is given back.
    pub(super) fn shadow(&mut self, db: &Database, row: Row, parts: &mut Parts) -> Result<Option<Row>> {
        let Some((schema, index)) = shadow::kind(&db.model(), &row) else { return Ok(Some(row)) };
        match system::is_dead(&row.properties) {
            true => self.tombstones += 1,
            false => self.derived += 1,
        }
        let setting = &db.registered(schema)?.setting;
        let rows = if shadow::is_primary(schema, index) { parts.with(row) } else { row.into() };
        #[cfg(feature = "blob")]
        if let Some(moved) = &schema.moves_to
            && shadow::is_primary(schema, index)
            && setting.is_complete(index, self.strict)
            && let Ok(whole) = shadow::stored(moved.form(), rows.clone())
        {
            // Once the entity has moved, these links alone hold its blobs.
            self.links.extend(crate::database::blobs::links_of(moved.form(), &whole.key, &whole.properties));
        }
        if setting.moving {
            self.guests.push(Guest { schema, index, row: rows.head });
        }
        Ok(None)
    }

    /// The parts of entities: each is one that its head names, or one that its writer is about to publish.
    pub(super) fn parts(&mut self, db: &Database, parts: &Parts) {
        let (now, model, coming) = (db.environment().clock.now(), db.model(), self.coming.clone());
        let is_left = |part: &Row| {
            let of = system::kind(&part.properties).entity();
            let schema = model.iter().copied().find(|schema| Some(schema.entity_type) == of);
            let is_of_other = |schema: &'static EntitySchema| forms::is_of_other(schema, &part.properties);
            schema.is_some_and(|schema| {
                (schema.moved_from.is_some() && is_of_other(schema)) || is_coming(&coming, schema, part)
            })
        };
        for part in parts.rows.values().flatten() {
            if is_left(part) {
                self.foreign += 1; // as its head
                continue;
            }
            self.derived += 1;
            let entity = part::entity_row(&part.key.row);
            if self.unreadable.contains(entity) {
                continue; // which of its parts it has cannot be told
            }
            let head = parts.heads.get(entity);
            if part::standing(head, part, now) == Standing::Orphan {
                let detail = "no head names this part; an interrupted write left it, and it can be deleted";
                let mend = Mend::RemoveAfter(part.etag.clone(), part::young_until(part));
                self.report(part.key.clone(), ViolationKind::Orphan, detail.to_owned(), mend);
            }
        }
    }
}
