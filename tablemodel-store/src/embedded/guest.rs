//! A caller's work inside the engine, which takes a panic for damage of the file: one of the caller's goes on outside.
//!
//! Catches nothing for good.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// Where a panic of the caller's is kept until the engine is left.
#[derive(Default)]
pub(super) struct Guest(Option<Box<dyn Any + Send>>);

impl Guest {
    /// Runs the caller's work; nothing if it panicked. What it may have left half done, the caller sees only with the panic.
    #[inline]
    pub(super) fn run<T>(&mut self, work: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.0 = Some(panic);
                None
            }
        }
    }

    /// Leaves the engine: with the panic, if there was one.
    pub(super) fn leave(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }
}
