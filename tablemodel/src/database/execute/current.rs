//! What is registered of an entity, to a run: each of its changes asks for it, several times.
//!
//! Nothing is looked up here.

use std::{ops::Deref, sync::Arc};

use crate::database::Registered;

/// What is registered of an entity: as the caller of a run has it, or as it is by now. A clone copies none of it.
#[derive(Debug, Clone)]
pub(in crate::database) enum Current<'a> {
    Given(&'a Registered),
    Newer(Arc<Registered>),
}

impl Deref for Current<'_> {
    type Target = Registered;

    fn deref(&self) -> &Registered {
        match self {
            Self::Given(registered) => registered,
            Self::Newer(registered) => registered,
        }
    }
}
