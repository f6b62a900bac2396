//! A sample of an entity's rows, by the version that wrote them: golden rows, taken from a store. And whether there are any of one version.
//!
//! Nothing is decoded, upgraded or written.

use std::collections::BTreeMap;

use tablemodel_store::{Comparison, Filter, KeyRange, Query, StoreErrorKind};

use crate::{
    database::Database,
    error::Result,
    plan::{change::is_head, group::Group, system, version},
    row_json,
    schema::EntitySchema,
};

impl Database {
    /// The first entities of each version, so many each, as lines of an export. What other programs wrote into an adopted table is of the
    /// first version.
    /// Cost: one request per 1,000 rows of the entity's table.
    pub(crate) async fn sample(
        &self,
        schema: &'static EntitySchema,
        each: usize,
    ) -> Result<BTreeMap<u32, Vec<String>>> {
        let table = self.table_name(schema.table);
        let mut query = Query::new(&*table, KeyRange::table());
        let mut found: BTreeMap<u32, (usize, Vec<String>)> = BTreeMap::new();
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => break,
                other => other?,
            };
            for row in page.rows.into_iter().filter(|row| is_head(schema, row)) {
                let Some(version) = version::of_head(schema, &row) else { continue };
                let (entities, lines) = found.entry(version).or_default();
                if *entities >= each {
                    continue;
                }
                let group = match schema.has_parts() {
                    false => Some(Group::from(row)),
                    true => self.read_entity(schema, &table, &row.key).await?,
                };
                let Some(group) = group else { continue };
                *entities += 1;
                lines.extend(group.iter().map(|row| row_json::to_line(schema.table, row)));
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        Ok(found.into_iter().map(|(version, (_, lines))| (version, lines)).collect())
    }

    /// Whether an entity has this discriminator in a table, which need not be one of the model's.
    /// Cost: one request per 1,000 rows of the table, until one is found.
    pub(crate) async fn has_rows_of(&self, table: &str, discriminator: &str) -> Result<bool> {
        let is_it = Filter::compare(system::ENTITY_TYPE, Comparison::Equal, discriminator);
        self.has_any(table, is_it, |_| true).await
    }
}
