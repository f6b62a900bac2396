//! What a format is where nothing is said of it: generated code names only what differs, and costs less to compile.
//!
//! Nothing is decided here.

use super::{Cover, EntitySchema, IndexSchema, Store};
use crate::key::Template;

impl EntitySchema {
    /// What holds where nothing is said. For generated code.
    #[doc(hidden)]
    pub const PLAIN: Self = Self {
        entity_type: "",
        version: 1,
        discriminator: "",
        table: "",
        fields: &[],
        partition: Template(&[]),
        row: Template(&[]),
        indexes: &[],
        copies: &[],
        aggregates: &[],
        sharded: &[],
        adopt: false,
        shape: None,
        reserved: &[],
        path: "",
        previous: None,
        readable_by: None,
        moves_to: None,
        moved_from: None,
        frozen: false,
        added_to: &[],
        reads: None,
    };

    /// What stands for an entity with mistakes, of which nothing else is known. For generated code.
    #[doc(hidden)]
    pub const MISTAKEN: Self = Self { version: 0, ..Self::PLAIN };

    /// Whether the entity does not compile for mistakes of its own: what another is to it cannot be told.
    pub(crate) const fn has_mistakes(&self) -> bool {
        self.version == 0
    }
}

impl IndexSchema {
    /// What holds where nothing is said. For generated code.
    #[doc(hidden)]
    pub const PLAIN: Self = Self {
        name: "",
        discriminator: "",
        elsewhere: None,
        row: Template(&[]),
        each: None,
        cover: Cover::Whole,
        unique: false,
        when: None,
        verified: false,
        store: Store::Rows,
    };
}
