//! The outbox: what a change means for rows in other partitions.
//!
//! An intent says "this entity changed, these rows may be affected", never "write this": whoever delivers it reads the
//! entity and makes the rows match. Pure; delivery is `database::outbox`'s.

mod named;
mod progress;
mod target;

use std::borrow::Cow;

use serde_json::Value as Json;
use tablemodel_store::{Action, Condition, DateTime, Properties, PropertyName, Row, RowKey, ValueRef, limits, size};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        entries::{Away, Entry},
        image::Image,
        shadow::{self, ShadowRows},
        states::CopiedBy,
        system::{self, RowKind},
    },
    schema::{AggregateSchema, EntitySchema, IndexSchema},
};

pub(crate) use self::{
    named::check as check_names,
    progress::{Progress, delivered, failed},
    target::{Target, targets},
};

/// What the row keys of outbox rows begin with.
pub(crate) const OUTBOX: &str = "~~out|";
/// The affected entries.
const ENTRIES: &str = "_entries";
/// Whether copies of the entity may have to follow.
const COPIED: &str = "_copied";
/// Which those are.
const COPIED_BY: &str = "_copied_by";
/// Whether the entity's own copies are to be looked at again.
const COPIES: &str = "_copies";
/// How often delivery failed.
pub(crate) const ATTEMPTS: &str = "_attempts";
/// When delivery is due.
pub(crate) const DUE: &str = "_due";
/// Why delivery was given up.
pub(crate) const POISON: &str = "_poison";
/// UTF-16 code units of that, at most.
pub(crate) const POISON_UNITS: usize = 512;
/// When everything was delivered: the row stays until its tombstones are swept.
pub(crate) const DELIVERED: &str = "_delivered";

/// A row of another partition that differs after a change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AwayRow {
    /// Which index wants it, by its position in the schema.
    pub(crate) index: usize,
    pub(crate) away: Away,
    pub(crate) row: String,
    /// The row key of its entity.
    pub(crate) owner: String,
    /// The sequence of the change.
    pub(crate) sequence: i64,
    /// What it is to hold, system properties included; nothing: it is to go.
    pub(crate) want: Option<Properties>,
    /// Further rows behind it, by their row keys, where it is the head of an entity's new form.
    pub(crate) parts: Vec<(String, Properties)>,
    /// Whether it is there, if all is as it should be.
    pub(crate) was: bool,
}

impl AwayRow {
    /// A row that is to go.
    pub(crate) fn removed(entry: &Entry, owner: &str, sequence: i64, was: bool) -> Option<Self> {
        let away = entry.away.clone()?;
        Some(Self {
            index: entry.index,
            away,
            row: entry.row.clone(),
            owner: owner.to_owned(),
            sequence,
            want: None,
            parts: Vec::new(),
            was,
        })
    }

    /// A row that is to be as the entry says.
    pub(crate) fn wanted(image: &Image, entry: Entry, sequence: i64, was: bool) -> Result<Option<Self>> {
        let (Some(kind), Some(away)) = (image.kind(&entry), entry.away.clone()) else { return Ok(None) };
        let ShadowRows { head, parts } = match shadow::is_primary(image.latest, entry.index) {
            true => shadow::rows(image.latest, &entry, sequence)?,
            false => {
                let mut head = entry.properties;
                system::stamp(&mut head, kind.discriminator, sequence, None);
                ShadowRows { head, parts: Vec::new() }
            }
        };
        let (index, row, owner) = (entry.index, entry.row, image.key.row.clone());
        Ok(Some(Self { index, away, row, owner, sequence, want: Some(head), parts, was }))
    }

    /// The write that makes it so in one commit with its entity; `is_missing` says that it was looked for in vain.
    pub(crate) fn action(&self, is_missing: bool) -> Option<Action> {
        match (&self.want, is_missing) {
            (None, true) => None,
            (None, false) => Some(Action::Delete(Condition::Exists)),
            (Some(properties), false) if self.was => Some(Action::Replace(properties.clone(), Condition::Exists)),
            (Some(properties), _) => Some(Action::InsertOrReplace(properties.clone())),
        }
    }
}

/// The name of a row in another partition, as intents carry it.
#[derive(Debug, Clone)]
pub(crate) struct AwayKey {
    /// The index, by its name; or the aggregate, by that of its index row in the registry.
    pub(crate) index: String,
    /// The table, without the run-time prefix.
    pub(crate) table: String,
    pub(crate) key: RowKey,
    /// The version of the entity whose program named it: another may have an index of another kind under that name. 0: this one.
    pub(crate) version: u32,
}

impl PartialEq for AwayKey {
    fn eq(&self, other: &Self) -> bool {
        (&self.index, &self.table, &self.key) == (&other.index, &other.table, &other.key)
    }
}

impl Eq for AwayKey {}

impl AwayKey {
    pub(crate) fn of(schema: &EntitySchema, row: &AwayRow) -> Self {
        let index = schema.derived(row.index).map_or(Cow::Borrowed(""), |kind| kind.name);
        let key = RowKey::new(row.away.partition.clone(), row.row.clone());
        Self { index: index.into_owned(), table: row.away.table.to_owned(), key, version: 0 }
    }

    /// Whether both name the same row.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (&self.table, &self.key) == (&other.table, &other.key)
    }

    /// Whether it names this row.
    pub(crate) fn is_of(&self, schema: &EntitySchema, row: &AwayRow) -> bool {
        *self == Self::of(schema, row)
    }

    /// The row, to be taken away if it is there; none if the program does not know its index.
    pub(crate) fn removal(&self, schema: &'static EntitySchema, owner: &str, sequence: i64) -> Option<AwayRow> {
        let index = schema.derived_position(&self.index)?;
        let away = Away { table: schema.derived(index)?.table?, partition: self.key.partition.clone() };
        let (row, owner) = (self.key.row.clone(), owner.to_owned());
        Some(AwayRow { index, away, row, owner, sequence, want: None, parts: Vec::new(), was: false })
    }

    fn to_json(&self) -> Json {
        [&self.index, &self.table, &self.key.partition, &self.key.row]
            .map(|text| Json::from(text.as_str()))
            .to_vec()
            .into()
    }

    fn from_json(json: &Json) -> Option<Self> {
        let [index, table, partition, row] = json.as_array()?.as_slice() else { return None };
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let key = RowKey { partition: text(partition)?, row: text(row)? };
        Some(Self { index: text(index)?, table: text(table)?, key, version: 0 })
    }
}

/// "This entity changed at this sequence; these rows of other partitions may be affected."
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Intent {
    /// The row key of the entity.
    pub(crate) owner: String,
    pub(crate) sequence: i64,
    pub(crate) entries: Vec<AwayKey>,
    /// The copies of the entity that may have to follow, wherever they are: those that the program has which wrote it, each as
    /// [`CopiedBy::name`] says.
    pub(crate) copied: Vec<String>,
    /// Whether a source of the entity's own copies may have changed while it was written.
    pub(crate) copies: bool,
}

/// The intents of a change: one for each entity that it leaves or takes away. Begins with those of entities whose copies may have to
/// follow.
pub(crate) fn intents<'r>(
    schema: &'static EntitySchema,
    rows: impl Iterator<Item = &'r AwayRow>,
    copied: Vec<Intent>,
) -> Vec<Intent> {
    let mut intents = copied;
    for row in rows {
        let entry = AwayKey::of(schema, row);
        match intents.iter_mut().find(|intent| intent.owner == row.owner) {
            Some(intent) => intent.entries.push(entry),
            None => {
                let (owner, sequence) = (row.owner.clone(), row.sequence);
                intents.push(Intent { owner, sequence, entries: vec![entry], ..Intent::default() });
            }
        }
    }
    intents
}

/// Lets the intent of this entity say that its own copies are to be looked at again.
pub(crate) fn look_again(intents: &mut Vec<Intent>, owner: String, sequence: i64) {
    match intents.iter_mut().find(|intent| intent.owner == owner) {
        Some(intent) => intent.copies = true,
        None => intents.push(Intent { owner, sequence, copies: true, ..Intent::default() }),
    }
}

/// The row key of the marker of a partition whose outbox holds rows.
pub(crate) fn marker_row(table: &str, partition: &str) -> String {
    format!("{table}|{partition}")
}

/// That what is noted of an entity, at this row key beside it, and the marker that leads there, have keys that a store takes.
pub(crate) fn check_keys(schema: &EntitySchema, (partition, row): (&str, &str), noted: &str, what: &str) -> Result<()> {
    let too_long = |key: &str| size::utf16_len(key).checked_sub(limits::MAX_KEY_CHARS).filter(|over| *over > 0);
    let (over, which) = match (too_long(&marker_row(schema.table, partition)), too_long(noted)) {
        (Some(over), _) => (over, "partition"),
        (_, Some(over)) => (over, "row"),
        (None, None) => return Ok(()),
    };
    let detail = format!(
        "{what} is noted under its keys, and its {which} key is {over} characters too long for that: shorten it"
    );
    Err(Error::new(ErrorKind::KeyTooLong, detail).of(schema.entity_type).at_key(RowKey::new(partition, row)))
}

impl Intent {
    /// That these copies of the entity may have to follow.
    pub(crate) fn copied(owner: String, sequence: i64, by: &[CopiedBy]) -> Self {
        Self { owner, sequence, copied: by.iter().map(CopiedBy::name).collect(), ..Self::default() }
    }

    /// The row key of its outbox row.
    pub(crate) fn row(&self) -> String {
        format!("{OUTBOX}{}|{:020}", self.owner, self.sequence)
    }

    /// Its outbox row; relays leave it to the writer until it is `due`.
    pub(crate) fn properties(&self, schema: &EntitySchema, due: DateTime) -> Properties {
        let mut properties = Properties::new();
        system::stamp(
            &mut properties,
            format!("{}.~outbox@{}", schema.entity_type, schema.version),
            self.sequence,
            None,
        );
        named::write(&self.entries, &mut properties);
        properties.insert(PropertyName::from_static(system::OWNER_ROW), self.owner.clone());
        properties.insert(PropertyName::from_static(ATTEMPTS), 0_i32);
        properties.insert(PropertyName::from_static(DUE), due);
        if !self.copied.is_empty() {
            properties.insert(PropertyName::from_static(COPIED), true);
            let names = Json::from(self.copied.clone()).to_string();
            properties.insert(PropertyName::from_static(COPIED_BY), names);
        }
        if self.copies {
            properties.insert(PropertyName::from_static(COPIES), true);
        }
        properties
    }

    /// The intent of an outbox row.
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let is_set = |name| matches!(row.properties.get(name), Some(ValueRef::Boolean(true)));
        let copied = match (is_set(COPIED), row.properties.get(COPIED_BY)) {
            (false, None) => Some(Vec::new()),
            (true, Some(ValueRef::String(names))) => serde_json::from_str(names).ok(),
            _ => None,
        };
        match (named::read(&row.properties), system::owner_row(&row.properties), copied) {
            (Some(mut entries), Some(owner), Some(copied)) => {
                if let RowKind::Derived { version, .. } = system::kind(&row.properties) {
                    entries.iter_mut().for_each(|entry| entry.version = version);
                }
                let (owner, sequence) = (owner.to_owned(), system::sequence(&row.properties));
                Ok(Self { owner, sequence, entries, copied, copies: is_set(COPIES) })
            }
            _ => Err(Error::corrupt("an outbox row cannot be read").at_key(row.key.clone())),
        }
    }
}

pub(crate) fn is_tombstone(row: &Row) -> bool {
    matches!(system::kind(&row.properties), RowKind::Tombstone { .. })
}

impl AwayKey {
    /// The row of the index at `key`; none for an index in the entity's own partition.
    pub(crate) fn new(index: &IndexSchema, key: &RowKey) -> Option<Self> {
        let table = index.elsewhere.as_ref()?.table;
        Some(Self { index: index.name.to_owned(), table: table.to_owned(), key: key.clone(), version: 0 })
    }

    /// The number of the index, as whoever named it has it.
    pub(crate) fn position(&self, schema: &'static EntitySchema) -> Option<usize> {
        schema.derived_position_by(&self.index, self.version)
    }

    /// The aggregate, if the row is a contribution.
    pub(crate) fn aggregate(&self, schema: &'static EntitySchema) -> Option<&'static AggregateSchema> {
        schema.aggregate(self.position(schema)?)
    }

    /// The index, if its rows are claims.
    pub(crate) fn claimed(&self, schema: &'static EntitySchema) -> Option<&'static IndexSchema> {
        schema.index_at(self.position(schema)?).filter(|index| index.is_claim())
    }
}
