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
        adopt: false,
        shape: None,
        reserved: &[],
        path: "",
        previous: None,
        readable_by: None,
        moves_to: None,
        moved_from: None,
        frozen: false,
    };
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
