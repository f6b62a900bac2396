//! Seats: where a task waits for its turn, and may be taken along by the one whose turn it is.
//!
//! What becomes of it then is said elsewhere.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::{BoxFuture, Shared};

use super::{execute::company::Companion, update::chain::Link};

/// The making of what several tasks have in common: it goes on while any of them waits for it.
pub(super) type Making = Shared<BoxFuture<'static, ()>>;

/// A seat. Clones are one.
pub(super) struct Seat<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Seat<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Seat<T> {
    pub(super) fn of(who: T) -> Self {
        Self(Arc::new(Mutex::new(Some(who))))
    }

    fn who(&self) -> MutexGuard<'_, Option<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes along who sits there, if it fits.
    pub(super) fn take_along(&self, fits: impl FnOnce(&T) -> bool) -> Option<T> {
        self.who().take_if(|who| fits(who))
    }

    /// Who sits there leaves by itself; none where it was taken along.
    pub(super) fn leave(&self) -> Option<T> {
        self.who().take()
    }
}

/// What one waits with: a write that is planned, or an update that has yet to look.
#[derive(Clone)]
pub(super) enum Waiting {
    Write(Seat<Companion>),
    Update(Seat<Link>),
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Write(a), Self::Write(b)) => Arc::ptr_eq(&a.0, &b.0),
            (Self::Update(a), Self::Update(b)) => Arc::ptr_eq(&a.0, &b.0),
            _ => false,
        }
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write(_) => "Write",
            Self::Update(_) => "Update",
        })
    }
}
