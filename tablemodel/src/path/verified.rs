//! A path over an index whose every row is checked against its entity before it gives a result.
//!
//! The check itself is `read`'s.

use std::marker::PhantomData;

use crate::path::{Path, query::PathQuery};

/// A path that looks at the entity behind each index row. Made by [`Path::verified`].
#[must_use = "a query does nothing until one of its terminals is called"]
#[derive(Debug)]
pub struct VerifiedPath<P> {
    query: PathQuery,
    path: PhantomData<fn() -> P>,
}

impl<P: Path> VerifiedPath<P> {
    pub(crate) fn new(path: P) -> Self {
        Self { query: path.into_query().verified(), path: PhantomData }
    }
}

impl<P: Path> Path for VerifiedPath<P> {
    type State = P::State;
    type Found = P::Found;

    fn query(&self) -> &PathQuery {
        &self.query
    }

    fn into_query(self) -> PathQuery {
        self.query
    }
}
