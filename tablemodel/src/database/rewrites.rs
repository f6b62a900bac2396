//! Rewrites: to which version all rows of an entity were written, a state beside those of its indexes; and that no program of
//! an older version goes on writing from then on.
//!
//! What is recorded is read and judged here; rows are rewritten by a migration.

use std::collections::HashMap;

use tablemodel_store::Row;

use crate::{
    database::registry::{Registered, index_row, state},
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
    schema::EntitySchema,
};

/// What the name of a rewrite begins with, where others have that of an index; the version follows.
const REWRITE: &str = "~@";

/// The name of the rewrite to a version.
pub(super) fn name(version: u32) -> String {
    format!("{REWRITE}{version}")
}

/// The version that the rewrite of this name writes; nothing for an index.
pub(super) fn version(name: &str) -> Option<u32> {
    name.strip_prefix(REWRITE)?.parse().ok()
}

/// The rewrite that a store records for the entity: of one whose model reads older versions.
pub(super) fn recorded(schema: &EntitySchema) -> Option<String> {
    schema.has_ancestors().then(|| name(schema.version))
}

/// The rewrites that a program of this version may be beside.
pub(super) fn known(schema: &EntitySchema) -> impl Iterator<Item = String> + '_ {
    schema.lineage().map(|version| version.version).filter(|version| *version > 1).map(name)
}

/// The newest version, up to this one, that a rewrite to it has come so far.
pub(super) fn reached(entity: &str, rows: &HashMap<String, Row>, least: IndexState, most: u32) -> Result<Option<u32>> {
    let own = index_row(entity, "");
    let mut reached = None;
    for (key, row) in rows {
        let found = key.strip_prefix(&own).and_then(version).filter(|version| *version <= most);
        if found > reached && state(row)? >= least {
            reached = found;
        }
    }
    Ok(reached)
}

/// The version that all rows are of, or are about to be: rows of an older one are not written any more.
pub(super) fn newest(entity: &str, rows: &HashMap<String, Row>) -> Result<Option<u32>> {
    reached(entity, rows, IndexState::WriteOnly, u32::MAX)
}

impl Registered {
    /// That rows of this version are still written.
    ///
    /// # Errors
    ///
    /// `UnknownVersion` where all rows are, or are about to be, of a newer one.
    pub(crate) fn check_version(&self) -> Result<()> {
        let Some(newer) = self.rewritten.filter(|newer| *newer > self.schema.version) else { return Ok(()) };
        let detail = format!(
            "rows of this entity are rewritten as version {newer}; this program writes version {}: deploy the newer program, or \
             take the migration back with it",
            self.schema.version
        );
        Err(Error::new(ErrorKind::UnknownVersion, detail).of(self.entity_type))
    }
}
