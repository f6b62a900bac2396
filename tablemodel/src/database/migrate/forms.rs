//! All rows of one form of an entity, deleted: of the new one, whose move is taken back, or of the old one, once it is switched.
//!
//! The other form may stand in the same tables: rows are told apart by the versions that they name. Found by what they say that
//! they are, so that it can be begun again.

use std::collections::BTreeSet;

use tablemodel_store::{Comparison, Filter, KeyRange, PropertyName, Query, Row, StoreErrorKind};

use super::{
    states::Owned,
    undo::{remove_once, rows_of},
};
use crate::{
    database::registry::Generation,
    error::{Error, ErrorKind, Result},
    plan::system,
    rooms::is_of_later,
    schema::EntitySchema,
};

/// How often rows are looked for before it is given up.
const ROUNDS: u32 = 8;

/// Deletes every row of the form, whatever its kind, but what only a later release has; gives how many there were. `other` is the form that
/// stays.
pub(super) async fn remove(
    owned: &Owned,
    states: &Generation,
    form: &'static EntitySchema,
    other: &'static EntitySchema,
) -> Result<u64> {
    let name = form.entity_type;
    let mut removed = 0;
    let is_its = |row: &Row| is_of(row, form, other) && !is_of_later(&row.key.row);
    for filter in [rows_of(name), derived_of(name)] {
        removed += remove_all(owned, states, form, &filter, &is_its).await?;
    }
    Ok(removed)
}

/// That nothing of the form is there that only a later release has: once the form is gone no program would finish it.
pub(super) async fn check_known(
    owned: &Owned,
    form: &'static EntitySchema,
    other: &'static EntitySchema,
) -> Result<()> {
    let tables: BTreeSet<_> = form.all_tables().collect();
    for table in &tables {
        let query = Query::new(owned.db.table_name(table), KeyRange::table()).filtered(derived_of(form.entity_type));
        let mut query = Query { select: Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]), ..query };
        loop {
            let page = match owned.db.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => break,
                other => other?,
            };
            if let Some(row) = page.rows.iter().find(|row| is_of_later(&row.key.row) && is_of(row, form, other)) {
                return Err(unknown(form, table, row));
            }
            owned.go_on().await?;
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
    }
    Ok(())
}

/// Rows of any version that are derived from the entity. `/` follows `.`, with which their kinds begin.
fn derived_of(entity: &str) -> Filter {
    let at_least = Filter::compare(system::ENTITY_TYPE, Comparison::GreaterOrEqual, format!("{entity}."));
    at_least.and(Filter::compare(system::ENTITY_TYPE, Comparison::Less, format!("{entity}/")))
}

/// Whether the row, which is the entity's, is of this of its two forms.
fn is_of(row: &Row, form: &EntitySchema, other: &EntitySchema) -> bool {
    let newer = form.version.max(other.version);
    system::version(&row.properties).is_some_and(|version| version >= newer) == (form.version == newer)
}

fn unknown(form: &EntitySchema, table: &str, row: &Row) -> Error {
    let told = system::entity_type(&row.properties).unwrap_or_default();
    let detail = format!(
        "a row of type `{told}` in table `{table}` is of a later release, and would be nobody's after the switch: let a program of that \
         release finish what it is for, then call `contract` again"
    );
    Error::unsupported(detail).of(form.entity_type).at_key(row.key.clone())
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
