//! What an entity that moves holds on to: the sources of copies that it must have stay until it has arrived.
//!
//! Which those are is `plan::bonds`' to say.

use tablemodel_store::{Action, Condition};

use crate::{
    database::{Database, execute::Run},
    error::Result,
    plan::{bonds::Bond, change::is_primary, image::Image},
    rooms::copy,
};

impl Database {
    /// Lets the entity carry what the sources of the copies that it must have say, once those that restrict their deletion
    /// are registered: a source that goes after that leaves it what it has.
    pub(super) async fn bind(&self, run: &mut Run<'_>, to: &mut Image) -> Result<()> {
        if to.schema.copies.iter().all(|copy| copy.optional) {
            return Ok(());
        }
        run.register_arriving(to).await?;
        for copy in to.schema.copies.iter().filter(|copy| !copy.optional) {
            let source = copy::source(to, copy)?;
            let row = match &source {
                Some(source) => self.get_row(&self.table_name(source.schema.table), &source.key).await?,
                None => None,
            };
            match row.filter(|row| is_primary((copy.source)(), row)) {
                Some(row) => copy::fill(to, copy, Some(&row))?,
                None => copy::check_kept(to, copy, source.as_ref())?,
            }
        }
        Ok(())
    }

    /// The writes of the sources of these bonds as they are, so that who would delete one and has not seen the bond fails.
    pub(super) async fn held_sources(&self, to: &Image, bonds: &[Bond]) -> Result<Vec<(String, Action)>> {
        let mut held: Vec<(String, Action)> = Vec::new();
        for Bond { source, .. } in bonds {
            if held.iter().any(|(row, _)| *row == source.key.row) {
                continue;
            }
            let row = self.get_row(&self.table_name(source.schema.table), &source.key).await?;
            let Some(row) = row.filter(|row| is_primary(source.schema, row)) else {
                let of = to.schema.copies.iter().find(|copy| copy.source_type == source.schema.entity_type);
                return of.map_or(Ok(Vec::new()), |copy| Err(copy::missing(to, copy, Some(source))));
            };
            held.push((row.key.row, Action::Replace(row.properties, Condition::Match(row.etag))));
        }
        Ok(held)
    }
}
