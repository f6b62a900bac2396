//! A model as the commands have it: its formats, and the one thing that only its types can do, which is to be read from rows.

use std::fmt;

use crate::{
    entity::{ModelRow, TableModel},
    error::Result,
    schema::EntitySchema,
};

/// One [`TableModel`] of the program; [`cli!`](crate::cli!) makes it.
#[derive(Clone, Copy)]
pub struct Model {
    pub(crate) entities: &'static [&'static EntitySchema],
    /// Makes the struct of a row, and lets it go.
    pub(crate) read: fn(ModelRow) -> Result<()>,
}

impl Model {
    /// The model `M`.
    pub const fn of<M: TableModel>() -> Self {
        Self { entities: M::ENTITIES, read: read::<M> }
    }

    /// The entities of several models.
    pub(super) fn entities(models: &[Self]) -> Vec<&'static EntitySchema> {
        models.iter().flat_map(|model| model.entities).copied().collect()
    }
}

fn read<M: TableModel>(row: ModelRow) -> Result<()> {
    M::from_row(row).map(drop)
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entities.iter().map(|schema| schema.discriminator)).finish()
    }
}
