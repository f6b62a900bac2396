//! What a caller asks of a run, beside the changes.
//!
//! Nothing is decided here.

use crate::database::{calls::Haste, registry::Generation};

/// What a caller asks of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::database) struct Asked {
    /// Whether what became of each change is asked for.
    pub(in crate::database) told: bool,
    /// Whether the changes, where they are more than one batch can be, are one commit of several; a row that is not as expected
    /// is then an error, and not looked into.
    pub(in crate::database) together: bool,
    pub(in crate::database) haste: Haste,
    /// Whether it may go along with others whom it meets.
    pub(super) joins: bool,
    /// The states of indexes that it is made for: on others nothing is written.
    pub(super) epoch: Option<i64>,
}

impl Asked {
    pub(super) const TOLD: Self = Self { told: true, together: false, haste: Haste::Now, joins: false, epoch: None };
    /// The same, where it may go along with others.
    pub(super) const JOINING: Self = Self { joins: true, ..Self::TOLD };
    /// The same of those who go together.
    pub(in crate::database) const ALONG: Self = Self::TOLD;
    /// What became of each change is not asked for.
    pub(in crate::database) const UNTOLD: Self = Self { told: false, ..Self::TOLD };
    pub(in crate::database) const OF_MANY: Self = Self { haste: Haste::OfMany, ..Self::UNTOLD };
    pub(in crate::database) const TOGETHER: Self = Self { together: true, ..Self::OF_MANY };
    pub(in crate::database) const PATIENT: Self = Self { haste: Haste::None, ..Self::UNTOLD };

    /// The same, of changes that are one commit, however many.
    pub(in crate::database) fn abreast(self) -> Self {
        Self { together: true, ..self }
    }

    /// The same, on these states alone.
    pub(in crate::database) fn on(self, states: &Generation) -> Self {
        Self { epoch: Some(states.epoch), ..self }
    }
}
