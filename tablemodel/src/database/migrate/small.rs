//! A migration that nobody asked for: of a store that nobody else writes, if it is small. And whether one may begin at all.
//!
//! What it does is what `apply` does.

use super::{Applied, Migrations, rows::Rows};
use crate::{
    database::Database,
    error::{ErrorKind, Result},
};

impl Database {
    /// Builds what was added to a store that nobody else writes, if it is small.
    pub(in crate::database) async fn build_small(&self) -> Result<()> {
        if !self.is_atomic() {
            return Ok(());
        }
        let rows = Rows::read(self).await?;
        let is_taken_back = rows.unfinished()?.is_some_and(|record| record.undo);
        if is_taken_back || rows.plan(self)?.steps.is_empty() || rows.lacking(self)?.is_some() {
            return Ok(());
        }
        if !self.migrations().is_small().await? {
            return Ok(());
        }
        match self.migrations().apply_small(rows.unfinished()?.is_some()).await {
            Err(error) if matches!(error.kind(), ErrorKind::MigrationRunning { .. } | ErrorKind::UnknownVersion) => {}
            Ok(applied) if !applied.is_complete() => {
                tracing::warn!("the store is not as the model says yet; see `db.migrations().failures()`");
            }
            other => drop(other?),
        }
        Ok(())
    }
}

impl Migrations {
    /// That a store of these states can be brought to the model: what begins with other writes asks this first. Cost: one request; where
    /// newer versions have something otherwise, one per 1,000 rows of their tables too.
    #[cfg(feature = "cli")]
    pub(crate) async fn check_open(&self) -> Result<()> {
        Rows::lasting(&self.db).await?.check_open(&self.db)
    }

    /// Applies what nobody asked for: what was set aside before is tried again first, since nobody may have been told of that either.
    async fn apply_small(&self, is_begun: bool) -> Result<Applied> {
        if is_begun {
            self.retry_failures().await?;
        }
        self.apply().await
    }
}
