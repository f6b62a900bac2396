//! Parts: the further rows of an entity that does not fit in one. Their keys, the marks on the head that bind them to it,
//! and which of them are live.
//!
//! How an entity is cut into parts is the rooms'; how they are written is `plan::shape`'s.

use std::{borrow::Cow, collections::BTreeMap, ops::Bound};

use tablemodel_store::{DateTime, Properties, PropertyName, Row, RowKey, RowRange, Value, ValueRef, key};
use twox_hash::XxHash3_64;

use crate::plan::{group::Group, system};

/// Parts of one entity, at most: their numbers have two digits, and with the head they are one batch.
pub(crate) const MAX_PARTS: usize = 99;

/// Between the entity's row key and what names the part. No other key of ours holds it.
const MARK: &str = " ~~";
/// Behind the row key: above every part, below every other key.
const BEYOND: &str = " ~~~";

/// What tells the parts that one write left from those of another, where they were written before their head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Written in one batch with their head: ` ~~01`.
    Shared,
    /// Written before their head: ` ~~00c0ffee00c0ffee~01`.
    Own(u64),
}

/// What names a part behind the entity's row key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartName {
    pub(crate) generation: Generation,
    /// From 1.
    pub(crate) number: usize,
}

impl PartName {
    /// The row key of this part of the entity at `row`.
    pub(crate) fn key(self, row: &str) -> String {
        match self.generation {
            Generation::Shared => format!("{row}{MARK}{:02}", self.number),
            Generation::Own(generation) => format!("{row}{MARK}{generation:016x}~{:02}", self.number),
        }
    }

    /// The entity's row key and the part's name, if `key` is the key of a part.
    pub(crate) fn read(key: &str) -> Option<(&str, Self)> {
        let (row, name) = key.rsplit_once(MARK)?;
        let (generation, number) = match name.split_once('~') {
            None => (Generation::Shared, name),
            Some((generation, number)) => (Generation::Own(hexadecimal(generation)?), number),
        };
        let is_number = number.len() == 2 && number.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.parse().ok().filter(|number| is_number && *number > 0)?;
        Some((row, Self { generation, number }))
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    let is_canonical = text.len() == 16 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(text, 16).ok().filter(|_| is_canonical)
}

/// The row key of the entity whose row stands at `key`: of the head, or of a part.
pub(crate) fn entity_row(key: &str) -> &str {
    PartName::read(key).map_or(key, |(row, _)| row)
}

/// All rows of the entity at `row`, and of no other.
pub(crate) fn rows_of(row: &str) -> RowRange {
    RowRange { lower: Bound::Included(row.to_owned()), upper: Bound::Excluded(end_of(row)) }
}

/// The range with the parts of the entities whose heads lie in it.
pub(crate) fn with_parts(range: RowRange) -> RowRange {
    let lower = match range.lower {
        Bound::Excluded(row) => after(&row),
        other => other,
    };
    let upper = match range.upper {
        Bound::Included(row) => Bound::Excluded(end_of(&row)),
        other => other,
    };
    RowRange { lower, upper }
}

/// The range as it was before [`with_parts`]; one that it was not asked of stays as it is.
pub(crate) fn without_parts(range: &RowRange) -> RowRange {
    let head = |row: &String| row.strip_suffix(BEYOND).map(str::to_owned);
    let lower = match &range.lower {
        Bound::Excluded(row) => Bound::Excluded(head(row).unwrap_or_else(|| row.clone())),
        other => other.clone(),
    };
    let upper = match &range.upper {
        Bound::Excluded(row) => head(row).map_or_else(|| Bound::Excluded(row.clone()), Bound::Included),
        other => other.clone(),
    };
    RowRange { lower, upper }
}

/// Behind the entity at `row` and its parts: no row stands there.
pub(crate) fn end_of(row: &str) -> String {
    format!("{row}{BEYOND}")
}

/// After the entity at `row` and its parts.
pub(crate) fn after(row: &str) -> Bound<String> {
    Bound::Excluded(end_of(row))
}

/// In key order, each head before its parts, also where several partitions are merged.
pub(crate) fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    key::compare(entity_row(a), entity_row(b))
}

/// What a head says of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) generation: Generation,
    pub(crate) count: usize,
    pub(crate) sum: u64,
}

impl Marks {
    /// Those of a head; no parts where it says nothing, and `None` where what it says is of the wrong type.
    pub(crate) fn read(head: &Properties) -> Option<Self> {
        let generation = match head.get_constant(system::GENERATION) {
            None => Generation::Shared,
            Some(ValueRef::String(text)) => Generation::Own(hexadecimal(text)?),
            Some(_) => return None,
        };
        let (count, sum) = match (head.get_constant(system::PARTS), head.get_constant(system::SUM)) {
            (None, None) => (0, 0),
            (Some(ValueRef::Int32(count)), Some(ValueRef::Int64(sum))) => {
                (usize::try_from(count).ok()?, sum.cast_unsigned())
            }
            _ => return None,
        };
        Some(Self { generation, count, sum }).filter(|marks| marks.count <= MAX_PARTS)
    }

    /// Those for these parts, in their order.
    pub(crate) fn of<'a>(generation: Generation, parts: impl Iterator<Item = &'a Properties>) -> Self {
        let start = Self { generation, count: 0, sum: 0 };
        parts.fold(start, |marks, part| {
            let count = marks.count + 1;
            Self { count, sum: marks.sum.wrapping_add(digest(count, part)), ..marks }
        })
    }

    /// Puts them on a head; nothing where there are no parts.
    pub(crate) fn write(self, head: &mut Properties) {
        if self.count == 0 {
            return;
        }
        if let Generation::Own(generation) = self.generation {
            head.insert(PropertyName::from_static(system::GENERATION), format!("{generation:016x}"));
        }
        head.insert(PropertyName::from_static(system::PARTS), self.count as i32);
        head.insert(PropertyName::from_static(system::SUM), self.sum.cast_signed());
    }

    /// Whether the part of this name is one of them.
    pub(crate) fn hold(&self, name: PartName) -> bool {
        self.count > 0 && name.generation == self.generation && name.number <= self.count
    }
}

/// Whether the row is a head whose entity has parts.
pub(crate) fn has_parts(head: &Properties) -> bool {
    [system::PARTS, system::SUM, system::GENERATION].iter().any(|mark| head.get(mark).is_some())
}

/// Whether the row stands before the parts of the entity at `head`, between which and their head others may stand.
pub(crate) fn is_before_parts(head: &RowKey, row: &RowKey) -> bool {
    head.partition == row.partition && key::compare(&row.row, &format!("{}{MARK}", head.row)).is_lt()
}

/// What a part row is to its entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its head names it.
    Live,
    /// No head names it, but its writer may be about to write one.
    Young,
    /// Nobody reads it: what an interrupted write left.
    Orphan,
}

/// How long a writer may take from its first part to its head, doubled: an orphan is left alone so long, in 100 ns.
pub(crate) const GRACE_TICKS: i64 = 3_600 * 10_000_000;

/// Whether a part row, written at its timestamp, is live; `head` is the primary row at its entity's keys.
///
/// A row whose key is not that of a part is an orphan too, whatever its type says.
pub(crate) fn standing(head: Option<&Row>, part: &Row, now: DateTime) -> Standing {
    let name = PartName::read(&part.key.row).map(|(_, name)| name);
    let marks = head.and_then(|head| Marks::read(&head.properties));
    match (name, marks) {
        (Some(name), Some(marks)) if marks.hold(name) => Standing::Live,
        _ if now < young_until(part) => Standing::Young,
        _ => Standing::Orphan,
    }
}

/// Until when the writer of the part may publish it.
pub(crate) fn young_until(part: &Row) -> DateTime {
    DateTime::from_ticks(part.timestamp.ticks().saturating_add(GRACE_TICKS))
}

/// Whether the part was written so lately that a head which is written soon after it comes in time.
pub(crate) fn is_fresh(part: &Row, now: DateTime) -> bool {
    now.ticks().saturating_sub(part.timestamp.ticks()) < GRACE_TICKS / 4
}

/// What is wrong with the rows of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Torn {
    /// The row in question.
    pub(crate) key: RowKey,
    pub(crate) detail: Cow<'static, str>,
}

/// As [`settled`], of a group that stays where it is.
pub(crate) fn settled_as_is(group: &Group) -> Result<Cow<'_, Group>, Torn> {
    let is_none = |marks: Marks| marks.count == 0 && marks.sum == 0;
    match group.parts.is_empty() && Marks::read(&group.head.properties).is_some_and(is_none) {
        true => Ok(Cow::Borrowed(group)),
        false => settled(group.clone()).map(Cow::Owned),
    }
}

/// The group with its live parts alone, if these are the very parts that its head names.
pub(crate) fn settled(mut group: Group) -> Result<Group, Torn> {
    let torn = |row: String, detail| {
        let key = RowKey::new(group.head.key.partition.clone(), row);
        Err(Torn { key, detail })
    };
    let Some(marks) = Marks::read(&group.head.properties) else {
        return torn(group.head.key.row, Cow::Borrowed("what the head says of its parts cannot be read"));
    };
    group.parts.retain(|part| PartName::read(&part.key.row).is_some_and(|(_, name)| marks.hold(name)));
    let names = (1..=marks.count).map(|number| PartName { generation: marks.generation, number });
    let missing = names.zip(group.parts.iter().map(Some).chain(std::iter::repeat(None))).find_map(|(name, part)| {
        let row = name.key(&group.head.key.row);
        (part.map(|part| part.key.row.as_str()) != Some(row.as_str())).then_some(row)
    });
    if let Some(row) = missing {
        return torn(row, Cow::Borrowed("a part of the entity is missing"));
    }
    if Marks::of(marks.generation, group.parts.iter().map(|part| &part.properties)) != marks {
        return torn(
            group.head.key.row,
            Cow::Borrowed("the parts of the entity are not those of its head: their sum differs"),
        );
    }
    Ok(group)
}

/// The digest of one part, as FORMAT.md draws it: XXH3-64 of its number and its own properties, system ones left out.
fn digest(number: usize, part: &Properties) -> u64 {
    let mut bytes = Vec::with_capacity(4096);
    bytes.push(number as u8);
    for (name, value) in part.iter().filter(|(name, _)| !system::is_system(name.as_str())) {
        sized(&mut bytes, name.as_str().as_bytes());
        encode(&mut bytes, value);
    }
    XxHash3_64::oneshot(&bytes)
}

fn sized(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}

/// The type by its number in digests, then the value in a fixed width or with its length.
fn encode(to: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Binary(bytes) => {
            to.push(0);
            sized(to, bytes);
        }
        ValueRef::Boolean(truth) => to.push(if truth { 2 } else { 1 }),
        ValueRef::DateTime(at) => fixed(to, 3, &at.ticks().to_le_bytes()),
        // A NaN is only a NaN in Azure's JSON.
        ValueRef::Double(number) if number.is_nan() => fixed(to, 4, &f64::NAN.to_bits().to_le_bytes()),
        ValueRef::Double(number) => fixed(to, 4, &number.to_bits().to_le_bytes()),
        ValueRef::Guid(id) => fixed(to, 5, id.as_bytes()),
        ValueRef::Int32(number) => fixed(to, 6, &number.to_le_bytes()),
        ValueRef::Int64(number) => fixed(to, 7, &number.to_le_bytes()),
        ValueRef::String(text) => {
            to.push(8);
            sized(to, text.as_bytes());
        }
    }
}

fn fixed(to: &mut Vec<u8>, edm: u8, bytes: &[u8]) {
    to.push(edm);
    to.extend_from_slice(bytes);
}

/// The system properties of a part.
pub(crate) fn stamp(part: &mut Properties, part_type: &str, owner: &str, sequence: i64) {
    part.insert(PropertyName::from_static(system::ENTITY_TYPE), Value::from(part_type));
    part.insert(PropertyName::from_static(system::OWNER_ROW), Value::from(owner));
    part.insert(PropertyName::from_static(system::SEQUENCE), sequence);
}

/// The parts in a partition, by the row keys of their entities, and the heads that were found for them.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) rows: BTreeMap<String, Vec<Row>>,
    pub(crate) heads: BTreeMap<String, Row>,
}

impl Parts {
    /// The rows that are parts, and the others.
    pub(crate) fn apart(rows: Vec<Row>, is_part: impl Fn(&Row) -> bool) -> (Self, Vec<Row>) {
        let (of_entities, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_part);
        let mut parts = Self::default();
        for part in of_entities {
            parts.rows.entry(entity_row(&part.key.row).to_owned()).or_default().push(part);
        }
        (parts, others)
    }

    /// The head with its parts.
    pub(crate) fn with(&mut self, head: Row) -> Group {
        let Some(parts) = self.rows.get(&head.key.row).cloned() else { return head.into() };
        self.heads.insert(head.key.row.clone(), head.clone());
        Group::of(head, parts)
    }
}

#[cfg(test)]
mod tests {
    use tablemodel_store::DateTime;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_digest_is_over_the_bytes_that_the_format_draws() {
        let part = Properties::from_iter([
            ("A", Value::Binary(b"ab".to_vec())),
            ("B", Value::Boolean(false)),
            ("C", Value::Boolean(true)),
            ("D", Value::DateTime(DateTime::from_ticks(258))),
            ("E", Value::Double(-f64::NAN)),
            ("F", Value::Guid(Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff))),
            ("G", Value::Int32(-2)),
            ("H", Value::Int64(258)),
            ("I", Value::String("ü".into())),
            ("_seq", Value::Int64(7)),
        ]);
        let drawn: [&[u8]; 10] = [
            b"\x03",
            b"\x01\0\0\0A\x00\x02\0\0\0ab",
            b"\x01\0\0\0B\x01",
            b"\x01\0\0\0C\x02",
            b"\x01\0\0\0D\x03\x02\x01\0\0\0\0\0\0",
            b"\x01\0\0\0E\x04\0\0\0\0\0\0\xf8\x7f",
            b"\x01\0\0\0F\x05\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
            b"\x01\0\0\0G\x06\xfe\xff\xff\xff",
            b"\x01\0\0\0H\x07\x02\x01\0\0\0\0\0\0",
            b"\x01\0\0\0I\x08\x02\0\0\0\xc3\xbc",
        ];
        assert_eq!(digest(3, &part), XxHash3_64::oneshot(&drawn.concat()));
    }
}
