//! What the rows are to be that an outbox row names, by their entity as it is now, and the writes that make them so.

use tablemodel_store::{Action, Condition, Properties, PropertyName, Row, RowKey};

use super::{AwayKey, AwayRow, Intent, is_tombstone};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::is_primary,
        entries::Entry,
        group::Group,
        image::Image,
        shadow,
        states::{IndexState, Setting},
        system::{self, RowKind},
    },
    schema::{EntitySchema, is_move},
};

/// One affected row, and what it is to be as of a sequence of its entity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) entry: AwayKey,
    pub(crate) owner: RowKey,
    pub(crate) sequence: i64,
    /// What the row is to hold, system properties included: what the entity wants, or a tombstone.
    pub(crate) properties: Properties,
    /// Further rows behind it, by their row keys, where it is the head of an entity's new form.
    pub(crate) parts: Vec<(String, Properties)>,
    pub(crate) is_live: bool,
}

/// What the affected rows are to be, by the primary row as it is now.
///
/// Where the entity is gone they become tombstones, at the intent's sequence or that of the entity's own tombstone. A row that
/// the entity wants, of an index that is not written yet, is left to those who write it: a tombstone would outrank theirs. So is a row of a
/// form that the program does not have: whether the entity wants it is not known here.
pub(crate) fn targets(
    schema: &'static EntitySchema,
    setting: &Setting,
    intent: &Intent,
    owner: &RowKey,
    primary: Option<&Group>,
) -> Result<Vec<Target>> {
    let live = primary.filter(|rows| is_primary(schema, &rows.head));
    let image = live.map(|rows| Image::written(schema, rows)).transpose()?;
    let wanted = image.as_ref().map(|image| setting.entries(image)).transpose()?.unwrap_or_default();
    let ours = primary.map(|rows| &rows.head).filter(|head| live.is_some() || is_tombstone(head));
    let now = ours.map_or(0, |head| system::sequence(&head.properties));
    let sequence = if live.is_some() { now } else { now.max(intent.sequence) };
    let target = |entry: &AwayKey| {
        let index = entry.position(schema);
        if index.is_none() && is_move(&entry.index) {
            return Ok(None);
        }
        let found = wanted.iter().find(|wanted| Some(wanted.index) == index && is_at(wanted, entry));
        if found.is_some_and(|wanted| setting.of(wanted.index) < IndexState::WriteOnly) {
            return Ok(None);
        }
        let row = match found.zip(image.as_ref()) {
            Some((entry, image)) => AwayRow::wanted(image, entry.clone(), sequence, false)?,
            None => None,
        };
        let is_live = row.is_some();
        let (want, parts) = row.map(|row| (row.want, row.parts)).unwrap_or_default();
        let properties = want.unwrap_or_else(|| dead(schema, entry, owner, sequence));
        Ok(Some(Target { entry: entry.clone(), owner: owner.clone(), sequence, properties, parts, is_live }))
    };
    intent.entries.iter().filter_map(|entry| target(entry).transpose()).collect()
}

fn is_at(wanted: &Entry, key: &AwayKey) -> bool {
    let away = wanted.away.as_ref();
    wanted.row == key.key.row && away.is_some_and(|away| away.partition == key.key.partition && away.table == key.table)
}

/// The tombstone of an entry.
fn dead(schema: &'static EntitySchema, entry: &AwayKey, owner: &RowKey, sequence: i64) -> Properties {
    if let Some(properties) = shadow::dead(schema, entry, owner, sequence) {
        return properties;
    }
    let mut properties = Properties::new();
    let discriminator = format!("{}.{}@{}", schema.entity_type, entry.index, schema.version);
    system::stamp(&mut properties, discriminator, sequence, None);
    properties.insert(PropertyName::from_static(system::DEAD), true);
    properties.insert(PropertyName::from_static(system::OWNER_PARTITION), owner.partition.clone());
    properties.insert(PropertyName::from_static(system::OWNER_ROW), owner.row.clone());
    properties
}

impl Target {
    /// Whether the row is a claim, which is settled by rules of its own.
    pub(crate) fn is_claim(&self, schema: &'static EntitySchema) -> bool {
        self.entry.claimed(schema).is_some()
    }

    /// Whether the row is one of the form that the entity moves to.
    pub(crate) fn is_shadow(&self) -> bool {
        is_move(&self.entry.index)
    }

    fn over_shadow(&self, there: &Row) -> Option<Action> {
        let is_due = shadow::is_due(there, &self.owner, self.sequence);
        is_due.then(|| Action::Replace(self.properties.clone(), Condition::Match(there.etag.clone())))
    }

    /// The write that brings the row to this target over what is there; none where it is as new already.
    ///
    /// The key of such a row holds its entity's own key, so that it has one owner. One that names another was damaged: a
    /// live row takes its place, a tombstone does not. `AlreadyExists` where the row is no row of the index.
    pub(crate) fn over(&self, there: Option<&Row>) -> Result<Option<Action>> {
        let Some(there) = there else { return Ok(Some(Action::Insert(self.properties.clone()))) };
        if self.is_shadow() {
            return Ok(self.over_shadow(there));
        }
        let kind = |properties| match system::kind(properties) {
            RowKind::Derived { entity, name, .. } => Some((entity.to_owned(), name.to_owned())),
            _ => None,
        };
        if kind(&there.properties) != kind(&self.properties) {
            let detail = format!("a row that is none of index `{}` has the key of one", self.entry.index);
            return Err(Error::new(ErrorKind::AlreadyExists, detail).at_key(there.key.clone()));
        }
        let is_due = match system::owner(there).as_ref() == Some(&self.owner) {
            true => system::sequence(&there.properties) < self.sequence,
            false => self.is_live,
        };
        if !is_due {
            return Ok(None);
        }
        let mut properties = self.properties.clone();
        if !self.is_live && system::is_pending(&there.properties) {
            // Put before its entity is written, which may still come: it stays, but nothing older may settle it.
            properties = there.properties.clone();
            properties.insert(PropertyName::from_static(system::SEQUENCE), self.sequence);
        }
        Ok(Some(Action::Replace(properties, Condition::Match(there.etag.clone()))))
    }
}
