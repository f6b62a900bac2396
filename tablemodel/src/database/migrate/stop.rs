//! Being asked to stop: what is at work on a migration looks for it between two steps.
//!
//! Nothing is undone: the same call goes on later.

use std::{fmt, sync::Arc};

use super::Migrations;
use crate::error::{Error, ErrorKind, Result};

/// How a program asks its own migration to stop.
#[derive(Clone, Default)]
pub(super) struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    pub(super) fn is_asked(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| asked())
    }

    /// That it may go on.
    pub(super) fn check(&self) -> Result<()> {
        match self.is_asked() {
            true => Err(Error::new(ErrorKind::Stopped, "stopped as it was asked to; the same call goes on from here")),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.0.is_some()).finish()
    }
}

impl Migrations {
    /// Has [`apply`](Migrations::apply), [`rollback`](Migrations::rollback) and [`contract`](Migrations::contract) of this
    /// value end with `Stopped` once `asked` says so: after the batch at hand, with what was done on record. Called often.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// # run(|db| async move {
    /// let stop = Arc::new(AtomicBool::new(false)); // set by a handler of Ctrl-C
    /// let asked = stop.clone();
    /// db.migrations().stop_when(move || asked.load(Ordering::Relaxed)).apply().await?;
    /// # Ok(())
    /// # });
    /// ```
    pub fn stop_when(self, asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Stop(Some(Arc::new(asked))), ..self }
    }
}
