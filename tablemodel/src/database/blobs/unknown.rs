//! Links that the program's struct does not have, of entities that go to another key: it is recorded where they go.
//!
//! Which those are is told in `links`. Nothing is uploaded or fetched here.

use super::LinkPlace;
use crate::{
    database::{Database, links},
    error::Result,
    plan::{change::Change, group::Group, image::Image},
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
        if self.0.blobs.is_none() {
            return links::check_none(old, new);
        }
        let place = LinkPlace::new(&self.table_name(new.schema.table), new.key.clone());
        for (_, blob) in links::carried(old, new) {
            self.check_writable()?;
            self.record_move(blob, &place).await?;
        }
        Ok(())
    }
}
