//! What a change comes to: the writes of a plan, and what they leave.
//!
//! Nothing is planned here.

use tablemodel_store::{Action, Properties, Row};

use crate::{
    plan::{
        copies::Guard,
        outbox::{AwayRow, Intent},
    },
    rooms::{aggregate, list::Edit},
};

/// Which row of the entity a write is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Primary,
    Part,
    Index(usize),
    /// A list of several entities' keys.
    List(usize),
    /// The cell of an aggregate.
    Cell,
    /// What is to be done in other partitions.
    Outbox,
    /// An entity whose copies follow a change of their source.
    Holder,
    /// An entity that is copied, as it is: so that it changes whenever a copy of it is taken.
    Source,
}

/// One write of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedRow {
    pub(crate) row: String,
    pub(crate) action: Action,
    pub(crate) role: Role,
}

/// The writes of one change, and the primary row's properties after it.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) rows: Vec<PlannedRow>,
    /// Rows of other partitions that differ after the change.
    pub(crate) away: Vec<AwayRow>,
    /// Entities of other partitions that must be as they were read.
    pub(crate) guards: Vec<Guard>,
    /// Of entities whose copies may have to follow later.
    pub(crate) copied: Vec<Intent>,
    /// What changes in rows of several entities, each with the position of its index.
    pub(crate) lists: Vec<(usize, Edit)>,
    /// What changes in aggregates.
    pub(crate) cells: Vec<aggregate::Edit>,
    pub(crate) after: Option<Properties>,
    /// The parts after it; the ETag of one that is written is not known yet.
    pub(crate) parts: Vec<Row>,
    /// Parts to write before the batch.
    pub(crate) staged: Vec<PlannedRow>,
    /// Parts to delete after it.
    pub(crate) swept: Vec<PlannedRow>,
}

/// The derived rows of a change, here and elsewhere.
#[derive(Debug, Default)]
pub(super) struct Derived {
    pub(super) rows: Vec<PlannedRow>,
    pub(super) away: Vec<AwayRow>,
    pub(super) lists: Vec<(usize, Edit)>,
}
