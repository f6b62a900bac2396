//! One difference between two formats of an entity.
//! How differences are found is `diff`'s; here is what each is called and asks for.

use std::fmt;

use super::{
    AggregateFormat, Class, Code, CopyFormat, CoverFormat, ElsewhereFormat, FunctionFormat, IndexFormat, KeyFormat,
    KeyPiece, PropertyFormat,
};
use crate::{
    key::{Codec, KeyType},
    plan::succeeded::are_values_alike,
};

/// One difference, with all that is needed to make it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "`from` and `to` are what was and what is; names are stored names")]
pub enum Change {
    /// The entity type.
    EntityRenamed { from: String, to: String },
    /// The version.
    VersionChanged { from: u32, to: u32 },
    /// The table of the primary rows.
    TableMoved { from: String, to: String },
    /// `adopt`.
    AdoptChanged { to: bool },
    /// `wide`.
    WideChanged { to: bool },
    /// A name that may not return.
    Reserved { name: String },
    /// A name that may return.
    Unreserved { name: String },
    /// A property, wherever it is mentioned; `returns`: an earlier version used the new name.
    Renamed { from: String, to: String, returns: bool },
    /// A property; `returns`: an earlier version used the name.
    PropertyAdded { name: String, property: PropertyFormat, returns: bool },
    /// A property.
    PropertyRemoved { name: String, property: PropertyFormat },
    /// How a property is stored; `aggregate`: one that adds or ranks its values, and cannot go on under its name with such as these.
    PropertyChanged { name: String, from: PropertyFormat, to: PropertyFormat, aggregate: Option<String> },
    /// The partition key.
    PartitionChanged { from: KeyFormat, to: KeyFormat },
    /// The row key.
    RowChanged { from: KeyFormat, to: KeyFormat },
    /// An index or list; `returns`: an earlier version used the name.
    IndexAdded { name: String, index: IndexFormat, returns: bool },
    /// An index or list.
    IndexRemoved { name: String, index: IndexFormat },
    /// One aspect of an index: its keys, place, cover, uniqueness or condition.
    IndexChanged { name: String, code: Code, from: IndexFormat, to: IndexFormat },
    /// A copy.
    CopyAdded { name: String, copy: CopyFormat },
    /// A copy.
    CopyRemoved { name: String, copy: CopyFormat },
    /// A copy.
    CopyChanged { name: String, from: CopyFormat, to: CopyFormat },
    /// What is added to an aggregate.
    AggregateAdded { name: String, aggregate: AggregateFormat },
    /// What is added to an aggregate.
    AggregateRemoved { name: String, aggregate: AggregateFormat },
    /// What is added to an aggregate.
    AggregateChanged { name: String, from: AggregateFormat, to: AggregateFormat },
}

impl Change {
    /// Which kind of change it is.
    pub fn code(&self) -> Code {
        match self {
            Self::EntityRenamed { .. } => Code::TM201,
            Self::VersionChanged { .. } => Code::TM202,
            Self::TableMoved { .. } => Code::TM601,
            Self::AdoptChanged { .. } => Code::TM205,
            Self::WideChanged { .. } => Code::TM501,
            Self::Reserved { .. } | Self::Unreserved { .. } => Code::TM108,
            Self::Renamed { returns: true, .. }
            | Self::PropertyAdded { returns: true, .. }
            | Self::IndexAdded { returns: true, .. } => Code::TM107,
            Self::Renamed { .. } => Code::TM104,
            Self::PropertyAdded { property, .. } if property.may_be_absent() => Code::TM101,
            Self::PropertyAdded { .. } => Code::TM102,
            Self::PropertyRemoved { .. } => Code::TM103,
            Self::PropertyChanged { from, to, aggregate, .. } => match property_code(from, to) {
                Code::TM105 if aggregate.is_some() => Code::TM403,
                code => code,
            },
            Self::PartitionChanged { from, to } => key_code(from, to).unwrap_or(Code::TM301),
            Self::RowChanged { from, to } => key_code(from, to).unwrap_or(Code::TM302),
            Self::IndexAdded { .. } | Self::CopyAdded { .. } | Self::AggregateAdded { .. } => Code::TM401,
            Self::IndexRemoved { .. } | Self::CopyRemoved { .. } | Self::AggregateRemoved { .. } => Code::TM402,
            Self::IndexChanged { code, .. } => *code,
            Self::CopyChanged { from, to, .. } if from.copies_the_same(to) => Code::TM408,
            Self::CopyChanged { .. } | Self::AggregateChanged { .. } => Code::TM403,
        }
    }

    /// What it asks for.
    pub fn class(&self) -> Class {
        match self {
            Self::VersionChanged { from, to } if from > to => Class::Unsafe,
            Self::VersionChanged { .. } | Self::Reserved { .. } => Class::NoOp,
            Self::Unreserved { .. } | Self::AdoptChanged { to: false } => Class::Unsafe,
            Self::AdoptChanged { to: true } | Self::WideChanged { to: true } => Class::LazySafe,
            Self::WideChanged { to: false } | Self::EntityRenamed { .. } => Class::Rewrite,
            // Names of tables are one in any case.
            Self::TableMoved { from, to } if from.eq_ignore_ascii_case(to) => Class::NoOp,
            Self::TableMoved { .. } => Class::Rekey,
            Self::PartitionChanged { from, to } | Self::RowChanged { from, to } => {
                if has_same_bytes(from, to) {
                    Class::NoOp
                } else {
                    Class::Rekey
                }
            }
            Self::PropertyChanged { to, .. } => property_class(self.code(), to),
            Self::IndexChanged { code, from, to, .. } => index_class(*code, from, to),
            Self::CopyChanged { from, to, .. } if self.code() == Code::TM408 && !from.is_read_as(to) => Class::Rewrite,
            _ => match self.code() {
                Code::TM101 | Code::TM103 | Code::TM104 | Code::TM402 | Code::TM408 => Class::LazySafe,
                Code::TM102 => Class::Rewrite,
                Code::TM107 => Class::Unsafe,
                _ => Class::Backfill,
            },
        }
    }

    /// Whether the stored format is another, so that the version has to be.
    pub fn needs_version(&self) -> bool {
        !matches!(self, Self::VersionChanged { .. } | Self::Reserved { .. } | Self::Unreserved { .. })
    }

    /// Whether new programs read old rows without computing anything.
    pub fn is_backward(&self) -> bool {
        match self {
            Self::CopyAdded { copy, .. } => copy.optional,
            Self::CopyChanged { from, to, .. } => from.is_read_as(to),
            _ => self.class() <= Class::Backfill,
        }
    }

    /// Whether programs of the old version find what they look for in what new ones write. That they read rows of another version
    /// at all is said by `readable_by`, which is no part of a format.
    pub fn is_forward(&self) -> bool {
        match self {
            Self::PropertyRemoved { property, .. } => property.may_be_absent(),
            Self::Renamed { .. } | Self::WideChanged { .. } => false,
            Self::PropertyChanged { from, to, .. } => is_widened(to, from) && from.chunked == to.chunked,
            Self::PropertyAdded { .. } => self.code() != Code::TM107,
            Self::IndexChanged { code: Code::TM406, to, .. } => !to.unique,
            Self::IndexAdded { index, .. } => !index.unique && self.code() != Code::TM107,
            // New programs do not write what old ones read by it.
            Self::IndexRemoved { .. } | Self::CopyRemoved { .. } | Self::AggregateRemoved { .. } => false,
            // They write it under other keys, elsewhere, or for other entities than old ones look for.
            Self::IndexChanged { code: Code::TM403 | Code::TM405 | Code::TM407, .. } => self.class() < Class::Backfill,
            Self::CopyChanged { from, to, .. } => self.code() == Code::TM408 && to.is_read_as(from),
            Self::AggregateChanged { .. } => false,
            _ => self.class() <= Class::Backfill,
        }
    }
}

impl PropertyFormat {
    /// Whether a row without it can be read.
    pub fn may_be_absent(&self) -> bool {
        self.nullable || self.default
    }
}

impl CopyFormat {
    /// Whether the two differ only in what becomes of the copy without its source.
    fn copies_the_same(&self, other: &Self) -> bool {
        let Self { source, stored, key, properties, optional: _, on_delete: _ } = self;
        (source, stored, key, properties) == (&other.source, &other.stored, &other.key, &other.properties)
    }

    /// Whether what a holder has of this copy is all that the other wants to read.
    fn is_read_as(&self, other: &Self) -> bool {
        self.stored == other.stored
            && other.properties.is_subset(&self.properties)
            && (other.optional || !self.optional)
    }
}

const BLOB: &str = crate::schema::BLOB;

fn property_code(from: &PropertyFormat, to: &PropertyFormat) -> Code {
    if from.chunked != to.chunked {
        Code::TM501
    } else if (from.codec == BLOB) != (to.codec == BLOB) {
        Code::TM502
    } else if !is_widened(from, to) {
        Code::TM106
    } else if to.aggregate && !from.aggregate {
        Code::TM401
    } else {
        Code::TM105
    }
}

/// A whole value of a chunked property is read as it is, and a chunked one nowhere else. One that becomes an aggregate is read as it was
/// until the total is built, which takes its place. One that an aggregate is made of is read too; the aggregate has to be built anew.
fn property_class(code: Code, to: &PropertyFormat) -> Class {
    match code {
        Code::TM105 => Class::LazySafe,
        Code::TM401 | Code::TM403 => Class::Backfill,
        Code::TM501 if to.chunked => Class::LazySafe,
        _ => Class::Rewrite,
    }
}

impl FunctionFormat {
    /// Whether an aggregate that is made of this property goes on when that is stored otherwise.
    pub(super) fn goes_on(&self, property: &str, from: &PropertyFormat, to: &PropertyFormat) -> bool {
        let (is_ranked, of) = match self {
            Self::Count => return true,
            Self::Sum(of) => (false, of),
            Self::Min(of) | Self::Max(of) => (true, of),
        };
        of != property || are_values_alike(is_ranked, (from.edm, &from.codec), (to.edm, &to.codec))
    }
}

/// Whether all that was stored as `from` is read as `to`.
fn is_widened(from: &PropertyFormat, to: &PropertyFormat) -> bool {
    reads(&to.codec, &from.codec) && (to.may_be_absent() || !from.may_be_absent())
}

/// Whether a property of codec `new` reads what one of codec `old` wrote: see the table of types in FORMAT.md.
fn reads(new: &str, old: &str) -> bool {
    let narrower: &[&str] = match new {
        "u16" => &["u8"],
        "u32" => &["u8", "u16"],
        "u64" => &["u8", "u16", "u32"],
        "u128" => &["u8", "u16", "u32", "u64"],
        "i16" => &["i8", "u8"],
        "i32" => &["i8", "i16", "u8", "u16"],
        "i64" | "i128" => &["i8", "i16", "i32", "i64", "u8", "u16", "u32"],
        "f64" => &["f32", "i8", "i16", "i32", "u8", "u16", "u32"],
        "string" => &["char", "enum"],
        _ => &[],
    };
    new == old || narrower.contains(&old)
}

/// The code of a change of a primary key that is less than another key.
fn key_code(from: &KeyFormat, to: &KeyFormat) -> Option<Code> {
    if from.differs_only_in(to, without_buckets) {
        Some(Code::TM503)
    } else if from.differs_only_in(to, without_codec) {
        Some(Code::TM303)
    } else {
        None
    }
}

fn without_buckets(piece: &KeyPiece) -> KeyPiece {
    match piece.clone() {
        KeyPiece::Part { property, key_type, optional, codec: Codec::Shard(_) } => {
            KeyPiece::Part { property, key_type, optional, codec: Codec::Shard(0) }
        }
        other => other,
    }
}

fn without_codec(piece: &KeyPiece) -> KeyPiece {
    match piece.clone() {
        KeyPiece::Part { property, .. } => {
            KeyPiece::Part { property, key_type: KeyType::Text, optional: false, codec: Codec::Plain }
        }
        literal @ KeyPiece::Literal(_) => literal,
    }
}

/// Whether the keys are written alike.
pub(super) fn has_same_bytes(from: &KeyFormat, to: &KeyFormat) -> bool {
    from.differs_only_in(to, KeyPiece::as_written)
}

fn index_class(code: Code, from: &IndexFormat, to: &IndexFormat) -> Class {
    let partition = |index: &IndexFormat| {
        index.elsewhere.clone().map_or_else(KeyFormat::default, |ElsewhereFormat { partition, .. }| partition)
    };
    let table = |index: &IndexFormat| index.elsewhere.as_ref().map(|elsewhere| elsewhere.table.clone());
    match code {
        Code::TM403 => {
            let others = (&from.each, &from.cover, table(from)) == (&to.each, &to.cover, table(to));
            let keys = has_same_bytes(&from.row, &to.row) && has_same_bytes(&partition(from), &partition(to));
            if others && keys { Class::NoOp } else { Class::Backfill }
        }
        Code::TM404 if !keeps_more(&from.cover, &to.cover) => Class::LazySafe,
        Code::TM406 if !to.unique && to.elsewhere.is_none() => Class::LazySafe,
        _ => Class::Backfill,
    }
}

/// Whether `to` keeps something that `from` does not.
fn keeps_more(from: &CoverFormat, to: &CoverFormat) -> bool {
    match (from, to) {
        (CoverFormat::Whole, _) | (_, CoverFormat::KeysOnly) => false,
        (from, to) if from.is_list() && to.is_list() => false, // either is read in both forms
        (CoverFormat::Keep(from), CoverFormat::Keep(to)) => !to.is_subset(from),
        _ => true,
    }
}

/// What changed, in one line.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EntityRenamed { from, to } => write!(f, "entity type {from} -> {to}"),
            Self::VersionChanged { from, to } => write!(f, "version {from} -> {to}"),
            Self::TableMoved { from, to } => write!(f, "table {from} -> {to}"),
            Self::AdoptChanged { to } => write!(f, "adopt -> {to}"),
            Self::WideChanged { to } => write!(f, "wide -> {to}"),
            Self::Reserved { name } => write!(f, "+ reserved {name}"),
            Self::Unreserved { name } => write!(f, "- reserved {name}"),
            Self::Renamed { from, to, .. } => write!(f, "property {from} -> {to}"),
            Self::PropertyAdded { name, property, .. } => write!(f, "+ property {name} {}", property.text()),
            Self::PropertyRemoved { name, property } => write!(f, "- property {name} {}", property.text()),
            Self::PropertyChanged { name, from, to, aggregate } => {
                write!(f, "property {name} {} -> {}", from.text(), to.text())?;
                let Some(aggregate) = aggregate else { return Ok(()) };
                write!(f, ", of which aggregate {aggregate} is made: give that another name")
            }
            Self::PartitionChanged { from, to } => write!(f, "partition \"{from}\" -> \"{to}\""),
            Self::RowChanged { from, to } => write!(f, "row \"{from}\" -> \"{to}\""),
            Self::IndexAdded { name, .. } => write!(f, "+ index {name}"),
            Self::IndexRemoved { name, .. } => write!(f, "- index {name}"),
            Self::IndexChanged { name, code, from, to } => write!(f, "index {name}: {}", aspect(*code, from, to)),
            Self::CopyAdded { name, .. } => write!(f, "+ copy {name}"),
            Self::CopyRemoved { name, .. } => write!(f, "- copy {name}"),
            Self::CopyChanged { name, .. } => write!(f, "copy {name}"),
            Self::AggregateAdded { name, .. } => write!(f, "+ aggregate {name}"),
            Self::AggregateRemoved { name, .. } => write!(f, "- aggregate {name}"),
            Self::AggregateChanged { name, .. } => write!(f, "aggregate {name}"),
        }
    }
}

/// What differs of the place of an index's rows.
fn keys(from: &IndexFormat, to: &IndexFormat) -> String {
    let mut told = Vec::new();
    if from.row != to.row {
        told.push(format!("keys \"{}\" -> \"{}\"", from.row, to.row));
    }
    if let (Some(from), Some(to)) = (&from.elsewhere, &to.elsewhere) {
        if from.partition != to.partition {
            told.push(format!("partition \"{}\" -> \"{}\"", from.partition, to.partition));
        }
        if from.table != to.table {
            told.push(format!("table {} -> {}", from.table, to.table));
        }
    }
    if from.each != to.each {
        told.push("what it has a row for each of".to_owned());
    }
    if from.cover.is_list() != to.cover.is_list() {
        told.push(if to.cover.is_list() { "an index -> a list" } else { "a list -> an index" }.to_owned());
    }
    told.join(", ")
}

fn aspect(code: Code, from: &IndexFormat, to: &IndexFormat) -> String {
    match code {
        Code::TM403 => keys(from, to),
        Code::TM404 => "what it keeps".to_owned(),
        Code::TM405 if to.elsewhere.is_some() => "beside the entity -> another partition (eventual)".to_owned(),
        Code::TM405 => "another partition -> beside the entity (atomic)".to_owned(),
        Code::TM406 => format!("unique -> {}", to.unique),
        _ => "its condition".to_owned(),
    }
}
