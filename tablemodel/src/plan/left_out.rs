//! Copies that a frozen struct leaves out, as `diff` writes it: rows of its version have them nevertheless, where the store says that all
//! rows do. What they are is told by the newest struct, and by the entity as that has it.
//!
//! Nothing is read or written here.

use crate::{
    plan::image::Image,
    schema::{CopySchema, EntitySchema},
};

/// Whether the version leaves the copy out.
pub(crate) fn leaves_out(older: &EntitySchema, copy: &CopySchema) -> bool {
    older.frozen && !older.copies.iter().any(|own| own.name == copy.name)
}

impl Image {
    /// The copies that the version that wrote it leaves out, with their numbers in the latest schema, and what tells them.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (usize, &'static CopySchema, &Self)> {
        let told = self.telling.as_deref().map(|now| {
            let copies = now.schema.copies.iter().enumerate();
            let copies = copies.filter(|(_, copy)| leaves_out(self.schema, copy));
            copies.map(move |(at, copy)| (now.schema.indexes.len() + at, copy, now))
        });
        told.into_iter().flatten()
    }

    /// Whether the copy is left out, and cannot be told.
    pub(crate) fn is_untold(&self, copy: &CopySchema) -> bool {
        leaves_out(self.schema, copy) && self.telling.is_none()
    }

    /// What tells the copies that it leaves out: the entity as this program knows it, or, where it cannot be upgraded here (that may
    /// take a blob), what is stored, if their sources are named by that.
    pub(super) fn telling(&self) -> Option<Self> {
        let mut left_out = self.latest.copies.iter().filter(|copy| leaves_out(self.schema, copy)).peekable();
        left_out.peek()?;
        let is_stored = |copy: &CopySchema| copy.key.iter().all(|pair| self.schema.property(pair.holder).is_some());
        match self.clone().upgrade() {
            Ok(now) => Some(now),
            Err(_) if left_out.all(is_stored) => Some(Self { schema: self.latest, ..self.clone() }),
            Err(_) => None,
        }
    }
}
