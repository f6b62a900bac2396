#![doc = include_str!("../../docs/rooms/unique.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use std::collections::HashMap;

use tablemodel_store::{Action, Condition, DateTime, ETag, Properties, PropertyName, Row, RowKey, ValueRef};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        batch::{BatchAway, BatchPlan, Missing},
        entries::Away,
        grouped::grouped,
        system::{self, RowKind},
    },
    schema::{EntitySchema, IndexSchema},
};

/// Claims that were read, or are known to be absent.
pub(crate) type KnownClaims = HashMap<(Away, String), Option<Row>>;

/// What the changes of a batch come to at one claim.
#[derive(Debug)]
pub(crate) struct Net<'a> {
    /// The first change that touches it.
    pub(crate) first: &'a BatchAway,
    /// The entity that has the value before, by what was read of it.
    pub(crate) holder: Option<&'a str>,
    /// What the entity that has it after wants there.
    pub(crate) taker: Option<&'a BatchAway>,
    /// All changes that touch it.
    changes: Vec<&'a BatchAway>,
}

/// What the changes come to, one for each claim: two entities of a batch may exchange a value, and one may pass through
/// several. Rows of other indexes are left out.
pub(crate) fn nets(rows: &[BatchAway]) -> Result<Vec<Net<'_>>> {
    let claims = rows.iter().filter(|row| row.claimed().is_some());
    let claims = grouped(claims, |BatchAway { row, .. }| (&row.away, &row.row));
    claims.into_iter().filter_map(|changes| net(changes).transpose()).collect()
}

/// One entity's changes at a claim: who it is, the first, the last.
type Span<'a> = (&'a str, &'a BatchAway, &'a BatchAway);

fn net(changes: Vec<&BatchAway>) -> Result<Option<Net<'_>>> {
    let mut owners: Vec<Span<'_>> = Vec::new();
    for change in changes.iter().copied() {
        match owners.iter_mut().find(|(owner, ..)| *owner == change.row.owner) {
            Some((_, _, last)) => *last = change,
            None => owners.push((&change.row.owner, change, change)),
        }
    }
    let mut takers = owners.iter().filter(|(_, _, last)| last.row.want.is_some()).map(|(_, _, last)| *last);
    let taker = takers.next();
    if let Some(other) = takers.next() {
        return Err(met_twice(other));
    }
    let holder = owners.iter().find(|(_, first, _)| first.row.was).map(|(owner, ..)| *owner);
    Ok(owners.first().map(|(_, first, _)| Net { first, holder, taker, changes }))
}

fn met_twice(row: &BatchAway) -> Error {
    let index = row.claimed().map_or("", |index| index.name);
    let key = RowKey::new(row.row.away.partition.clone(), row.row.row.clone());
    let detail = format!("unique index `{index}`: two entities of the batch have this value");
    let error = Error::new(ErrorKind::UniqueViolation { index, owner: None }, detail);
    error.of(row.schema.entity_type).at_key(key).in_operation(row.change)
}

impl Net<'_> {
    /// Where the claim stands.
    pub(crate) fn place(&self) -> (Away, String) {
        (self.first.row.away.clone(), self.first.row.row.clone())
    }

    /// Whether a change of this entity touches it.
    pub(crate) fn is_touched_by(&self, owner: &str) -> bool {
        self.changes.iter().any(|change| change.row.owner == owner)
    }

    /// What is known of it. That there is none was true beside the entity as it was then.
    pub(crate) fn known<'k>(
        &self,
        claims: &'k KnownClaims,
        missing: &Missing,
        plan: &BatchPlan,
    ) -> Option<&'k Option<Row>> {
        let known = claims.get(&self.place())?;
        (known.is_some() || missing.contains(&self.missing(plan))).then_some(known)
    }

    /// That there is no claim, beside the entity as the plan has it.
    pub(crate) fn missing(&self, plan: &BatchPlan) -> (Away, String, Option<ETag>) {
        let ((away, row), owner) = (self.place(), self.holder.unwrap_or(&self.first.row.owner));
        (away, row, plan.state_of(owner))
    }

    /// The one write of it, in one commit with the entities; `known` holds only what they may overwrite.
    pub(crate) fn action(&self, known: Option<&Option<Row>>) -> Option<Action> {
        let before = match known {
            Some(row) => row.as_ref().map(|row| Condition::Match(row.etag.clone())),
            None => self.holder.map(|_| Condition::Exists),
        };
        let wanted = self.taker.and_then(|taker| taker.row.want.clone());
        match (before, wanted) {
            (None, None) => None,
            (None, Some(wanted)) => Some(Action::Insert(wanted)),
            (Some(before), Some(wanted)) => Some(Action::Replace(wanted, before)),
            (Some(before), None) => Some(Action::Delete(before)),
        }
    }

    /// Whether an entity must claim the value before it is written, where that is a commit of its own.
    pub(crate) fn is_new(&self) -> bool {
        self.taker.is_some_and(|taker| self.holder != Some(taker.row.owner.as_str()))
    }
}

/// That no value goes from one entity to another in one change of several entities: for stores where a claim is a commit
/// of its own, since there it can be in one hand only.
pub(crate) fn check_handed_over(nets: &[Net<'_>], partition: &str) -> Result<()> {
    for net in nets.iter().filter(|net| net.is_new()) {
        let (Some(holder), Some(taker)) = (net.holder, net.taker) else { continue };
        let index = taker.claimed().map_or("", |index| index.name);
        let owner = RowKey::new(partition, holder);
        let key = RowKey::new(taker.row.away.partition.clone(), taker.row.row.clone());
        let detail = format!(
            "unique index `{index}`: the entity {owner} has this value, and gives it up only in the same batch; save that entity first"
        );
        let error = Error::new(ErrorKind::UniqueViolation { index, owner: Some(owner) }, detail).at_key(key);
        return Err(error.of(taker.schema.entity_type).in_operation(taker.change));
    }
    Ok(())
}

/// A claim as it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) owner: RowKey,
    pub(crate) stage: Stage,
}

/// How far a claim has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its entity is about to be written; nobody else takes it before then.
    Pending(DateTime),
    /// Its entity has the value, or is about to release it.
    Confirmed,
}

/// The claim that the row is; none where it is no row of this index.
pub(crate) fn read(index: &IndexSchema, row: &Row) -> Option<Claim> {
    let is_derived = matches!(system::kind(&row.properties), RowKind::Derived { .. });
    if !is_derived || !system::is_of_type(&row.properties, index.discriminator) || system::is_dead(&row.properties) {
        return None;
    }
    let stage = expires(&row.properties).map_or(Stage::Confirmed, Stage::Pending);
    Some(Claim { owner: system::owner(row)?, stage })
}

/// Until when a claim that is not confirmed holds the value for its entity.
pub(crate) fn expires(claim: &Properties) -> Option<DateTime> {
    let expires = match claim.get(system::EXPIRES) {
        Some(ValueRef::DateTime(expires)) => expires,
        _ => DateTime::MIN,
    };
    system::is_pending(claim).then_some(expires)
}

/// The properties of a claim that is not confirmed yet: whose it is, and until when.
pub(crate) fn pending(confirmed: &Properties, expires: DateTime) -> Properties {
    let mut properties = confirmed.clone();
    properties.retain(system::is_system);
    properties.insert(PropertyName::from_static(system::CLAIM), system::PENDING);
    properties.insert(PropertyName::from_static(system::EXPIRES), expires);
    properties
}

/// What is to be done to a claim of `owner`, after the claim and then the entity were read; `wanted` is the confirmed
/// claim that the entity wants here. `None`: nothing.
///
/// A pending claim of an entity without the value is written once more as it is, so that no confirmation under way can
/// land on it: who wrote it may still be about to write the entity.
pub(crate) fn settled(claim: &Claim, row: &Row, wanted: Option<&Properties>) -> Option<Action> {
    let as_read = Condition::Match(row.etag.clone());
    match (claim.stage, wanted) {
        (Stage::Confirmed, Some(wanted)) if is_current(row, wanted) => None,
        (_, Some(wanted)) => Some(Action::Replace(wanted.clone(), as_read)),
        (Stage::Confirmed, None) => Some(Action::Delete(as_read)),
        (Stage::Pending(_), None) => Some(Action::Replace(row.properties.clone(), as_read)),
    }
}

/// Whether the confirmed claim holds what is wanted, or was written later.
fn is_current(row: &Row, wanted: &Properties) -> bool {
    let without_sequence = |properties: &Properties| {
        let mut properties = properties.clone();
        properties.retain(|name| name != system::SEQUENCE);
        properties
    };
    system::sequence(&row.properties) >= system::sequence(wanted)
        || without_sequence(&row.properties) == without_sequence(wanted)
}

/// The violation by the entity that has the value.
pub(crate) fn taken(schema: &'static EntitySchema, index: &IndexSchema, key: &RowKey, owner: RowKey) -> Error {
    let detail = format!("unique index `{}`: the entity {owner} has this value", index.name);
    Error::new(ErrorKind::UniqueViolation { index: index.name, owner: Some(owner) }, detail)
        .of(schema.entity_type)
        .at_key(key.clone())
}

/// That the value is being taken by another entity, which may yet fail.
pub(crate) fn busy(schema: &'static EntitySchema, index: &IndexSchema, key: &RowKey, owner: &RowKey) -> Error {
    let detail = format!(
        "unique index `{}`: the entity {owner} is about to take this value, or a program died over it; try again in a minute",
        index.name
    );
    Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).of_index(Some(index.name)).at_key(key.clone())
}

/// That the claim's key has a row which is none of its index.
pub(crate) fn foreign(schema: &'static EntitySchema, index: &IndexSchema, key: &RowKey) -> Error {
    let detail = format!("a row of index `{}` has the key of a row that is not its own", index.name);
    Error::new(ErrorKind::AlreadyExists, detail).of(schema.entity_type).of_index(Some(index.name)).at_key(key.clone())
}
