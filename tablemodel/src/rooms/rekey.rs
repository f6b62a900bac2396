#![doc = include_str!("../../docs/rooms/rekey.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use serde_json::Value as Json;
use tablemodel_store::{DateTime, Properties, PropertyName, Row, RowKey, ValueRef, validate};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        entries::{Entry, entries, told},
        group::Group,
        image::Image,
        outbox::{ATTEMPTS, DUE, POISON, POISON_UNITS, check_keys, is_tombstone},
        part::{self, Generation, Marks, PartName},
        shape::{self, Cut},
        system,
    },
    schema::{EntitySchema, IndexSchema},
};

/// What the row keys of intents begin with.
pub(crate) const INTENT: &str = "~~move|";
/// Which move it is.
const MOVE: &str = "_move";
/// On an intent: the row key that the entity leaves.
const FROM: &str = "_from";
/// On a reservation: the row keys of unique indexes that are reserved with it.
const HELD: &str = "_held";
/// The name of a row that keeps a unique value, where an index row has its index's.
const HOLDING: &str = "~held";
/// Bytes that the rows of an intent may hold beside the image: keys of both places, and how often it was tried.
const BESIDE_BYTES: usize = 16 * 1024;

/// An entity on its way to another key.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    /// Tells it from every other move.
    pub(crate) id: String,
    /// The key that it leaves.
    pub(crate) from: RowKey,
    /// The entity as it will be, at its new key.
    pub(crate) to: Image,
}

impl Move {
    fn schema(&self) -> &'static EntitySchema {
        self.to.schema
    }

    /// The row key of its intent, in the partition that the entity leaves.
    pub(crate) fn row(&self) -> String {
        format!("{}{}", intents_of(&self.from.row), self.id)
    }

    /// Where its intent stands.
    pub(crate) fn intent_key(&self) -> RowKey {
        RowKey::new(self.from.partition.clone(), self.row())
    }

    /// Its intent: that the entity has left, and the whole of what it will be. Behind it stand parts, by their row keys,
    /// where one row does not hold that.
    pub(crate) fn intent(&self, sequence: i64, due: DateTime) -> Result<(Properties, Vec<(String, Properties)>)> {
        let Cut { head: mut properties, mut parts } = shape::cut_beside(&self.to, BESIDE_BYTES)?;
        Marks::of(Generation::Shared, parts.iter()).write(&mut properties);
        let (row, part_type) = (self.row(), system::part_type(self.schema()));
        parts.iter_mut().for_each(|part| part::stamp(part, &part_type, &row, sequence));
        let name = |at: usize| PartName { generation: Generation::Shared, number: at + 1 }.key(&row);
        let parts = parts.into_iter().enumerate().map(|(at, part)| (name(at), part)).collect();
        let discriminator = format!("{}.~move@{}", self.schema().entity_type, self.schema().version);
        system::stamp(&mut properties, discriminator, sequence, None);
        put_owner(&mut properties, &self.to.key);
        properties.insert(PropertyName::from_static(MOVE), self.id.clone());
        properties.insert(PropertyName::from_static(FROM), self.from.row.clone());
        properties.insert(PropertyName::from_static(ATTEMPTS), 0_i32);
        properties.insert(PropertyName::from_static(DUE), due);
        Ok((properties, parts))
    }

    /// That the rows of the intent are within the limits, also when it says why it cannot be delivered, and so are the markers of both
    /// partitions.
    pub(crate) fn check_intent(&self) -> Result<()> {
        let (mut properties, parts) = self.intent(i64::MAX, DateTime::MAX)?;
        let (own, to) = (self.row(), &self.to.key);
        let longest = parts.last().map_or(&own, |(row, _)| row);
        let what = "an entity that moves";
        check_keys(self.schema(), (&self.from.partition, &self.from.row), longest, what)?;
        check_keys(self.schema(), (&to.partition, &to.row), &to.row, what)?;
        properties.insert(PropertyName::from_static(POISON), "?".repeat(POISON_UNITS));
        validate::row(&self.from.partition, &self.row(), &properties).map_err(|error| {
            let detail =
                "the entity does not fit in one row with what a move adds: its old key, and how often it was tried";
            Error::new(ErrorKind::TooLarge, format!("{detail}; mark it `wide`"))
                .of(self.schema().entity_type)
                .at_key(self.from.clone())
                .caused_by(error)
        })
    }

    /// The move of an intent.
    pub(crate) fn read(schema: &'static EntitySchema, rows: &Group) -> Result<Self> {
        let row = &rows.head;
        let unreadable =
            || Error::corrupt("the intent of a move cannot be read").of(schema.entity_type).at_key(row.key.clone());
        let (id, from) = (text(&row.properties, MOVE), text(&row.properties, FROM));
        let key = system::owner(row).filter(|_| system::damaged(&row.properties).is_none());
        let (Some(id), Some(from), Some(key)) = (id, from, key) else { return Err(unreadable()) };
        let mut head = Row { key, ..row.clone() };
        head.properties.retain(|name| ![MOVE, FROM, ATTEMPTS, DUE, POISON].contains(&name));
        let to = Image::stored(schema, &Group { head, parts: rows.parts.clone(), fetched: None })?;
        Ok(Self { id, from: RowKey::new(row.key.partition.clone(), from), to })
    }

    /// What stands at the new key until the entity arrives: a tombstone to every reader, and whose move it waits for.
    pub(crate) fn reservation(&self, sequence: i64, expires: DateTime, held: &[Held]) -> Properties {
        let mut properties = system::tombstone(self.schema(), sequence, None);
        put_owner(&mut properties, &self.from);
        properties.insert(PropertyName::from_static(system::CLAIM), system::PENDING);
        properties.insert(PropertyName::from_static(system::EXPIRES), expires);
        properties.insert(PropertyName::from_static(MOVE), self.id.clone());
        let held: Json = held.iter().map(|held| held.row.as_str()).collect::<Vec<_>>().into();
        properties.insert(PropertyName::from_static(HELD), held.to_string());
        properties
    }

    /// The rows of unique indexes in the new partition: reserved with the key, since after the entity has left, nothing
    /// may keep it from arriving.
    pub(crate) fn held(&self) -> Result<Vec<Held>> {
        let is_unique = |entry: &Entry| {
            entry.away.is_none() && self.schema().index_at(entry.index).is_some_and(|index| index.unique)
        };
        let entries = entries(&self.to)?.into_iter().filter(is_unique);
        Ok(entries.map(|entry| Held { index: entry.index, row: entry.row, properties: self.holding() }).collect())
    }

    /// Those of them that the entity has not got at its old key, which may be in the same partition.
    pub(crate) fn newly_held(&self, was: &Image) -> Result<Vec<Held>> {
        let mut held = self.held()?;
        if self.stays() {
            let had = told(was, |_| false).entries;
            held.retain(|held| !had.iter().any(|entry| entry.away.is_none() && entry.row == held.row));
        }
        Ok(held)
    }

    /// Whether both keys are in one partition.
    pub(crate) fn stays(&self) -> bool {
        self.from.partition == self.to.key.partition
    }

    fn holding(&self) -> Properties {
        let mut properties = Properties::new();
        let discriminator = format!("{}.{HOLDING}@{}", self.schema().entity_type, self.schema().version);
        system::stamp(&mut properties, discriminator, 0, None);
        properties.insert(PropertyName::from_static(system::OWNER_ROW), self.to.key.row.clone());
        properties
    }

    /// Whether the entity will want this row of the index.
    pub(crate) fn wants(&self, index: &IndexSchema, key: &RowKey) -> Result<bool> {
        let is_it = |entry: &Entry| {
            let partition = entry.away.as_ref().map_or(&self.to.key.partition, |away| &away.partition);
            let named = self.schema().index_at(entry.index).is_some_and(|other| other.name == index.name);
            named && entry.row == key.row && *partition == key.partition
        };
        Ok(entries(&self.to)?.iter().any(is_it))
    }
}

/// A row that keeps a unique value until the entity arrives.
#[derive(Debug)]
pub(crate) struct Held {
    /// The index, by its position in the schema.
    pub(crate) index: usize,
    pub(crate) row: String,
    pub(crate) properties: Properties,
}

/// What the row keys begin with of the intents of an entity that left this row.
pub(crate) fn intents_of(row: &str) -> String {
    format!("{INTENT}{row}|")
}

/// What waits at a key for an entity to arrive.
#[derive(Debug, PartialEq)]
pub(crate) struct Reservation {
    pub(crate) id: String,
    /// The key that the entity leaves, or has left.
    pub(crate) from: RowKey,
    pub(crate) expires: DateTime,
    /// The row keys of unique indexes that are reserved with it.
    pub(crate) held: Vec<String>,
}

impl Reservation {
    /// The reservation that the row is.
    pub(crate) fn of(row: &Row) -> Option<Self> {
        if !is_tombstone(row) || !system::is_pending(&row.properties) {
            return None;
        }
        let expires = match row.properties.get(system::EXPIRES) {
            Some(ValueRef::DateTime(expires)) => expires,
            _ => DateTime::MIN,
        };
        let held = text(&row.properties, HELD).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Some(Self { id: text(&row.properties, MOVE)?, from: system::owner(row)?, expires, held })
    }

    /// Where the intent of its move stands once the entity has left.
    pub(crate) fn intent_key(&self) -> RowKey {
        RowKey::new(self.from.partition.clone(), format!("{}{}", intents_of(&self.from.row), self.id))
    }
}

/// Whether the row waits for an entity to arrive.
pub(crate) fn is_reserved(row: &Row) -> bool {
    Reservation::of(row).is_some()
}

/// Whether the row keeps a unique value with a reservation.
pub(crate) fn is_held(row: &Row) -> bool {
    matches!(system::kind(&row.properties), system::RowKind::Derived { name: HOLDING, .. })
}

fn put_owner(properties: &mut Properties, owner: &RowKey) {
    properties.insert(PropertyName::from_static(system::OWNER_PARTITION), owner.partition.clone());
    properties.insert(PropertyName::from_static(system::OWNER_ROW), owner.row.clone());
}

fn text(properties: &Properties, name: &str) -> Option<String> {
    match properties.get(name) {
        Some(ValueRef::String(text)) => Some(text.to_owned()),
        _ => None,
    }
}
