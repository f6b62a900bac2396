//! The stored format of an entity as constant data: what the derive emits, and what planning, reading, documentation
//! and migrations go by.
//!
//! No I/O and no user types here; everything is `const` so that it can be compared while the user's program compiles.

use std::cmp::Ordering;

use tablemodel_store::{EdmType, Value, ValueRef, limits};

use crate::{
    key::Template,
    property::{Property, ValueError},
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
    /// Whether rows that other programs wrote (without our system properties) are read as version 1.
    pub adopt: bool,
    /// How the entity is cut into several rows; none for one that is always one row.
    pub shape: Option<Shape>,
}

/// How an entity is cut into several rows: a head at its keys, and parts behind it. See [`rooms::wide`](crate::rooms::wide).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Whether it may have more properties than a row takes.
    pub wide: bool,
    /// The stored names of the properties that are cut into chunks.
    pub chunked: &'static [&'static str],
    /// Fields that stand together, in parts of their own.
    pub parts: &'static [PartSchema],
}

/// Fields of an entity that stand together, apart from the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSchema {
    /// What the program calls the part; not stored.
    pub name: &'static str,
    /// The Rust fields.
    pub fields: &'static [&'static str],
}

/// One field of an entity.
#[derive(Debug)]
pub enum FieldSchema {
    /// A field stored as one property.
    Property(PropertySchema),
    /// A field of several properties: one marked `flatten`, whose own fields they are, or `blob`.
    Group {
        /// The Rust field.
        field: &'static str,
        /// The properties.
        properties: &'static [PropertySchema],
    },
}

/// One stored property.
#[derive(Debug, Clone, Copy)]
pub struct PropertySchema {
    /// The Rust field, for messages.
    pub field: &'static str,
    /// The stored name.
    pub property: &'static str,
    /// The Edm type it is stored as.
    pub edm: EdmType,
    /// The identity of the encoding (`u32`, `json`, ...): part of the format.
    pub codec: &'static str,
    /// Whether the property may be absent because the value is `None`.
    pub nullable: bool,
    /// Whether an absent property reads as a default.
    pub default: bool,
    /// Whether it holds an aggregate: what is written is what its sources come to.
    pub aggregate: bool,
}

/// A count or a sum over entities, kept in a property of another entity of their partition.
#[derive(Debug)]
pub struct AggregateSchema {
    /// The target's field, for messages.
    pub name: &'static str,
    /// The entity that holds the result.
    pub target: &'static EntitySchema,
    /// The properties of the target's key, each with the property of this entity that says which target.
    pub key: &'static [(&'static str, &'static str)],
    /// The property of the target, by its stored name.
    pub into: &'static str,
    /// What is kept.
    pub function: Function,
    /// An entity counts only while this holds.
    pub when: Option<When>,
}

/// What an aggregate keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The number of entities.
    Count,
    /// The sum of this property.
    Sum(&'static str),
}

/// An index: one more row per entity, under other keys.
#[derive(Debug)]
pub struct IndexSchema {
    /// The name, as declared.
    pub name: &'static str,
    /// What its rows carry as `EntityType`: `Employee.by_email@2`.
    pub discriminator: &'static str,
    /// Where its rows stand; none where that is the entity's own partition.
    pub elsewhere: Option<Elsewhere>,
    /// The template of the row key.
    pub row: Template,
    /// One row for each element of a list.
    pub each: Option<Each>,
    /// What an index row holds.
    pub cover: Cover,
    /// Whether the index's own key determines the entity.
    pub unique: bool,
    /// The row exists only while this holds.
    pub when: Option<When>,
    /// Whether its reads look at the entity before they give a row.
    pub verified: bool,
}

/// Properties of another entity, kept on the rows of this one.
#[derive(Debug)]
pub struct CopySchema {
    /// The Rust field.
    pub name: &'static str,
    /// What its stored names begin with: `Manager` for `Manager_FirstName`.
    pub property: &'static str,
    /// What its back-references carry as `EntityType`: `Department.~manager@2`.
    pub discriminator: &'static str,
    /// The entity that is copied.
    pub source: fn() -> &'static EntitySchema,
    /// Its stored name; by it, models are checked while they compile.
    pub source_type: &'static str,
    /// From which fields the key of the source is made.
    pub key: &'static [CopyKey],
    /// The stored names, on the source, of what is copied.
    pub properties: &'static [&'static str],
    /// Whether there may be no source.
    pub optional: bool,
    /// What becomes of the copy when its source is deleted.
    pub on_delete: OnDelete,
}

/// One field of a source's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyKey {
    /// The Rust field of the source.
    pub field: &'static str,
    /// Its stored name on the source.
    pub source: &'static str,
    /// The stored name of the field on the holder that has its value.
    pub holder: &'static str,
}

/// What becomes of a copy when its source is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDelete {
    /// It becomes `None`.
    Clear,
    /// The source cannot be deleted while it is copied.
    Restrict,
    /// It stays as it was.
    Keep,
}

/// A kind of derived row: of an index, or the back-references of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Derived {
    /// As in its discriminator: `by_email`, `~manager`.
    pub(crate) name: &'static str,
    pub(crate) discriminator: &'static str,
    /// The table of those of its rows that stand in other partitions.
    pub(crate) table: Option<&'static str>,
    pub(crate) unique: bool,
}

/// Where the rows of an index in another partition stand.
#[derive(Debug)]
pub struct Elsewhere {
    /// The table, without the run-time prefix.
    pub table: &'static str,
    /// The template of the partition key.
    pub partition: Template,
}

/// A list of which every element has a row of its own.
#[derive(Debug, Clone, Copy)]
pub struct Each {
    /// The stored name of the list's property.
    pub property: &'static str,
    /// The stored forms of its elements.
    pub elements: fn(Option<ValueRef<'_>>) -> Result<Vec<Value>, ValueError>,
}

/// What an index row holds beside the keys of its entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Every property.
    Whole,
    /// These properties, by their stored names.
    Keep(&'static [&'static str]),
    /// Nothing.
    KeysOnly,
    /// The index is a list in the entity's partition: one row holds the keys of all entities that have its key.
    List,
}

/// A condition on the entity, over one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// The stored name of the property.
    pub property: &'static str,
    /// `true`: holds while the property is absent or `false`; `false`: while it is present and not `false`.
    pub negated: bool,
}

impl When {
    /// Whether the condition holds for this value of its property.
    pub(crate) const fn holds(self, value: Option<ValueRef<'_>>) -> bool {
        let set = !matches!(value, None | Some(ValueRef::Boolean(false)));
        set != self.negated
    }
}

impl PropertySchema {
    /// The property of a field of type `T`.
    pub const fn of<T: Property>(field: &'static str, property: &'static str) -> Self {
        Self { field, property, edm: T::EDM, codec: T::CODEC, nullable: T::NULLABLE, default: false, aggregate: false }
    }

    /// The property of a field whose type says these. For generated code.
    #[doc(hidden)]
    pub const fn new(
        field: &'static str,
        property: &'static str,
        edm: EdmType,
        codec: &'static str,
        nullable: bool,
    ) -> Self {
        Self { field, property, edm, codec, nullable, default: false, aggregate: false }
    }

    /// A field stored as JSON text.
    pub const fn json(field: &'static str, property: &'static str) -> Self {
        Self { field, property, edm: EdmType::String, codec: "json", nullable: false, default: false, aggregate: false }
    }

    /// The same, holding an aggregate.
    pub const fn of_aggregate(self) -> Self {
        Self { aggregate: true, ..self }
    }

    /// A field kept as a blob: its own property is the value (Binary) or the name of the blob (String).
    pub const fn blob(field: &'static str, property: &'static str, nullable: bool) -> Self {
        Self { field, property, edm: EdmType::String, codec: BLOB, nullable, default: false, aggregate: false }
    }

    /// The length or the checksum of a blob; absent where the value is in the row.
    pub const fn blob_part(field: &'static str, property: &'static str) -> Self {
        Self { field, property, edm: EdmType::Int64, codec: BLOB, nullable: true, default: false, aggregate: false }
    }

    /// The same, reading as a default where absent.
    pub const fn or_default(self) -> Self {
        Self { default: true, ..self }
    }
}

impl FieldSchema {
    /// The Rust field.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Property(property) => property.field,
            Self::Group { field, .. } => field,
        }
    }

    /// The properties of the field.
    pub const fn properties(&'static self) -> &'static [PropertySchema] {
        match self {
            Self::Property(property) => std::slice::from_ref(property),
            Self::Group { properties, .. } => properties,
        }
    }
}

impl EntitySchema {
    /// All stored and key properties, flattened.
    pub fn properties(&'static self) -> impl Iterator<Item = &'static PropertySchema> {
        self.fields.iter().flat_map(FieldSchema::properties)
    }

    /// The property with this stored name.
    pub fn property(&'static self, name: &str) -> Option<&'static PropertySchema> {
        self.properties().find(|candidate| candidate.property == name)
    }

    /// The index with this name.
    pub fn index(&'static self, name: &str) -> Option<&'static IndexSchema> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The kind of derived row at this position: indexes first, then copies.
    pub(crate) fn derived(&self, position: usize) -> Option<Derived> {
        if let Some(index) = self.indexes.get(position) {
            let IndexSchema { name, discriminator, unique, .. } = *index;
            let table = index.elsewhere.as_ref().map(|elsewhere| elsewhere.table);
            return Some(Derived { name, discriminator, table, unique });
        }
        let copy = self.copies.get(position.checked_sub(self.indexes.len())?)?;
        let discriminator = copy.discriminator;
        let name =
            discriminator.split_once('.').and_then(|(_, name)| name.rsplit_once('@')).map_or("", |(name, _)| name);
        Some(Derived { name, discriminator, table: Some((copy.source)().table), unique: false })
    }

    /// The position of the kind of derived row with this name.
    pub(crate) fn derived_position(&self, name: &str) -> Option<usize> {
        (0..self.indexes.len() + self.copies.len()).find(|at| self.derived(*at).is_some_and(|kind| kind.name == name))
    }

    /// The copy that this stored property is part of.
    pub(crate) fn copy_with(&self, property: &str) -> Option<&'static CopySchema> {
        self.copies.iter().find(|copy| copy.holds(property))
    }

    /// Whether the property can be read back from the entity's own keys, and is therefore not stored beside them.
    pub fn in_key(&self, property: &str) -> bool {
        let mut parts = self.partition.parts().chain(self.row.parts());
        parts.any(|part| part.property == property && !part.codec.is_lossy())
    }

    /// Whether two fields are stored under one name. Looks through `flatten`, which the derive cannot.
    pub const fn has_duplicate_property(&self) -> bool {
        let mut i = 0;
        while i < self.fields.len() {
            let own = at(self.fields, i).properties();
            if repeats(own) {
                return true;
            }
            let mut j = i + 1;
            while j < self.fields.len() {
                if share_a_name(own, at(self.fields, j).properties()) {
                    return true;
                }
                j += 1;
            }
            i += 1;
        }
        false
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
        let mut count = self.property_count() + SYSTEM_PROPERTIES;
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

    /// Whether two paths of this entity could produce the same key.
    pub const fn has_overlapping_paths(&self) -> bool {
        let mut i = 0;
        while i < self.indexes.len() {
            let mut j = 0;
            while j <= i {
                if self.place(i + 1).may_meet(&self.place(j)) {
                    return true;
                }
                j += 1;
            }
            i += 1;
        }
        false
    }

    /// Whether some of its rows hold something of several entities.
    pub(crate) fn has_shared_rows(&self) -> bool {
        !self.aggregates.is_empty() || self.indexes.iter().any(|index| index.cover == Cover::List)
    }

    /// Whether some of its properties hold aggregates.
    pub(crate) fn holds_aggregates(&'static self) -> bool {
        self.properties().any(|property| property.aggregate)
    }

    /// Whether some of its rows stand outside its own partition.
    pub const fn has_rows_elsewhere(&self) -> bool {
        let mut rest = self.indexes;
        while let [index, tail @ ..] = rest {
            if index.elsewhere.is_some() {
                return true;
            }
            rest = tail;
        }
        !self.copies.is_empty()
    }

    /// Whether it has values that are unique over several partitions.
    pub(crate) fn has_claims(&self) -> bool {
        self.indexes.iter().any(IndexSchema::is_claim)
    }

    /// Where rows stand: primary ones for 0, those of the index before this number for others.
    pub(crate) const fn place(&self, number: usize) -> Place<'_> {
        if number == 0 {
            return Place { table: self.table, partition: &self.partition, row: &self.row };
        }
        let index = at(self.indexes, number - 1);
        match &index.elsewhere {
            None => Place { table: self.table, partition: &self.partition, row: &index.row },
            Some(elsewhere) => Place { table: elsewhere.table, partition: &elsewhere.partition, row: &index.row },
        }
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

/// Whether two of the properties have one name. Those of an array ascend, and are looked at once.
const fn repeats(properties: &[PropertySchema]) -> bool {
    let mut i = 1;
    while i < properties.len() {
        if !matches!(compare(at(properties, i - 1).property, at(properties, i).property), Ordering::Less) {
            let (before, rest) = properties.split_at(i);
            return share_a_name(before, rest) || repeats(before) || repeats(rest);
        }
        i += 1;
    }
    false
}

/// Whether a property of `a` has the name of one of `b`.
const fn share_a_name(a: &[PropertySchema], b: &[PropertySchema]) -> bool {
    let mut i = 0;
    while i < a.len() {
        let mut j = 0;
        while j < b.len() {
            if same(at(a, i).property, at(b, j).property) {
                return true;
            }
            j += 1;
        }
        i += 1;
    }
    false
}

impl IndexSchema {
    /// Whether its rows are claims: unique values in other partitions.
    pub(crate) const fn is_claim(&self) -> bool {
        self.unique && self.elsewhere.is_some()
    }
}

impl CopySchema {
    /// Whether the stored property is part of this copy: a copied one, or the sequence number they were copied at.
    pub(crate) fn holds(&self, property: &str) -> bool {
        let tail = property.strip_prefix(self.property).and_then(|tail| tail.strip_prefix('_'));
        tail.is_some_and(|tail| tail == COPIED_SEQUENCE || self.properties.contains(&tail))
    }

    /// The stored name, on the holder, of what is called so on the source.
    pub(crate) fn stored(&self, name: &str) -> String {
        format!("{}_{name}", self.property)
    }
}

/// After a copy's name and `_`: the sequence number of the source that was copied.
pub(crate) const COPIED_SEQUENCE: &str = "_seq";

/// Where rows of one kind stand.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    table: &'a str,
    partition: &'a Template,
    row: &'a Template,
}

impl Place<'_> {
    /// Whether rows of the two could have one key.
    pub(crate) const fn may_meet(&self, other: &Place<'_>) -> bool {
        // Rows first: they begin with different literals nearly always.
        same_table(self.table, other.table)
            && self.row.may_overlap(other.row)
            && self.partition.may_overlap(other.partition)
    }
}

/// Whether rows of two entities could have the same key, so that one would overwrite the other.
pub(crate) const fn rows_may_collide(a: &EntitySchema, b: &EntitySchema) -> bool {
    let mut i = 0;
    while i <= a.indexes.len() {
        let mut j = 0;
        while j <= b.indexes.len() {
            if a.place(i).may_meet(&b.place(j)) {
                return true;
            }
            j += 1;
        }
        i += 1;
    }
    false
}

/// Whether two entities have the same name.
pub(crate) const fn same_entity_type(a: &EntitySchema, b: &EntitySchema) -> bool {
    same(a.entity_type, b.entity_type)
}

/// Table names are compared without case, as the service does.
const fn same_table(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The order of bytes, in a constant.
const fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if *at(a, i) != *at(b, i) {
            return if *at(a, i) < *at(b, i) { Ordering::Less } else { Ordering::Greater };
        }
        i += 1;
    }
    if a.len() < b.len() {
        Ordering::Less
    } else if a.len() == b.len() {
        Ordering::Equal
    } else {
        Ordering::Greater
    }
}

/// Byte equality, in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if *at(a, i) != *at(b, i) {
            return false;
        }
        i += 1;
    }
    true
}

#[expect(clippy::indexing_slicing, reason = "slice::get is not const for a shared helper; callers stay below len")]
pub(crate) const fn at<T>(items: &[T], index: usize) -> &T {
    &items[index]
}
