//! The framework's own properties, as FORMAT.md draws them, and what a row's `EntityType` says.
//!
//! Here are the names that more than one kind of row has; a room's own are the room's.

use tablemodel_store::{Changed, Comparison, Filter, Properties, PropertyName, Row, RowKey, ValueRef};

use crate::schema::EntitySchema;

/// What a row is: `Employee@2`, `Employee.by_email@2`, `Employee.~dead@2`.
pub(crate) const ENTITY_TYPE: &str = "EntityType";
/// The number of writes to the entity, as of this row.
pub(crate) const SEQUENCE: &str = "_seq";
/// The last operation ids, 16 bytes each, newest last.
pub(crate) const OPERATIONS: &str = "_ops";
/// On derived rows in another partition: the partition key of the entity's primary row.
pub(crate) const OWNER_PARTITION: &str = "_pk";
/// On what was an index row in another partition: that it is none any more.
pub(crate) const DEAD: &str = "_dead";
/// On claims: `pending` or `confirmed`. On back-references put before their holder, and on reservations: `pending`.
pub(crate) const CLAIM: &str = "_claim";
/// What a claim says once its entity has the value.
pub(crate) const CONFIRMED: &str = "confirmed";
/// What a claim says before.
pub(crate) const PENDING: &str = "pending";
/// On what is pending: until when it is another's to wait for. On dirty markers: for the eye.
pub(crate) const EXPIRES: &str = "_expires";
/// On derived rows: the row key of the entity's primary row (its partition is the derived row's own).
pub(crate) const OWNER_ROW: &str = "_rk";

/// On the head of an entity with parts: their generation, where they were written before the head.
pub(crate) const GENERATION: &str = "_gen";
/// On the head of an entity with parts: their number.
pub(crate) const PARTS: &str = "_parts";
/// On the head of an entity with parts: the sum of their digests.
pub(crate) const SUM: &str = "_sum";

/// On rows of the form that an entity moves to, written before it has: the entity, as a list of partition key and row key.
pub(crate) const MOVED: &str = "_moved";

/// On the head of an entity that older programs may read: the oldest version that may.
pub(crate) const READABLE_BY: &str = "_reads";

/// Operation ids kept on a row.
const KEPT_OPERATIONS: usize = 4;
const OPERATION_BYTES: usize = 16;

/// Names one attempt to write, so that a retried write recognises its own first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationId(pub(crate) [u8; OPERATION_BYTES]);

impl OperationId {
    /// Of two numbers that nobody else draws.
    pub(crate) fn of(numbers: [u64; 2]) -> Self {
        let [low, high] = numbers.map(u128::from);
        Self((low | high << u64::BITS).to_le_bytes())
    }
}

/// What a row is, by its `EntityType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind<'a> {
    /// A primary row.
    Primary { entity: &'a str, version: u32 },
    /// A derived row: of an index, by its name.
    Derived { entity: &'a str, name: &'a str, version: u32 },
    /// A further row of an entity that does not fit in one.
    Part { entity: &'a str, version: u32 },
    /// Where an entity was deleted.
    Tombstone { entity: &'a str },
    /// A row without a discriminator, or with one that is not ours.
    Foreign,
}

impl<'a> RowKind<'a> {
    /// The entity type it names.
    pub(crate) fn entity(&self) -> Option<&'a str> {
        match *self {
            Self::Primary { entity, .. } | Self::Derived { entity, .. } => Some(entity),
            Self::Part { entity, .. } | Self::Tombstone { entity } => Some(entity),
            Self::Foreign => None,
        }
    }
}

/// The raw discriminator.
pub(crate) fn entity_type(properties: &Properties) -> Option<&str> {
    match properties.get_constant(ENTITY_TYPE) {
        Some(ValueRef::String(text)) => Some(text),
        _ => None,
    }
}

/// Whether a row of another program may be an entity of this type, which takes such rows over: it names no type, or this one as other
/// programs do, without a version.
pub(crate) fn is_adopted(schema: &EntitySchema, properties: &Properties) -> bool {
    schema.adopt
        && match properties.get_constant(ENTITY_TYPE) {
            None => true,
            Some(ValueRef::String(text)) => text.is_empty() || text == schema.entity_type,
            Some(_) => false,
        }
}

/// What the row is.
pub(crate) fn kind(properties: &Properties) -> RowKind<'_> {
    entity_type(properties).and_then(parse).unwrap_or(RowKind::Foreign)
}

fn parse(text: &str) -> Option<RowKind<'_>> {
    let (name, version) = split(text)?;
    let version = version?;
    Some(match name.split_once('.') {
        None => RowKind::Primary { entity: name, version },
        Some((entity, "~dead")) => RowKind::Tombstone { entity },
        Some((entity, "~part")) => RowKind::Part { entity, version },
        Some((entity, derived)) => RowKind::Derived { entity, name: derived, version },
    })
}

/// The entity type that the row names with a version that is none: only damage, or another program, writes that.
pub(crate) fn damaged(properties: &Properties) -> Option<&str> {
    damage(properties).map(|(entity, _)| entity)
}

/// Whether the row is the head of an entity of this type, and names a version that is none.
pub(crate) fn is_damaged_head(properties: &Properties, of: &str) -> bool {
    damage(properties) == Some((of, ""))
}

/// The entity type, and the kind of the derived row if it is one, of a row that names a version that is none.
fn damage(properties: &Properties) -> Option<(&str, &str)> {
    let Named { entity, kind, version } = named(properties)?;
    let is_read = kind != "~dead"; // of a tombstone nobody asks the version
    (is_read && version.is_none()).then_some((entity, kind))
}

/// What a row says that it is, be its version none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) entity: &'a str,
    /// Of a derived row: which; else nothing.
    pub(crate) kind: &'a str,
    pub(crate) version: Option<u32>,
}

/// What the row says that it is.
pub(crate) fn named(properties: &Properties) -> Option<Named<'_>> {
    let (name, version) = split(entity_type(properties)?)?;
    let (entity, kind) = name.split_once('.').unwrap_or((name, ""));
    Some(Named { entity, kind, version })
}

/// The version that wrote the row, by its discriminator.
pub(crate) fn version(properties: &Properties) -> Option<u32> {
    split(entity_type(properties)?)?.1
}

/// What stands before the first `@`, and the version behind it, if it is one: a number as we write it.
fn split(discriminator: &str) -> Option<(&str, Option<u32>)> {
    let (name, version) = discriminator.split_once('@')?;
    let is_number = version.bytes().all(|byte| byte.is_ascii_digit()) && (version == "0" || !version.starts_with('0'));
    Some((name, version.parse().ok().filter(|_| is_number)))
}

/// Rows of any version of this kind: `Employee@…` is one range of strings.
pub(crate) fn type_condition(discriminator: &'static str) -> Filter {
    let name = discriminator.rsplit_once('@').map_or(discriminator, |(name, _)| name);
    // `@` is followed by `A` in every order of text in use.
    Filter::compare(ENTITY_TYPE, Comparison::GreaterOrEqual, format!("{name}@")).and(Filter::compare(
        ENTITY_TYPE,
        Comparison::Less,
        format!("{name}A"),
    ))
}

/// Parts of any version of the entity.
pub(crate) fn part_condition(entity: &'static str) -> Filter {
    Filter::compare(ENTITY_TYPE, Comparison::GreaterOrEqual, format!("{entity}.~part@")).and(Filter::compare(
        ENTITY_TYPE,
        Comparison::Less,
        format!("{entity}.~partA"),
    ))
}

/// Whether the row is a part of an entity of this type: what [`part_condition`] asks of a store.
pub(crate) fn is_part_of(properties: &Properties, of: &str) -> bool {
    matches!(kind(properties), RowKind::Part { entity, .. } if entity == of)
}

/// The discriminator of a part.
pub(crate) fn part_type(schema: &EntitySchema) -> String {
    format!("{}.~part@{}", schema.entity_type, schema.version)
}

/// Whether the row is of this kind, of whatever version: what [`type_condition`] asks of a store.
pub(crate) fn is_of_type(properties: &Properties, discriminator: &'static str) -> bool {
    entity_type(properties).is_some_and(|text| is_type(text, discriminator))
}

/// Whether this is what rows of this kind say, of whatever version.
pub(crate) fn is_type(text: &str, discriminator: &'static str) -> bool {
    if text == discriminator {
        return true; // the usual case
    }
    let name = discriminator.rsplit_once('@').map_or(discriminator, |(name, _)| name);
    text.strip_prefix(name).is_some_and(|version| version.starts_with('@'))
}

/// The entity's sequence number; 0 on rows that other programs wrote.
pub(crate) fn sequence(properties: &Properties) -> i64 {
    told_sequence(properties.get_constant(SEQUENCE))
}

/// The same, by the value of [`SEQUENCE`].
pub(crate) fn told_sequence(value: Option<ValueRef<'_>>) -> i64 {
    match value {
        Some(ValueRef::Int64(sequence)) => sequence,
        _ => 0,
    }
}

/// The row key of the primary row, on a derived row.
pub(crate) fn owner_row(properties: &Properties) -> Option<&str> {
    match properties.get_constant(OWNER_ROW) {
        Some(ValueRef::String(row)) => Some(row),
        _ => None,
    }
}

/// The key of the primary row, on a derived row: in the row's own partition unless it says otherwise.
pub(crate) fn owner(row: &Row) -> Option<RowKey> {
    owner_key(row).map(|(partition, owner)| RowKey::new(partition, owner))
}

/// Whether this is the key of the primary row, on a derived row.
pub(crate) fn is_owned_by(row: &Row, key: &RowKey) -> bool {
    owner_key(row) == Some((&key.partition, &key.row))
}

fn owner_key(row: &Row) -> Option<(&str, &str)> {
    let partition = match row.properties.get_constant(OWNER_PARTITION) {
        Some(ValueRef::String(partition)) => partition,
        _ => &row.key.partition,
    };
    Some((partition, owner_row(&row.properties)?))
}

/// Whether the row only remembers that an index row stood here.
pub(crate) fn is_dead(properties: &Properties) -> bool {
    matches!(properties.get_constant(DEAD), Some(ValueRef::Boolean(true)))
}

/// Whether the row was put before its entity was seen to want it: a claim, a back-reference, a reservation.
pub(crate) fn is_pending(properties: &Properties) -> bool {
    matches!(properties.get_constant(CLAIM), Some(ValueRef::String(PENDING)))
}

/// Whether the row was written by this operation, or by one after which at most three others came.
pub(crate) fn was_written_by(properties: &Properties, operation: OperationId) -> bool {
    match properties.get_constant(OPERATIONS) {
        Some(ValueRef::Binary(bytes)) => bytes.chunks_exact(OPERATION_BYTES).any(|id| id == operation.0),
        _ => false,
    }
}

/// The operation ids of `old`, and one more.
pub(crate) fn with_operation(old: Option<&Properties>, operation: OperationId) -> Vec<u8> {
    with_operation_told(old.and_then(|properties| properties.get_constant(OPERATIONS)), operation)
}

/// The same, by the value of [`OPERATIONS`].
pub(crate) fn with_operation_told(old: Option<ValueRef<'_>>, operation: OperationId) -> Vec<u8> {
    let before = match old {
        Some(ValueRef::Binary(bytes)) => bytes,
        _ => &[],
    };
    if before.ends_with(&operation.0) {
        return before.to_vec(); // two changes of one batch are one operation
    }
    let keep = (KEPT_OPERATIONS - 1) * OPERATION_BYTES;
    let tail = before.get(before.len().saturating_sub(keep)..).unwrap_or_default();
    [tail, &operation.0].concat()
}

/// The properties of a primary tombstone.
pub(crate) fn tombstone(schema: &EntitySchema, sequence: i64, operations: Option<Vec<u8>>) -> Properties {
    let mut properties = Properties::new();
    stamp(&mut properties, format!("{}.~dead@{}", schema.entity_type, schema.version), sequence, operations);
    properties
}

/// Whether this version of the framework owns the property. One that a later version adds is kept like any unknown one.
pub(crate) fn is_system(name: &str) -> bool {
    const UNDERSCORED: [&str; 12] = [
        SEQUENCE,
        OPERATIONS,
        OWNER_ROW,
        OWNER_PARTITION,
        DEAD,
        CLAIM,
        EXPIRES,
        GENERATION,
        PARTS,
        SUM,
        READABLE_BY,
        MOVED,
    ];
    name == ENTITY_TYPE || (name.starts_with('_') && UNDERSCORED.contains(&name))
}

/// Whether this version of the struct does not know the stored property: such are written back as they are.
pub(crate) fn is_unknown(schema: &'static EntitySchema, name: &str) -> bool {
    !is_system(name) && schema.property(name).is_none() && schema.copy_with(name).is_none()
}

/// The system properties of a row.
pub(crate) fn stamp(
    properties: &mut Properties,
    discriminator: impl AsRef<str>,
    sequence: i64,
    operations: Option<Vec<u8>>,
) {
    let stamps = stamps(discriminator.as_ref(), sequence, operations.as_deref());
    properties.extend(stamps.filter_map(|(name, value)| Some((name.clone(), value?))));
}

/// The same, as a change: what is not said stays as it is.
pub(crate) fn stamps<'s>(
    discriminator: &'s str,
    sequence: i64,
    operations: Option<&'s [u8]>,
) -> impl Iterator<Item = Changed<'s>> {
    static NAMES: [PropertyName; 3] = [
        PropertyName::from_static(ENTITY_TYPE),
        PropertyName::from_static(SEQUENCE),
        PropertyName::from_static(OPERATIONS),
    ];
    let values =
        [Some(ValueRef::String(discriminator)), Some(ValueRef::Int64(sequence)), operations.map(ValueRef::Binary)];
    NAMES.iter().zip(values).filter(|(_, value)| value.is_some()) // what is not said stays, and is not taken away
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminators_are_read_back() {
        assert_eq!(parse("Employee@2"), Some(RowKind::Primary { entity: "Employee", version: 2 }));
        let index = RowKind::Derived { entity: "Employee", name: "by_email", version: 12 };
        assert_eq!(parse("Employee.by_email@12"), Some(index));
        assert_eq!(parse("Employee.~dead@2"), Some(RowKind::Tombstone { entity: "Employee" }));
        assert_eq!(parse("Employee.~part@2"), Some(RowKind::Part { entity: "Employee", version: 2 }));
        for foreign in ["Employee", "Employee@", "Employee@x", "@", "Employee@1@1", "Employee@01", "Employee@+1"] {
            assert_eq!(parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn the_last_four_operations_are_kept() {
        let mut properties = Properties::new();
        let ids: Vec<_> = (0..6u8).map(|n| OperationId([n; 16])).collect();
        for id in &ids {
            let operations = with_operation(Some(&properties), *id);
            properties.insert(OPERATIONS, operations);
        }
        let known: Vec<_> = ids.iter().map(|id| was_written_by(&properties, *id)).collect();
        assert_eq!(known, [false, false, true, true, true, true]);
    }
}
