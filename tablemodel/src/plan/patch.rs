//! Patches: some properties of an entity set, the others not sent.
//!
//! No key and no derived row is made from what a patch sets.

use std::{borrow::Cow, collections::HashMap};

use tablemodel_store::{Action, Condition, Properties, Row, RowKey, Value};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Planned, PlannedRow, Planner, Role, is_primary, next_sequence},
        copies::is_patched,
        image::{self, Image},
        shape::{self, Laid},
        states::Setting,
        system,
        version::{Old, check_writable, is_current},
    },
    rooms::index::Named,
    schema::EntitySchema,
};

/// Whether a patch writes the entity as a whole: its row is of an older version, or has to show others what it is.
pub(super) fn is_patched_whole(schema: &'static EntitySchema, setting: &Setting, row: &Row) -> bool {
    schema.downgrades() || setting.moving || !is_current(schema, schema.discriminator, row)
}

impl Planner<'_> {
    /// The writes of a patch.
    pub(super) fn patch(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
        sets: &[(&'static str, Option<Value>)],
        named: Option<&Named>,
    ) -> Result<Planned> {
        let row = match self.before.row(&key.row) {
            Some(Some(row)) if is_primary(schema, &row) && self.is_named(schema, &row, named)? => row,
            _ => {
                return Err(Error::new(ErrorKind::NotFound, "no such entity")
                    .of(schema.entity_type)
                    .at_key(key.clone()));
            }
        };
        check_writable(schema, &row)?;
        if is_patched_whole(schema, self.setting, &row) {
            return self.patch_whole(schema, row.into_owned(), sets.to_vec());
        }
        if schema.shape.is_some() {
            return self.patch_shaped(schema, row.into_owned(), sets.to_vec());
        }
        // A property set twice takes the later value.
        let sets: HashMap<_, _> = sets.iter().cloned().collect();
        let clears = sets.values().any(Option::is_none);
        let mut changed: Properties =
            sets.iter().filter_map(|(name, value)| value.clone().map(|value| (*name, value))).collect();
        self.stamp(&mut changed, schema.discriminator, next_sequence(&row.properties, self.context.now), Some(&row));
        let mut after = row.properties.clone();
        after.merge(&changed);
        after.retain(|name| !matches!(sets.get(name), Some(None)));
        let condition = Condition::Match(row.etag.clone());
        let action = match clears {
            true => Action::Replace(after.clone(), condition), // a Merge cannot take a property away
            false => Action::Merge(changed, condition),
        };
        let is_patched = is_patched(schema, &row, &sets.into_iter().collect::<Vec<_>>(), self.setting);
        let copied = is_patched.then(|| self.copied(key, system::sequence(&after))).flatten().into_iter().collect();
        let rows = vec![PlannedRow { row: key.row.clone(), action, role: Role::Primary }];
        Ok(Planned { rows, copied, after: Some(after), ..Planned::default() })
    }

    /// Whether the entity wants the row of an index by which it was found.
    fn is_named(&self, schema: &'static EntitySchema, head: &Row, named: Option<&Named>) -> Result<bool> {
        let Some(named) = named else { return Ok(true) };
        let rows = shape::known(schema, head.clone(), self.before)?;
        named.is_wanted(&image::Stored::of(schema, &rows)?)
    }

    /// As `patch`, of a row of an older version, or one that has to show older programs what it is: written as a whole, with
    /// what is derived from it.
    fn patch_whole(
        &self,
        schema: &'static EntitySchema,
        head: Row,
        sets: Vec<(&'static str, Option<Value>)>,
    ) -> Result<Planned> {
        let rows = shape::known(schema, head, self.before)?;
        let was = Old::of(schema, &rows)?;
        let mut new = Cow::Owned(was.now().clone().with_sets(sets));
        let guards = self.copy(Some(&was), &mut new)?;
        let mut cells = self.cells(Some(&was.written), Some(&new))?;
        cells.extend(self.keep_totals(&was, &mut new)?);
        let sequence = next_sequence(&rows.head.properties, self.context.now);
        let planned = self.put(Some(&was.written), &new, sequence, Some(&rows), None)?;
        Ok(Planned { cells, guards, ..planned })
    }

    /// As `patch`, of an entity that may be several rows: of each, only what changed is sent.
    fn patch_shaped(
        &self,
        schema: &'static EntitySchema,
        head: Row,
        sets: Vec<(&'static str, Option<Value>)>,
    ) -> Result<Planned> {
        let old = shape::known(schema, head, self.before)?;
        let image = Image::written(schema, &old)?.with_sets(sets);
        let sequence = next_sequence(&old.head.properties, self.context.now);
        let (properties, laid) = self.laid(&image, sequence, Some(&old))?;
        let action = shape::rewriting(&old.head, &properties);
        let mut rows = vec![PlannedRow { row: image.key.row, action, role: Role::Primary }];
        let Laid { rows: of_parts, staged, swept, parts } = laid;
        rows.extend(of_parts);
        Ok(Planned { rows, after: Some(properties), parts, staged, swept, ..Planned::default() })
    }
}
