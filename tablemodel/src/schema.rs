//! The stored format of an entity as constant data: what the derive emits, and what planning, reading, documentation
//! and migrations go by.
//!
//! No I/O and no user types here; everything is `const` so that it can be compared while the user's program compiles.

mod alike;
mod constant;
mod derived;
mod lineage;
mod moved;
mod place;
mod plain;
mod property;
mod shape;

use tablemodel_store::{Properties, limits};

pub(crate) use self::alike::{Adding, Versioned};
use self::constant::compare;
pub(crate) use self::constant::{at, order, same, same_bytes};
pub(crate) use self::derived::Derived;
pub(crate) use self::lineage::Convert;
pub(crate) use self::moved::{is_move, move_to, moved_to, taken, taker};
pub(crate) use self::place::{colliding, rows_may_collide};
use self::property::clash;
pub use self::{
    derived::{
        AggregateSchema, CopyKey, CopySchema, Cover, Each, Elsewhere, Function, IndexSchema, OnDelete, Store, When,
    },
    lineage::Previous,
    moved::Moved,
    property::{FieldSchema, PropertySchema},
    shape::{PartSchema, Shape},
};
use crate::{
    entity::FieldError,
    key::{Part, Template},
    rooms::chunked,
};

/// Properties that the framework itself puts on a primary row: `EntityType`, `_seq`, `_ops` (see FORMAT.md).
pub(crate) const SYSTEM_PROPERTIES: usize = 3;

/// The codec of the properties of a blob field.
pub(crate) const BLOB: &str = "blob";

/// The stored format of one entity.
#[derive(Debug)]
pub struct EntitySchema {
    /// The stable name of the entity: the first half of the discriminator.
    pub entity_type: &'static str,
    /// The version of the stored format.
    pub version: u32,
    /// What primary rows carry as `EntityType`: `Employee@2`.
    pub discriminator: &'static str,
    /// The table, without the run-time prefix.
    pub table: &'static str,
    /// The fields, in the order of the struct; skipped ones are not here.
    pub fields: &'static [FieldSchema],
    /// The template of the partition key.
    pub partition: Template,
    /// The template of the row key.
    pub row: Template,
    /// The indexes, in the order they were declared.
    pub indexes: &'static [IndexSchema],
    /// The copies of other entities' properties, in the order they were declared.
    pub copies: &'static [CopySchema],
    /// The aggregates that it adds to, in the order they were declared.
    pub aggregates: &'static [AggregateSchema],
    /// The aggregates whose cells stand in parts beside it. It holds nothing of them itself.
    pub sharded: &'static [PropertySchema],
    /// Whether rows that other programs wrote (without our system properties) are read as version 1.
    pub adopt: bool,
    /// How the entity is cut into several rows; none for one that is always one row.
    pub shape: Option<Shape>,
    /// Names of removed properties and indexes, which may never return.
    pub reserved: &'static [&'static str],
    /// Where the struct is in the program, for generated code: `company::model::Employee`. Not stored.
    pub path: &'static str,
    /// The version before this one, whose rows are read as this one's.
    pub previous: Option<Previous>,
    /// The oldest version whose programs may read rows of this one.
    pub readable_by: Option<u32>,
    /// The form at other keys, or in another table, that it moves to.
    pub moves_to: Option<Moved>,
    /// The form that it is kept in until its move is switched; made so that it moves to this one.
    pub moved_from: Option<&'static EntitySchema>,
    /// Whether it only tells how rows were once: nothing is written or found by it.
    pub frozen: bool,
    /// Of a frozen one, the aggregates that it added to, as the lock has them: `Department.EmployeeCount`.
    pub added_to: &'static [&'static str],
    /// Tells whether its struct can be read from all fields. For generated code.
    #[doc(hidden)]
    pub reads: Option<Reads>,
}

/// What is wrong with fields that a struct cannot be read from.
pub(crate) type Reads = fn(&Properties) -> Result<(), FieldError>;

impl EntitySchema {
    /// All stored and key properties, flattened.
    pub fn properties(&'static self) -> impl Iterator<Item = &'static PropertySchema> {
        self.fields.iter().flat_map(FieldSchema::properties)
    }

    /// The property with this stored name.
    pub fn property(&'static self, name: &str) -> Option<&'static PropertySchema> {
        self.properties().find(|candidate| candidate.property == name)
    }

    /// The field of the struct that a stored property is of: the one that has it, or the copy that it is part of.
    pub(crate) fn field_of(&'static self, property: &str) -> Option<&'static str> {
        let own = self.property(property).or_else(|| self.sharded(property)).map(|own| own.field);
        let copy = || self.copies.iter().find(|copy| copy.property == property || copy.holds(property));
        own.or_else(|| copy().map(|copy| copy.name))
    }

    /// The index with this name.
    pub fn index(&'static self, name: &str) -> Option<&'static IndexSchema> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The kind of derived row at this position of its own.
    fn own_kind(&self, position: usize) -> Option<Derived> {
        if let Some(index) = self.indexes.get(position) {
            let IndexSchema { name, discriminator, unique, .. } = *index;
            let table = index.elsewhere.as_ref().map(|elsewhere| elsewhere.table);
            return Some(Derived { name: name.into(), discriminator: discriminator.into(), table, unique });
        }
        let copy = position.checked_sub(self.indexes.len()).and_then(|at| self.copies.get(at));
        let Some(copy) = copy else { return self.shadow_kind(position).or_else(|| self.contributed(position)) };
        let discriminator = copy.discriminator;
        let name =
            discriminator.split_once('.').and_then(|(_, name)| name.rsplit_once('@')).map_or("", |(name, _)| name);
        let table = Some((copy.source)().table);
        Some(Derived { name: name.into(), discriminator: discriminator.into(), table, unique: false })
    }

    /// The position of the kind of derived row with this name, among its own.
    fn own_position(&self, name: &str) -> Option<usize> {
        let before = self.indexes.len() + self.copies.len();
        let position = (0..before).find(|at| self.own_kind(*at).is_some_and(|kind| kind.name == name));
        let aggregate = || Some(before + self.aggregates.iter().position(|aggregate| aggregate.is_named(name))?);
        position.or_else(aggregate).or_else(|| self.shadow_named(name))
    }

    /// The copy that this stored property is part of.
    pub(crate) fn copy_with(&self, property: &str) -> Option<&'static CopySchema> {
        self.copies.iter().find(|copy| copy.holds(property))
    }

    /// Whether a copy of such a source restricts that it is deleted.
    pub(crate) fn restricts(&self, source_type: &str) -> bool {
        self.copies.iter().any(|copy| copy.source_type == source_type && copy.on_delete == OnDelete::Restrict)
    }

    /// Whether the property can be read back from the entity's own keys, and is therefore not stored beside them.
    pub fn in_key(&self, property: &str) -> bool {
        let is_it = |part: &'static Part| part.property == property && !part.codec.is_lossy();
        self.partition.parts().any(is_it) || self.row.parts().any(is_it)
    }

    /// The component that holds a property in full, and its place among all such of the partition key, then of the row key.
    pub(crate) fn place_in_keys(&self, property: &str) -> Option<(usize, &'static Part)> {
        let parts = self.partition.parts().chain(self.row.parts()).filter(|part| !part.codec.is_lossy());
        parts.enumerate().find(|(_, part)| part.property == property)
    }

    /// A name that two properties have, and the Rust fields that those are of. Looks through `flatten`, which the derive cannot.
    pub(crate) const fn duplicate_property(&self) -> Option<(&'static str, &'static str, &'static str)> {
        match clash(self.fields) {
            Some((name, i, j)) => Some((name, at(self.fields, i).name(), at(self.fields, j).name())),
            None => None,
        }
    }

    /// Whether a property, of a group too, has the name of a chunk of another.
    pub const fn has_chunk_clash(&self) -> bool {
        let Some(Shape { chunked: cut, .. }) = self.shape else { return false };
        let mut i = 0;
        while i < self.fields.len() {
            let properties = at(self.fields, i).properties();
            let mut j = 0;
            while j < properties.len() {
                let mut k = 0;
                while k < cut.len() {
                    if chunked::is_of(at::<&str>(cut, k), at(properties, j).property) {
                        return true;
                    }
                    k += 1;
                }
                j += 1;
            }
            i += 1;
        }
        false
    }

    /// Whether the row could hold more properties than a store takes.
    pub const fn has_too_many_properties(&self) -> bool {
        let mut count = self.property_count() + SYSTEM_PROPERTIES + self.readable_by.is_some() as usize;
        let mut rest = self.copies;
        while let [copy, tail @ ..] = rest {
            count += copy.properties.len() + 1; // and the sequence number
            rest = tail;
        }
        !self.is_wide() && count > limits::MAX_PROPERTIES
    }

    /// Whether properties that do not fit in one row go into others.
    pub const fn is_wide(&self) -> bool {
        matches!(self.shape, Some(Shape { wide: true, .. }))
    }

    /// The property at this position, counted over all fields.
    pub(crate) const fn property_at(&self, wanted: usize) -> &'static PropertySchema {
        let mut seen = 0;
        let mut i = 0;
        loop {
            let properties = at(self.fields, i).properties();
            if wanted < seen + properties.len() {
                return at(properties, wanted - seen);
            }
            seen += properties.len();
            i += 1;
        }
    }

    /// Whether some of its rows hold something of several entities.
    pub(crate) fn has_shared_rows(&self) -> bool {
        self.has_aggregates() || self.has_lists()
    }

    /// Whether it adds to aggregates, or an older version of it did.
    pub(crate) fn has_aggregates(&self) -> bool {
        self.lineage().any(|schema| !schema.aggregates.is_empty())
    }

    /// Whether it keeps copies, or an older version of it did.
    pub(crate) fn has_copies(&self) -> bool {
        self.lineage().any(|schema| !schema.copies.is_empty())
    }

    /// Whether it stands in lists, or an older version of it did.
    pub(crate) fn has_lists(&self) -> bool {
        self.lineage().flat_map(|schema| schema.indexes).any(|index| index.cover == Cover::List)
    }

    /// The aggregate in parts that is stored under this name.
    pub(crate) fn sharded(&self, name: &str) -> Option<&'static PropertySchema> {
        self.sharded.iter().find(|own| own.property == name)
    }

    /// Whether some of its properties hold aggregates.
    pub(crate) fn holds_aggregates(&'static self) -> bool {
        self.properties().any(|property| property.aggregate)
    }

    /// Whether some of its rows stand outside its own partition, or those of an older version did.
    pub const fn has_rows_elsewhere(&self) -> bool {
        let mut rest = self.indexes;
        if let Some(previous) = &self.previous
            && previous.schema.has_rows_elsewhere()
        {
            return true;
        }
        while let [index, tail @ ..] = rest {
            if index.elsewhere.is_some() {
                return true;
            }
            rest = tail;
        }
        !self.copies.is_empty() || self.has_aggregates_elsewhere()
    }

    /// Whether it has values that are unique over several partitions, or an older version of it had.
    pub(crate) fn has_claims(&self) -> bool {
        self.lineage().flat_map(|schema| schema.indexes).any(IndexSchema::is_claim)
    }

    /// The number of properties, flattened.
    pub const fn property_count(&self) -> usize {
        let mut count = 0;
        let mut i = 0;
        while i < self.fields.len() {
            count += at(self.fields, i).properties().len();
            i += 1;
        }
        count
    }
}

/// After a copy's name and `_`: the sequence number of the source that was copied.
pub(crate) const COPIED_SEQUENCE: &str = "_seq";

/// Whether two entities have the same name.
pub(crate) const fn same_entity_type(a: &EntitySchema, b: &EntitySchema) -> bool {
    same(a.entity_type, b.entity_type)
}
