//! What may forbid that a source goes: holders whose copies restrict it, also those that are on their way to another key.
//!
//! What a copy restricts is decided in `plan::copies`; rows are only read here.

use tablemodel_store::{Row, RowKey};

use crate::{
    database::{Registered, copies::holder, execute::Run},
    error::Result,
    plan::{change::Change, system},
    rooms::{copy, rekey::is_reserved},
    schema::{EntitySchema, OnDelete},
};

impl Run<'_> {
    /// Reads what may forbid that the source goes: back-references of copies that restrict it, up to the first whose
    /// holder holds.
    pub(super) async fn find_restricting(
        &mut self,
        change: &Change,
        registered: &Registered,
        source: &str,
    ) -> Result<()> {
        let goes = match change {
            Change::Delete { .. } | Change::Leave { .. } => true,
            Change::Save { old, .. } => old.key().row == source && change.key().row != source,
            _ => false,
        };
        let key = RowKey::new(self.partition, source);
        for by in &registered.setting.copied {
            if !goes || by.copy.on_delete != OnDelete::Restrict {
                continue;
            }
            if by.holder.moves() {
                self.db.registered(by.holder)?; // else nobody can tell what holds
            }
            let prefix = copy::references_by(source, *by, None);
            let mut next = None;
            'pages: while let Some(page) =
                self.db.references(&registered.table, self.partition, &prefix, &mut next).await?
            {
                for row in page.rows {
                    let Some(holder) = holder(&row, *by)? else { continue };
                    let found = self.settled_holder(change.schema(), by.holder, &holder).await?;
                    let holds = copy::holds(*by, system::is_pending(&row.properties), found.as_ref(), &key)?;
                    self.known.references.entry(source.to_owned()).or_default().push(row);
                    if holds && !self.known.contains_key(&holder.row) {
                        break 'pages;
                    }
                }
            }
        }
        Ok(())
    }

    /// A holder as it is once it is not on its way there any more.
    async fn settled_holder(
        &mut self,
        own: &EntitySchema,
        schema: &'static EntitySchema,
        key: &RowKey,
    ) -> Result<Option<Row>> {
        let found = self.read_row(own, schema, key).await?.cloned();
        let Some(reserved) = found.as_ref().filter(|row| is_reserved(row)) else { return Ok(found) };
        self.db.clear_reservation(schema, reserved).await?;
        match schema.table.eq_ignore_ascii_case(own.table) && key.partition == self.partition {
            true => self.known.remove(&key.row),
            false => self.known.elsewhere.remove(&(schema.table, key.clone())),
        };
        Ok(self.read_row(own, schema, key).await?.cloned())
    }
}
