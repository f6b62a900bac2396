//! Reads by which the store shows rows where they lie: at once, or not at all where it does not, or is busy.
//!
//! Nothing is tried again here: who is shown nothing asks for the row.

use std::ops::ControlFlow;

use tablemodel_store::{Continuation, Query, Shown, StoreError};

use super::is_transient;
use crate::{
    database::Database,
    error::Result,
    observe::{self, StoreCall},
};

impl Database {
    /// Shows the row at a partition key and a row key, where the store shows rows, and is not busy; whether there is one. One point read.
    pub(crate) fn show_row(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool>> {
        self.shown(table, see, |see| self.0.store.show_at(table, key, see))
    }

    /// The same, of a row that is about to be written.
    pub(crate) fn show_row_in_passing(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool>> {
        self.shown(table, see, |see| self.0.store.show_in_passing(table, key, see))
    }

    #[inline]
    fn shown(
        &self,
        table: &str,
        see: &mut dyn FnMut(&Shown<'_>),
        show: impl FnOnce(&mut dyn FnMut(&Shown<'_>)) -> Option<std::result::Result<bool, StoreError>>,
    ) -> Option<Result<bool>> {
        let result = match self.begun() {
            None => show(see)?,
            begun => {
                let mut bytes = None;
                let result = show(&mut |row| {
                    bytes = Some(observe::shown_bytes(row));
                    see(row);
                })?;
                self.tell(begun, &result, || [StoreCall::point_read(table, 0, bytes)]);
                result
            }
        };
        match result {
            Err(error) if is_transient(&error) => None,
            other => Some(other.map_err(Into::into)),
        }
    }

    /// Shows the rows of a page, where the store does so, and is not busy; where the next page begins.
    pub(crate) fn show_page(
        &self,
        query: &Query,
        see: &mut dyn FnMut(&Shown<'_>) -> ControlFlow<()>,
    ) -> Option<Result<Option<Continuation>>> {
        let (mut rows, mut bytes, begun) = (0, 0, self.begun());
        let result = self.0.store.show_page(query, &mut |row| {
            rows += 1;
            if begun.is_some() {
                bytes += observe::shown_bytes(row);
            }
            see(row)
        })?;
        self.tell(begun, &result, || [StoreCall::page_read(query, 0, (rows, bytes))]);
        match result {
            Err(error) if is_transient(&error) && rows == 0 => None,
            other => Some(other.map_err(Into::into)),
        }
    }
}
