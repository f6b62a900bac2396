//! A path that reads a projection.
//!
//! The check that the path's rows carry its fields is made by types, in `state`.

use std::marker::PhantomData;

use crate::{
    entity::Projection,
    error::Result,
    path::{
        Path,
        found::{Found, project},
        query::PathQuery,
        state::{PathKind, PathState},
    },
    plan::group::Group,
};

/// A path in state `S` that reads projection `P`. Made by [`Path::select`].
#[must_use]
pub struct Selected<P, S> {
    query: PathQuery,
    types: PhantomData<fn() -> (P, S)>,
}

impl<P: Projection, S> Selected<P, S> {
    pub(crate) fn new(query: PathQuery) -> Self {
        Self { query: query.selecting(P::PROPERTIES), types: PhantomData }
    }
}

impl<P, S> std::fmt::Debug for Selected<P, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.query.fmt(f)
    }
}

/// A projection is read from the path's own rows.
impl<P: Projection> Found for P {
    type Entity = P::Of;
    const OF_PRIMARY: bool = false;

    fn read(index: Option<usize>, rows: Group) -> Result<Self> {
        project(index, &rows)
    }
}

impl<P, S> Path for Selected<P, S>
where
    P: Projection,
    S: PathState,
    S::Kind: PathKind<Entity = P::Of>,
{
    type State = S;
    type Found = P;

    fn query(&self) -> &PathQuery {
        &self.query
    }

    fn into_query(self) -> PathQuery {
        self.query
    }
}
