//! The states of an entity's indexes, as the store records them: an input of planning and of reading.
//!
//! Nothing is read or changed here; see `database::registry` for the rows.

use crate::{
    error::Result,
    plan::{
        entries::{Entry, told},
        image::Image,
        shadow,
    },
    schema::{CopySchema, EntitySchema},
};

/// How far an index is built. Only the four, in this order; two programs may be at most one apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexState {
    /// Its rows are neither written nor deleted.
    Absent,
    /// Its rows are deleted where found, never written.
    DeleteOnly,
    /// Its rows are written and deleted; queries may not use it.
    WriteOnly,
    /// Complete.
    Readable,
}

impl IndexState {
    /// The stored word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::DeleteOnly => "delete-only",
            Self::WriteOnly => "write-only",
            Self::Readable => "readable",
        }
    }

    /// The state of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Absent, Self::DeleteOnly, Self::WriteOnly, Self::Readable].into_iter().find(|state| state.word() == word)
    }
}

/// The states of the indexes of one entity, in the order of its schema, then those of its copies, then those of its
/// aggregates, and then those of what only older versions of it have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexStates(pub(crate) Vec<IndexState>);

impl IndexStates {
    /// The state of the index at this position of the schema.
    pub(crate) fn of(&self, index: usize) -> IndexState {
        self.0.get(index).copied().unwrap_or(IndexState::Absent)
    }
}

/// How an entity is kept in this store, as far as planning must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// How far each index is built.
    pub(crate) states: IndexStates,
    /// Whether rows in other partitions are written after the entity, by its outbox, rather than in one commit with it.
    pub(crate) deferred: bool,
    /// Whether a deleted entity leaves a tombstone.
    pub(crate) tombstones: bool,
    /// Whether rows of the form that it moves to are written or taken away with it.
    pub(crate) moving: bool,
    /// The copies that entities of the model have of this one.
    pub(crate) copied: Vec<CopiedBy>,
}

/// A copy that another entity has of this one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopiedBy {
    pub(crate) holder: &'static EntitySchema,
    pub(crate) copy: &'static CopySchema,
}

impl CopiedBy {
    /// What the copy is called among those that entities have: as the row of its state, after what all of these begin with.
    pub(crate) fn name(&self) -> String {
        format!("{}|~{}", self.holder.entity_type, self.copy.name)
    }

    /// Whether back-references of this kind, `~card` of an entity, are of the copy.
    pub(crate) fn is_named(&self, entity: &str, name: &str) -> bool {
        self.holder.entity_type == entity && name.strip_prefix('~') == Some(self.copy.name)
    }
}

impl PartialEq for CopiedBy {
    fn eq(&self, other: &Self) -> bool {
        self.copy.discriminator == other.copy.discriminator
    }
}

impl Eq for CopiedBy {}

impl Setting {
    /// Every derived row of an image that is stored, those of the form that it moves to included.
    pub(crate) fn entries(&self, image: &Image) -> Result<Vec<Entry>> {
        let mut entries = told(image, |_| false).entries;
        if self.moving {
            shadow::add_entries(image, &mut entries)?;
        }
        Ok(entries)
    }

    /// The state of the index at this position of the schema.
    pub(crate) fn of(&self, index: usize) -> IndexState {
        self.states.of(index)
    }

    /// Whether each entity has the copy at this place of its schema, and stands behind its source for it.
    pub(crate) fn copies(&self, schema: &EntitySchema, at: usize) -> bool {
        self.states.of(schema.indexes.len() + at) == IndexState::Readable
    }

    /// Whether the index at this position has all its rows; if `strict`, or should have them, to be complete soon.
    pub(crate) fn is_complete(&self, index: usize, strict: bool) -> bool {
        let least = if strict { IndexState::WriteOnly } else { IndexState::Readable };
        self.of(index) >= least
    }
}
