//! Bonds: the copies of an entity that moves whose sources must not go while it is at neither key.
//!
//! The back-reference of each is put for the new key before the entity leaves the old one. Nothing is written here.

use tablemodel_store::{DateTime, Properties};

use crate::{
    error::Result,
    plan::{
        entries::{Entry, entries},
        image::Image,
        states::{IndexState, Setting},
    },
    rooms::copy::{self, Source},
    schema::{EntitySchema, OnDelete},
};

/// A copy that an entity must have, and that restricts the deletion of its source.
#[derive(Debug)]
pub(crate) struct Bond {
    /// Its back-reference.
    pub(crate) entry: Entry,
    pub(crate) source: Source,
}

impl Bond {
    /// Whether the source stands in the partition of the entity.
    pub(crate) fn is_beside(&self) -> bool {
        self.entry.away.is_none()
    }

    /// The back-reference, put before its holder.
    pub(crate) fn pending(&self, schema: &EntitySchema, expires: DateTime) -> Properties {
        copy::pending(&self.entry, schema, None, expires)
    }
}

/// The bonds of the entity as it is to be.
pub(crate) fn bonds(image: &Image, setting: &Setting) -> Result<Vec<Bond>> {
    let mut bonds = Vec::new();
    if image.schema.copies.iter().all(|copy| copy.optional) {
        return Ok(bonds);
    }
    for entry in entries(image)? {
        let copy = entry.index.checked_sub(image.schema.indexes.len()).and_then(|at| image.schema.copies.get(at));
        let binds = copy.filter(|copy| !copy.optional && copy.on_delete == OnDelete::Restrict);
        let is_written = setting.of(entry.index) >= IndexState::WriteOnly; // else nobody counts on it yet
        if let Some(source) = binds.filter(|_| is_written).map(|copy| copy::source(image, copy)).transpose()?.flatten()
        {
            bonds.push(Bond { entry, source });
        }
    }
    Ok(bonds)
}
