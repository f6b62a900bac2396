//! What is derived from an entity: index rows, copies, and what it adds to aggregates.
//!
//! All of it is constant data.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use tablemodel_store::{Properties, Value, ValueRef};

use super::{COPIED_SEQUENCE, EntitySchema};
use crate::{entity::FieldError, key::Template, property::ValueError};

/// A count, a sum, or the least or greatest value over entities, kept in a property of another entity.
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
    /// The least value of this property.
    Min(&'static str),
    /// The greatest value of this property.
    Max(&'static str),
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
    /// Of a list in the entity's partition: where its keys go when they outgrow their row.
    pub store: Store,
}

/// Where the keys of a list go when they outgrow their row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Into chunks: rows behind it.
    Rows,
    /// Into a blob, once they are so many UTF-16 code units of JSON.
    Blob {
        /// Fewer stay in the row.
        inline_below: usize,
    },
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
    /// Tells whether it can be read from the fields of its holder, by its stored name. For generated code.
    #[doc(hidden)]
    pub reads: ReadsCopy,
}

/// What is wrong with a copy that is stored under this name.
pub(crate) type ReadsCopy = fn(&Properties, &'static str) -> Result<(), FieldError>;

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

impl Function {
    /// Whether both keep the same kind of result, where constants ask; of which property is not looked at.
    pub(crate) const fn is_as(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Count, Self::Count)
                | (Self::Sum(_), Self::Sum(_))
                | (Self::Min(_), Self::Min(_))
                | (Self::Max(_), Self::Max(_))
        )
    }
}

impl OnDelete {
    /// Whether both are the same, where constants ask.
    pub(crate) const fn is(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Clear, Self::Clear) | (Self::Restrict, Self::Restrict) | (Self::Keep, Self::Keep)
        )
    }
}

/// A kind of derived row: of an index, the back-references of a copy, or the contributions to an aggregate.
#[derive(Debug, Clone)]
pub(crate) struct Derived {
    /// As in its discriminator: `by_email`, `~manager`.
    pub(crate) name: Cow<'static, str>,
    pub(crate) discriminator: Cow<'static, str>,
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

impl IndexSchema {
    /// The stored names of the properties that its rows are made from; nothing where that is the whole entity.
    pub(crate) fn made_from(&self) -> Option<impl Iterator<Item = &'static str>> {
        let kept = match self.cover {
            Cover::Whole => return None,
            Cover::Keep(names) => names,
            Cover::KeysOnly | Cover::List => &[],
        };
        let of_partition = self.elsewhere.iter().flat_map(|elsewhere| elsewhere.partition.parts());
        let in_keys = self.row.parts().chain(of_partition).map(|part| part.property);
        let asked = self.when.map(|when| when.property).into_iter().chain(self.each.map(|each| each.property));
        Some(in_keys.chain(asked).chain(kept.iter().copied()))
    }

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

    /// All stored names of this copy, as constants: those of what is copied, and that of the sequence number.
    pub(crate) fn all_stored(&self) -> impl Iterator<Item = &'static str> {
        self.properties.iter().copied().chain([COPIED_SEQUENCE]).map(|name| kept(self.stored(name)))
    }
}

/// A text as a constant. Each is kept once, for as long as the program runs: for names out of its schemas, which are few.
fn kept(text: String) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match all.get(text.as_str()) {
        Some(known) => known,
        None => {
            let new = &*text.leak();
            all.insert(new);
            new
        }
    }
}
