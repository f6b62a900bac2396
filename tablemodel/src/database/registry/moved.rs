//! Entities that move, as the registry has them: which of its two forms an entity is kept in, and who may write it.
//!
//! The record of the entity names the table of that form; nothing is changed here.

#[cfg(feature = "blob")]
use std::collections::BTreeSet;
use std::{collections::HashMap, sync::Arc};

use serde_json::Value as Json;
use tablemodel_store::{Properties, Row, ValueRef};

use super::{
    Closed, ENTITY, EPOCH, INDEX, Other, Registered, entity_row, entity_row_of, epoch, epoch_of, followers, index_row,
};
#[cfg(feature = "blob")]
use crate::database::Database;
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        states::{IndexState, IndexStates, Setting},
        system,
    },
    read::columns::Columns,
    schema::{EntitySchema, Moved, move_to, moved_to, taker},
};

/// On the state of a move: whether the old form is written no more.
pub(in crate::database) const CLOSED: &str = "Closed";

/// On the record of an entity: the version since which it stands where it does. Older ones are another form of it.
pub(in crate::database) const SINCE: &str = "Since";

/// On the record of an entity: a JSON list of the tables that it has left, and that its blobs may be named by.
const LEFT: &str = "Left";

/// On the state of a move: a JSON list of the names of what follows the new form and is built with it: which the program that began to
/// build it had, and every one that has written since.
const FORM: &str = "Form";

/// The tables that the record of an entity says it has left.
fn left(row: &Row) -> Result<Vec<String>> {
    Ok(names(row, LEFT)?.unwrap_or_default())
}

/// The names that a property of a row lists, if it has it.
fn names(row: &Row, property: &'static str) -> Result<Option<Vec<String>>> {
    let Some(text) = row.properties.get(property) else { return Ok(None) };
    let read = if let ValueRef::String(text) = text { serde_json::from_str(text).ok() } else { None };
    let damaged = || Error::corrupt(format!("the names in `{property}` cannot be read")).at_key(row.key.clone());
    read.map(Some).ok_or_else(damaged)
}

/// Says on the state of a move what follows the new form.
pub(super) fn record_form(moved: &Moved, properties: &mut Properties) {
    properties.insert(FORM, Json::from(followers(moved.form()).collect::<Vec<_>>()).to_string());
}

/// What the state of a move says of its new form without what this program's form lacks, and does not write; nothing where it lacks
/// nothing.
pub(super) fn narrowed(moved: &Moved, row: &Row) -> Result<Option<Properties>> {
    if super::state(row)? == IndexState::Absent {
        return Ok(None);
    }
    let Some(mut built) = names(row, FORM)? else { return Ok(None) };
    let all = built.len();
    built.retain(|name| followers(moved.form()).any(|own| own == *name));
    let mut properties = row.properties.clone();
    properties.insert(FORM, Json::from(built.clone()).to_string());
    Ok((built.len() < all).then_some(properties))
}

/// How far what follows the new form is, once the form is built: what it gained since, or what a program writes without, is not complete.
fn states(to: &'static EntitySchema, row: Option<&Row>) -> Result<Vec<IndexState>> {
    let built = row.map_or(Ok(None), |row| names(row, FORM))?; // none: of a release that did not say
    let is_built = |name: String| built.as_ref().is_none_or(|built| built.contains(&name));
    let state = |name| if is_built(name) { IndexState::Readable } else { IndexState::WriteOnly };
    Ok(followers(to).take(to.declared()).map(state).collect())
}

/// Adds to the record of an entity that it leaves the table of `old`: blobs may be named by that, also those of fields that this program
/// does not have.
pub(in crate::database) fn leave(row: &Row, old: &EntitySchema, new: &EntitySchema, to: &mut Properties) -> Result<()> {
    if old.table.eq_ignore_ascii_case(new.table) {
        return Ok(());
    }
    let mut tables = left(row)?;
    if !tables.iter().any(|table| table.eq_ignore_ascii_case(old.table)) {
        tables.push(old.table.to_owned());
    }
    to.insert(LEFT, Json::from(tables).to_string());
    Ok(())
}

#[cfg(feature = "blob")]
impl Database {
    /// The tables that entities have left, and that their blobs may still be named by. One request.
    pub(in crate::database) async fn left_tables(&self) -> Result<BTreeSet<String>> {
        let rows = self.registry_rows().await?;
        let left: Vec<_> = rows.values().map(left).collect::<Result<_>>()?;
        Ok(left.into_iter().flatten().collect())
    }
}

fn number(row: &Row, property: &'static str) -> Option<i64> {
    match row.properties.get(property) {
        Some(ValueRef::Int64(number)) => Some(number),
        _ => None,
    }
}

/// Whether the store keeps the entity in this form, not in the other: by the table that its record names and, where that is the
/// table of both, by the version.
pub(in crate::database) fn is_kept_as(form: &EntitySchema, other: &EntitySchema, rows: &HashMap<String, Row>) -> bool {
    let Some(row) = rows.get(&entity_row(form)) else { return false };
    let Some(ValueRef::String(table)) = row.properties.get("Table") else { return false };
    if !table.eq_ignore_ascii_case(form.table) || !form.table.eq_ignore_ascii_case(other.table) {
        return table.eq_ignore_ascii_case(form.table);
    }
    let newer = form.version.max(other.version);
    (number(row, "Version") >= Some(i64::from(newer))) == (form.version == newer)
}

/// The entities that the program lists, each in the form that the store keeps it in.
pub(super) fn model(
    listed: &'static [&'static EntitySchema],
    rows: &HashMap<String, Row>,
) -> Arc<[&'static EntitySchema]> {
    let kept = |schema: &'static EntitySchema| schema.moved_from.filter(|old| is_kept_as(old, schema, rows));
    listed.iter().map(|schema| kept(schema).unwrap_or(schema)).collect()
}

/// That the entity has left this form, for one that the program knows of, or for one that it does not.
pub(super) fn gone(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Option<Closed> {
    let since = kept_since(schema.entity_type, rows);
    if since > schema.version {
        return Some(Closed::Moved { to: since });
    }
    if let Some(of) = unknown(schema, rows).find(|to| *to <= schema.version) {
        return Some(Closed::NotSwitched { from: of.saturating_sub(1).max(since) });
    }
    let to = schema.moves_to.as_ref()?.form();
    is_kept_as(to, schema, rows).then_some(Closed::Moved { to: to.version })
}

/// The moves of which this program's model has an end.
fn known_moves(schema: &'static EntitySchema) -> impl Iterator<Item = &'static Moved> {
    [schema.moves_to.as_ref(), schema.moved_from.and_then(|old| old.moves_to.as_ref())].into_iter().flatten()
}

/// The versions of forms that the entity is on its way to, whether the program knows of it or not.
fn open(entity: &str, rows: &HashMap<String, Row>) -> impl Iterator<Item = u32> {
    let (own, since) = (index_row(entity, ""), kept_since(entity, rows));
    rows.iter().filter_map(move |(key, row)| {
        let to = moved_to(key.strip_prefix(&own)?)?;
        let is_open = super::state(row).is_ok_and(|state| state != IndexState::Absent) && to > since;
        is_open.then_some(to)
    })
}

/// The same, for other programs alone: this one's model has neither end of the move.
fn unknown(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> impl Iterator<Item = u32> {
    let known: Vec<_> = known_moves(schema).map(|moved| moved.form().version).collect();
    open(schema.entity_type, rows).filter(move |to| !known.contains(to))
}

/// The version from which on rows of the entity are of a form that it is on its way to.
pub(in crate::database) fn coming(entity: &str, rows: &HashMap<String, Row>) -> Option<u32> {
    open(entity, rows).min()
}

/// The same, of a form that the program's model does not have.
pub(super) fn coming_unknown(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Option<u32> {
    unknown(schema, rows).min()
}

/// The version since which the entity stands where it does.
fn kept_since(entity: &str, rows: &HashMap<String, Row>) -> u32 {
    let since = rows.get(&entity_row_of(entity)).and_then(|row| number(row, SINCE));
    since.and_then(|since| u32::try_from(since).ok()).unwrap_or(0)
}

/// That the entity is about to leave this form.
pub(super) fn closed(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> Option<Closed> {
    let unknown = unknown(schema, rows).max();
    let to = unknown.or_else(|| Some(schema.moves_to.as_ref()?.form().version))?;
    match is_closed(schema, &move_to(to), rows) {
        true => Some(Closed::Switching { to }),
        false => unknown.map(|to| Closed::Moving { to }), // what it writes would not be there
    }
}

/// Whether the old form is written no more, by the state of its move.
pub(in crate::database) fn is_closed(schema: &EntitySchema, name: &str, rows: &HashMap<String, Row>) -> bool {
    let row = rows.get(&index_row(schema.entity_type, name));
    row.is_some_and(|row| matches!(row.properties.get(CLOSED), Some(ValueRef::Boolean(true))))
}

/// Whether what is left of the old form is still to be taken away: until then, deletes leave tombstones, for the sake of what was
/// under way to shadows.
pub(super) fn is_settling(schema: &'static EntitySchema, rows: &HashMap<String, Row>) -> bool {
    let moved = schema.moved_from.and_then(|old| old.moves_to.as_ref());
    moved.is_some_and(|moved| rows.contains_key(&index_row(schema.entity_type, &moved.name())))
}

/// Gives every kind of shadow the state of the move, which is the last. Whether there are any.
pub(super) fn spread(schema: &'static EntitySchema, states: &mut Vec<IndexState>) -> bool {
    if schema.moves_to.is_none() {
        return false;
    }
    let state = states.pop().unwrap_or(IndexState::Absent);
    states.extend(std::iter::repeat_n(state, schema.shadow_kinds()));
    state != IndexState::Absent
}

/// The form `to` of an entity that is still kept in the old one: it can be read once every row of it is there.
pub(super) fn waiting(kept: &Registered, to: &'static EntitySchema, rows: &HashMap<String, Row>) -> Result<Other> {
    let closed = Closed::NotSwitched { from: kept.schema.version };
    if kept.setting.of(kept.schema.first_shadow()) != IndexState::Readable {
        return Ok(Other::Closed(closed));
    }
    let name = kept.schema.moves_to.as_ref().map(Moved::name).unwrap_or_default();
    let states = states(to, rows.get(&index_row(kept.entity_type, &name)))?;
    let (prefix, _) = kept.table.split_at(kept.table.len().saturating_sub(kept.schema.table.len()));
    Ok(Other::Readable(Arc::new(Registered {
        schema: to,
        table: format!("{prefix}{}", to.table),
        setting: Setting { states: IndexStates(states), moving: false, ..kept.setting.clone() },
        closed: Some(closed),
        columns: Arc::new(Columns::of(to)),
        copies: Arc::new(Columns::of_copies(to)),
        ..kept.clone()
    })))
}

/// That the record of an entity says where it stands as it did `before`: what was read since was looked for there.
pub(in crate::database) fn check_stays(row: &Row, before: Option<&Row>) -> Result<()> {
    let (Some(entity), Some(before)) = (row.key.row.strip_prefix(ENTITY), before) else { return Ok(()) };
    let is_same = |property: &str| row.properties.get(property) == before.properties.get(property);
    if ["Table", SINCE].into_iter().all(is_same) {
        return Ok(());
    }
    let detail = format!("`{entity}` moved to other keys while it was exported; export again");
    Err(Error::new(ErrorKind::Unavailable, detail).at_key(row.key.clone()))
}

/// The moves of entities to forms that a program does not know, and that they are not kept in yet: with its export none of these goes
/// along, as if it had not begun.
pub(in crate::database) struct LeftBehind<'r> {
    listed: &'static [&'static EntitySchema],
    rows: &'r HashMap<String, Row>,
    /// By entity, the version from which on rows are of such a form.
    forms: HashMap<&'r str, u32>,
}

impl<'r> LeftBehind<'r> {
    /// Those of these records and states, by a program that lists these.
    pub(in crate::database) fn of(listed: &'static [&'static EntitySchema], rows: &'r HashMap<String, Row>) -> Self {
        let mut left = Self { listed, rows, forms: HashMap::new() };
        for (key, row) in rows {
            let is_begun = super::state(row).is_ok_and(|state| state != IndexState::Absent);
            let Some((entity, name)) = place(key).filter(|(entity, name)| is_begun && left.is(entity, name)) else {
                continue;
            };
            if let Some(to) = moved_to(name) {
                let least = left.forms.entry(entity).or_insert(to);
                *least = to.min(*least);
            }
        }
        left
    }

    /// Whether the move of the entity is such.
    pub(in crate::database) fn is(&self, entity: &str, name: &str) -> bool {
        let own = self.listed.iter().copied().filter(|schema| schema.entity_type == entity);
        moved_to(name).is_some_and(|to| to > kept_since(entity, self.rows))
            && !own.flat_map(known_moves).any(|moved| moved.name() == name)
    }

    /// Whether the row is of such a form.
    pub(in crate::database) fn has(&self, row: &Row) -> bool {
        let first = system::kind(&row.properties).entity().and_then(|entity| self.forms.get(entity));
        first.is_some_and(|first| system::version(&row.properties) >= Some(*first))
    }

    /// Whether states have been changed since, by the row that counts that: it stands before those of the states.
    pub(in crate::database) fn is_raised(&self, row: &Row) -> bool {
        row.key.row == EPOCH && epoch_of(row) != epoch(self.rows)
    }

    /// That the row is of no state of such a move that has begun since, be it taken back by now: rows of its form may have gone along. One
    /// that was recorded since was not begun if no states have been changed.
    pub(in crate::database) fn check_begun_before(&self, row: &Row, is_raised: bool) -> Result<()> {
        let Some((entity, name)) = place(&row.key.row).filter(|(entity, name)| self.is(entity, name)) else {
            return Ok(());
        };
        let was_begun = self.forms.get(entity).is_some_and(|least| moved_to(name) >= Some(*least));
        let is_as_it_was = || self.rows.get(&row.key.row).map_or(!is_raised, |was| was.etag == row.etag);
        if was_begun || (super::state(row)? == IndexState::Absent && is_as_it_was()) {
            return Ok(());
        }
        let detail = format!("`{entity}` began to move to other keys while it was exported; export again");
        Err(Error::new(ErrorKind::Unavailable, detail).at_key(row.key.clone()))
    }

    /// Says of the row of a state that the move has not begun, if it is such a one.
    pub(in crate::database) fn begin_anew(&self, row: &mut Row) {
        if place(&row.key.row).is_some_and(|(entity, name)| self.is(entity, name)) {
            row.properties.insert("State", IndexState::Absent.word());
            row.properties.remove(CLOSED);
        }
    }
}

/// The entity and the name of what this is the row of the state of.
fn place(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix(INDEX)?.split_once('|')
}

/// What a program says that it knows, if the new form of the entity is its own.
pub(in crate::database) fn taker_row(listed: &'static EntitySchema) -> Option<String> {
    let moved = listed.moved_from.and_then(|old| old.moves_to.as_ref())?;
    Some(index_row(listed.entity_type, &taker(&moved.name())))
}
