//! The move of an entity to other keys in another table: which form it leaves, which one it takes, and by what numbers and names
//! the old one calls the rows of the new.
//!
//! Until the move is switched, the rows of the new form are derived from the old: shadows. Only constants are here.

use std::fmt;

use super::{Convert, Derived, EntitySchema};
use crate::{
    entity::TableEntity,
    upgrade::{Upgrade, convert},
};

/// What a move is called among the indexes of its entity; the version of the new form follows.
const NAME: &str = "~moved@";

/// Where an entity moves to, and how it becomes what it is there. Made by `#[table(moves_to = EmployeeV4)]`, or by
/// `#[table(moved_from = EmployeeV3)]` on the new form.
#[derive(Clone, Copy)]
pub struct Moved {
    to: fn() -> &'static EntitySchema,
    /// The new form once more, where constants may look at it: it does not name this one.
    beside: Option<&'static EntitySchema>,
    upgrade: Convert,
}

impl fmt::Debug for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moved").field("to", &self.form().discriminator).finish_non_exhaustive()
    }
}

impl Moved {
    /// From `Old` to `New`. For generated code.
    #[doc(hidden)]
    pub const fn of<Old: TableEntity, New: TableEntity + Upgrade<Old>>() -> Self {
        Self { beside: Some(New::SCHEMA), ..Self::back::<Old, New>() }
    }

    /// The same, of a new form that says itself where it comes from: constants of the one cannot look at the other.
    const fn back<Old: TableEntity, New: TableEntity + Upgrade<Old>>() -> Self {
        Self { to: schema_of::<New>, beside: None, upgrade: convert::<Old, New>() }
    }

    /// The new form, where a constant may look at it.
    pub(crate) const fn beside(&self) -> Option<&'static EntitySchema> {
        self.beside
    }

    /// The new form.
    pub(crate) fn form(&self) -> &'static EntitySchema {
        (self.to)()
    }

    pub(crate) fn upgrade(&self) -> Convert {
        self.upgrade
    }

    /// What the move is called among the indexes of its entity.
    pub(crate) fn name(&self) -> String {
        move_to(self.form().version)
    }
}

fn schema_of<E: TableEntity>() -> &'static EntitySchema {
    E::SCHEMA
}

/// What a move to this version is called among the indexes of its entity.
pub(crate) fn move_to(version: u32) -> String {
    format!("{NAME}{version}")
}

/// Whether this is what a move is called, or a row of one.
pub(crate) fn is_move(name: &str) -> bool {
    name.starts_with(NAME)
}

/// The version that the move of this name leads to.
pub(crate) fn moved_to(name: &str) -> Option<u32> {
    name.strip_prefix(NAME)?.parse().ok()
}

/// What a program says that it knows if it takes the new form for its own.
pub(crate) fn taker(name: &str) -> String {
    format!("{name}!")
}

/// The move of which this is the taker.
pub(crate) fn taken(name: &str) -> Option<&str> {
    name.strip_suffix('!').filter(|name| is_move(name))
}

impl EntitySchema {
    /// The old form `Old` as one that moves to `New`. For generated code.
    #[doc(hidden)]
    pub const fn moving<Old: TableEntity, New: TableEntity + Upgrade<Old>>() -> Self {
        let old = Old::SCHEMA;
        Self {
            entity_type: old.entity_type,
            version: old.version,
            discriminator: old.discriminator,
            table: old.table,
            fields: old.fields,
            partition: old.partition,
            row: old.row,
            indexes: old.indexes,
            copies: old.copies,
            aggregates: old.aggregates,
            sharded: old.sharded,
            adopt: old.adopt,
            shape: old.shape,
            reserved: old.reserved,
            path: old.path,
            previous: old.previous,
            readable_by: old.readable_by,
            moves_to: Some(Moved::back::<Old, New>()),
            moved_from: None,
            frozen: false,
            added_to: &[],
            reads: old.reads,
        }
    }

    /// Whether the entity is of one of the two forms of a move.
    #[inline]
    pub(crate) const fn moves(&self) -> bool {
        self.moves_to.is_some() || self.moved_from.is_some()
    }

    /// The other form of an entity that moves.
    pub(crate) fn other_form(&self) -> Option<&'static EntitySchema> {
        self.moves_to.as_ref().map(Moved::form).or(self.moved_from)
    }

    /// Whether rows of this version are of the other form, where the entity moves.
    #[inline]
    pub(crate) fn is_of_other_form(&self, version: u32) -> bool {
        match (&self.moves_to, self.moved_from) {
            (None, None) => false, // the usual case
            (Some(moved), _) => version >= moved.form().version,
            (None, Some(old)) => version <= old.version,
        }
    }

    /// The number of the first kind of shadow: that of primary rows; those of what the new form declares follow.
    pub(crate) const fn first_shadow(&self) -> usize {
        self.declared()
    }

    /// How many kinds of shadows there are.
    pub(crate) fn shadow_kinds(&self) -> usize {
        self.moves_to.as_ref().map_or(0, |moved| 1 + moved.form().declared())
    }

    /// Whether the kind with this number is one of the form that it moves to.
    pub(crate) fn is_shadow(&self, position: usize) -> bool {
        (self.first_shadow()..self.kinds()).contains(&position)
    }

    /// The kind of shadow with this number.
    pub(super) fn shadow_kind(&self, position: usize) -> Option<Derived> {
        let moved = self.moves_to.as_ref().filter(|_| self.is_shadow(position))?;
        let (name, to) = (moved.name(), moved.form());
        let Some(kind) = position.checked_sub(self.first_shadow() + 1).and_then(|at| to.own_kind(at)) else {
            let discriminator = to.discriminator.into();
            return Some(Derived { name: name.into(), discriminator, table: Some(to.table), unique: false });
        };
        let (name, table) = (format!("{name}.{}", kind.name), kind.table.or(Some(to.table)));
        Some(Derived { name: name.into(), table, unique: false, ..kind })
    }

    /// The number of the kind of shadow with this name.
    pub(super) fn shadow_named(&self, name: &str) -> Option<usize> {
        let moved = self.moves_to.as_ref().filter(|_| is_move(name))?;
        let rest = name.strip_prefix(&moved.name())?;
        match rest.strip_prefix('.') {
            None => rest.is_empty().then(|| self.first_shadow()),
            Some(kind) => Some(self.first_shadow() + 1 + moved.form().own_position(kind)?),
        }
    }

    /// The tables that rows of this form and of its versions stand in.
    pub(crate) fn tables(&'static self) -> impl Iterator<Item = &'static str> {
        let elsewhere = self.lineage().flat_map(|schema| schema.indexes).filter_map(|index| index.elsewhere.as_ref());
        std::iter::once(self.table).chain(elsewhere.map(|elsewhere| elsewhere.table))
    }

    /// The same, and those of the entities that it copies and adds to, where its back-references and contributions stand.
    pub(crate) fn all_tables(&'static self) -> impl Iterator<Item = &'static str> {
        let sources = self.lineage().flat_map(|schema| schema.copies).map(|copy| (copy.source)().table);
        let targets = self.lineage().flat_map(|schema| schema.aggregates).map(|aggregate| aggregate.target.table);
        self.tables().chain(sources).chain(targets)
    }

    /// Whether some of its writes may leave an outbox row.
    pub(crate) fn has_outbox(&self) -> bool {
        self.has_rows_elsewhere() || self.moves()
    }
}
