//! All rows of one form of an entity, deleted: of the new one, whose move is taken back, or of the old one, once it is switched.
//!
//! The other form may stand in the same tables: rows are told apart by the versions that they name. Found by what they say that
//! they are, so that it can be begun again.

use std::collections::BTreeSet;

use tablemodel_store::{Comparison, Filter, Row};

use super::{
    states::Owned,
    undo::{remove_once, rows_of},
};
use crate::{
    database::registry::Generation,
    error::{Error, ErrorKind, Result},
    plan::system,
    schema::EntitySchema,
};

/// How often rows are looked for before it is given up.
const ROUNDS: u32 = 8;

/// Deletes every row of the form, whatever its kind; gives how many there were. `other` is the form that stays.
pub(super) async fn remove(
    owned: &Owned,
    states: &Generation,
    form: &'static EntitySchema,
    other: &'static EntitySchema,
) -> Result<u64> {
    let name = form.entity_type;
    // `/` follows `.`, with which kinds of derived rows begin.
    let at_least = Filter::compare(system::ENTITY_TYPE, Comparison::GreaterOrEqual, format!("{name}."));
    let derived = at_least.and(Filter::compare(system::ENTITY_TYPE, Comparison::Less, format!("{name}/")));
    let mut removed = 0;
    let newer = form.version.max(other.version);
    let is_of_newer = |row: &Row| system::version(&row.properties).is_some_and(|version| version >= newer);
    let is_its = |row: &Row| is_of_newer(row) == (form.version == newer);
    for filter in [rows_of(name), derived] {
        removed += remove_all(owned, states, form, &filter, &is_its).await?;
    }
    Ok(removed)
}

/// Deletes what remembers shadows that are gone.
pub(super) async fn remove_dead(owned: &Owned, states: &Generation, form: &'static EntitySchema) -> Result<()> {
    let is_dead = Filter::compare(system::DEAD, Comparison::Equal, true);
    let is_shadow = Filter::compare(system::MOVED, Comparison::GreaterOrEqual, "");
    let is_its = |row: &Row| system::kind(&row.properties).entity() == Some(form.entity_type);
    remove_all(owned, states, form, &is_dead.and(is_shadow), &is_its).await.map(drop)
}

async fn remove_all(
    owned: &Owned,
    states: &Generation,
    form: &'static EntitySchema,
    filter: &Filter,
    is_its: &(dyn Fn(&Row) -> bool + Send + Sync),
) -> Result<u64> {
    let tables: BTreeSet<_> = form.all_tables().collect();
    let mut removed = 0;
    for _ in 0..ROUNDS {
        let mut found = 0;
        for table in &tables {
            let (rows, gone) = remove_once(owned, states, &owned.db.table_name(table), filter.clone(), is_its).await?;
            (found, removed) = (found + rows, removed + gone);
        }
        if found == 0 {
            return Ok(removed);
        }
    }
    let detail = format!("rows of `{}` keep coming; a program writes it still", form.discriminator);
    Err(Error::new(ErrorKind::Unavailable, detail).of(form.entity_type))
}
