//! The versions of an entity: what came before this one, and the numbers by which all of them name what is derived.
//!
//! Rows are read and upgraded elsewhere (`plan::version`); here is only what the constants say.

use std::{borrow::Cow, fmt, iter::successors};

use tablemodel_store::Properties;

use super::{BLOB, CopySchema, Derived, EntitySchema, FieldSchema, IndexSchema, same};
use crate::{entity::FieldWriter, schema::AggregateSchema, upgrade::Fault};

/// How the fields of one version become those of another: all of them under their stored names, those of keys too.
pub(crate) type Convert = fn(&Properties) -> Result<FieldWriter, Fault>;

/// The version before this one, and the way from it. Made by `#[table(previous = EmployeeV1)]`.
#[derive(Clone, Copy)]
pub struct Previous {
    /// Its stored format.
    pub schema: &'static EntitySchema,
    pub(crate) upgrade: Convert,
    pub(crate) downgrade: Option<Convert>,
    /// Whether that version, or one before it, may be several rows.
    pub(crate) parts: bool,
    /// Whether that version, or one before it, keeps blobs, for whose content an upgrade may ask.
    pub(crate) blobs: bool,
}

impl fmt::Debug for Previous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Previous").field("schema", &self.schema.discriminator).finish_non_exhaustive()
    }
}

impl EntitySchema {
    /// This version and every one before it that is known, the newest first.
    pub fn lineage(&self) -> impl Iterator<Item = &EntitySchema> {
        successors(Some(self), |schema| schema.earlier())
    }

    /// The versions before this one, the newest first.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &'static EntitySchema> + use<> {
        successors(self.earlier(), |schema| schema.earlier())
    }

    fn earlier(&self) -> Option<&'static EntitySchema> {
        self.previous.as_ref().map(|previous| previous.schema)
    }

    /// Whether a row of an older version can be found as an index row, with fewer or other properties than now.
    pub(crate) fn has_ancestors(&self) -> bool {
        self.previous.is_some()
    }

    /// Whether an entity may be several rows, of this version or as an older one wrote it.
    pub(crate) const fn has_parts(&self) -> bool {
        match &self.previous {
            Some(previous) => previous.parts || self.shape.is_some(),
            None => self.shape.is_some(),
        }
    }

    /// Whether an older version keeps blobs.
    pub(crate) const fn had_blobs(&self) -> bool {
        matches!(&self.previous, Some(previous) if previous.blobs)
    }

    /// Whether a blob may have had another place in an older version: there are such, in one of the two.
    #[cfg(feature = "blob")]
    pub(crate) const fn has_moving_blobs(&self) -> bool {
        self.had_blobs() || (self.previous.is_some() && self.has_blobs())
    }

    /// Whether an entity may be more than its primary row: several rows, or blobs that are fetched to read it.
    pub(crate) const fn is_joined(&self) -> bool {
        self.has_parts() || self.had_blobs()
    }

    /// Whether a field of this version is kept as a blob.
    pub(crate) const fn has_blobs(&self) -> bool {
        let mut rest = self.fields;
        while let [field, tail @ ..] = rest {
            if let FieldSchema::Group { properties: [own, ..], .. } = field
                && same(own.codec, BLOB)
            {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Whether this version, or one before it, keeps blobs, or lists in them.
    #[cfg(feature = "blob")]
    pub(crate) fn keeps_blobs(&self) -> bool {
        let in_blob = |schema: &EntitySchema| schema.indexes.iter().any(|index| index.store != super::Store::Rows);
        self.has_blobs() || self.had_blobs() || in_blob(self) || self.ancestors().any(in_blob)
    }

    /// Whether the writes of this version keep what an older one wants to read.
    pub(crate) fn downgrades(&self) -> bool {
        self.previous.as_ref().is_some_and(|previous| previous.downgrade.is_some())
    }

    /// Kinds of derived rows that this version itself declares.
    pub(crate) const fn declared(&self) -> usize {
        self.indexes.len() + self.copies.len() + self.aggregates.len()
    }

    /// The same, and those of the form that it moves to.
    pub(crate) fn kinds(&self) -> usize {
        self.declared() + self.shadow_kinds()
    }

    /// The kinds of derived rows that only older versions declare: they have the numbers behind its own.
    pub(crate) fn former(&self) -> impl Iterator<Item = (&'static EntitySchema, usize)> + '_ {
        self.ancestors().flat_map(move |older| {
            let is_declared_since = move |at: &usize| {
                let mut nearer = self.lineage().take_while(move |near| near.version > older.version);
                nearer.any(|near| near.same_kind(older, *at).is_some())
            };
            (0..older.declared()).filter(move |at| !is_declared_since(at)).map(move |at| (older, at))
        })
    }

    /// The number by which this version names a kind of derived row of an older one.
    pub(crate) fn position_of(&self, older: &'static EntitySchema, at: usize) -> usize {
        if let Some(own) = self.same_kind(older, at) {
            return own;
        }
        let mut former = self.former();
        let is_it = |(other, place): (&'static EntitySchema, usize)| other.same_kind(older, at) == Some(place);
        self.kinds() + former.position(is_it).unwrap_or(usize::MAX / 2)
    }

    /// The version that declares the kind with this number, and its number there.
    fn former_at(&self, position: usize) -> Option<(&'static EntitySchema, usize)> {
        self.former().nth(position.checked_sub(self.kinds())?)
    }

    /// The index with this number, of whichever version.
    pub(crate) fn index_at(&self, position: usize) -> Option<&'static IndexSchema> {
        self.indexes.get(position).or_else(|| {
            let (older, at) = self.former_at(position)?;
            older.indexes.get(at)
        })
    }

    /// The copy with this number, of whichever version.
    pub(crate) fn copy(&self, position: usize) -> Option<&'static CopySchema> {
        let own = position.checked_sub(self.indexes.len()).and_then(|at| self.copies.get(at));
        own.or_else(|| self.former_at(position).and_then(|(older, at)| older.copy(at)))
    }

    /// The aggregate with this number, of whichever version.
    pub(crate) fn aggregate(&self, position: usize) -> Option<&'static AggregateSchema> {
        let before = self.indexes.len() + self.copies.len();
        let own = position.checked_sub(before).and_then(|at| self.aggregates.get(at));
        own.or_else(|| self.former_at(position).and_then(|(older, at)| older.aggregate(at)))
    }

    /// The kind of derived row with this number, of whichever version: indexes first, then copies, then aggregates, then
    /// those that only older versions have.
    pub(crate) fn derived(&self, position: usize) -> Option<Derived> {
        if position < self.kinds() {
            return self.own_kind(position);
        }
        let (older, at) = self.former_at(position)?;
        older.own_kind(at)
    }

    /// The same, as rows of this `version` carry it.
    pub(crate) fn derived_by(&self, position: usize, version: u32) -> Option<Derived> {
        let mut kind = self.derived(position)?;
        if version != self.version && !self.is_shadow(position) {
            let name = kind.discriminator.rsplit_once('@').map_or("", |(name, _)| name);
            kind.discriminator = Cow::Owned(format!("{name}@{version}"));
        }
        Some(kind)
    }

    /// The number of the kind of derived row with this name, of whichever version.
    pub(crate) fn derived_position(&self, name: &str) -> Option<usize> {
        let own = self.own_position(name);
        own.or_else(|| {
            let named = |(older, at): (&'static EntitySchema, usize)| older.own_position(name) == Some(at);
            Some(self.kinds() + self.former().position(named)?)
        })
    }

    /// The same, as this version has it: another may have another kind of that name. Of a version that is not known, or lacks it, as
    /// [`derived_position`](Self::derived_position).
    pub(crate) fn derived_position_by(&self, name: &str, version: u32) -> Option<usize> {
        let older = self.ancestors().find(|older| older.version == version);
        let its = older.and_then(|older| Some(self.position_of(older, older.own_position(name)?)));
        its.or_else(|| self.derived_position(name))
    }

    /// Where a kind of an older version stands in this one, if it is the same kind: rows of both are then compared one by one.
    fn same_kind(&self, older: &EntitySchema, at: usize) -> Option<usize> {
        if let Some(index) = older.indexes.get(at) {
            return self.indexes.iter().position(|own| is_same_index(own, index));
        }
        let copies = self.indexes.len();
        if let Some(copy) = at.checked_sub(older.indexes.len()).and_then(|at| older.copies.get(at)) {
            let is_same = |own: &CopySchema| own.name == copy.name && own.source_type == copy.source_type;
            return Some(copies + self.copies.iter().position(is_same)?);
        }
        let of = older.aggregates.get(at.checked_sub(older.indexes.len() + older.copies.len())?)?;
        let is_same = |own: &AggregateSchema| {
            own.target.entity_type == of.target.entity_type
                && own.into == of.into
                && own.is_extreme() == of.is_extreme()
                && own.is_beside(self) == of.is_beside(older)
        };
        Some(copies + self.copies.len() + self.aggregates.iter().position(is_same)?)
    }
}

/// Whether the indexes differ in nothing but where a row stands and what it holds.
fn is_same_index(own: &IndexSchema, other: &IndexSchema) -> bool {
    let table = |index: &IndexSchema| index.elsewhere.as_ref().map(|elsewhere| elsewhere.table);
    own.name == other.name
        && own.unique == other.unique
        && own.is_list() == other.is_list()
        && table(own) == table(other)
}
