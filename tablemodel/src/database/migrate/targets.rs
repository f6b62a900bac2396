//! What a migration writes once more: every entity of a type, or those alone that an older version wrote.
//!
//! Told by the `EntityType` of a row; nothing is read here.

use std::collections::BTreeSet;

use tablemodel_store::Row;

use super::counts::is_cell_alone;
use crate::{
    database::{Database, rewrites},
    plan::{change::is_head, version::is_older},
    schema::EntitySchema,
};

/// An entity type of which entities are written once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) schema: &'static EntitySchema,
    /// Whether all are, for rows that they come to want; else those of older versions, if they are to be rewritten.
    pub(super) all: bool,
    /// Whether anything comes into being, and not only new forms of what is there.
    builds: bool,
    /// Whether none of an older version may be left.
    rewrites: bool,
}

impl Target {
    /// Whether the row is the head of an entity that is to be written once more.
    pub(super) fn takes(&self, row: &Row) -> bool {
        is_head(self.schema, row) && (self.all || (self.rewrites && is_older(self.schema, row)))
    }
}

/// All of a migration.
#[derive(Debug, Clone)]
pub(super) struct Targets(Vec<Target>);

impl Targets {
    /// Those of these steps, each an entity and what it is to have.
    pub(super) fn of(db: &Database, steps: &[(String, String)]) -> Self {
        let target = |schema: &'static EntitySchema| {
            let own = || steps.iter().filter(|(entity, _)| entity == schema.entity_type);
            let is_rewrite = |(_, name): &(String, String)| rewrites::version(name).is_some();
            let (rewrites, builds) = (own().any(is_rewrite), own().any(|step| !is_rewrite(step)));
            let all = own().any(|step| !is_rewrite(step) && !is_cell_alone(schema, &step.1));
            (rewrites || builds).then_some(Target { schema, all, builds, rewrites })
        };
        Self(db.model().iter().copied().filter_map(target).collect())
    }

    /// Every entity of the model.
    pub(super) fn model(db: &Database) -> Self {
        Self(db.model().iter().map(|schema| Target { schema, all: true, builds: true, rewrites: false }).collect())
    }

    /// The same, of which none of an older version may be left.
    pub(super) fn rewritten(&self) -> Self {
        let rewritten = self.0.iter().filter(|target| target.rewrites);
        Self(rewritten.map(|target| Target { all: false, ..*target }).collect())
    }

    /// Whether one of the entities is such.
    pub(super) fn any(&self, is: impl Fn(&EntitySchema) -> bool) -> bool {
        self.0.iter().any(|target| is(target.schema))
    }

    /// Whether derived rows come into being, and not only new forms of those that are there.
    pub(super) fn build(&self) -> bool {
        self.0.iter().any(|target| target.builds)
    }

    /// The tables, each once.
    pub(super) fn tables(&self) -> BTreeSet<&'static str> {
        self.0.iter().map(|target| target.schema.table).collect()
    }

    /// The one that takes this row of a table.
    pub(super) fn find(&self, table: &str, row: &Row) -> Option<Target> {
        let mut here = self.0.iter().filter(|target| target.schema.table.eq_ignore_ascii_case(table));
        here.find(|target| target.takes(row)).copied()
    }

    /// The one of this entity type.
    pub(super) fn named(&self, entity: &str) -> Option<Target> {
        self.0.iter().find(|target| target.schema.entity_type == entity).copied()
    }
}
