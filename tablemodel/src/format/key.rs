//! A key's template as owned data, and its text.
//! No key is made here.

use std::{fmt, str::FromStr};

use super::FormatError;
use crate::key::{Codec, KeyType, Part, Segment, Template};

/// The template of a key: what [`Template`](crate::key::Template) says of stored bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFormat(pub Vec<KeyPiece>);

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPiece {
    /// Text that stands in every key.
    Literal(String),
    /// A component.
    Part {
        /// The property, by its stored name.
        property: String,
        /// The kind of value.
        key_type: KeyType,
        /// Whether it may be absent, and with it the row.
        optional: bool,
        /// How it is written.
        codec: Codec,
    },
}

impl KeyFormat {
    /// The properties in it.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            KeyPiece::Part { property, .. } => Some(property.as_str()),
            KeyPiece::Literal(_) => None,
        })
    }

    /// Whether the two differ in nothing but what `mask` makes equal.
    pub(super) fn differs_only_in(&self, other: &Self, mask: impl Fn(&KeyPiece) -> KeyPiece) -> bool {
        self.0.iter().map(&mask).eq(other.0.iter().map(&mask))
    }

    /// Whether the two make the same keys of the same values, by whatever names those are stored: the rule by which a row is
    /// upgraded where it stands.
    pub(crate) fn makes_the_keys_of(&self, other: &Self) -> bool {
        self.differs_only_in(other, |piece| match piece.as_written() {
            KeyPiece::Part { key_type, codec, .. } => {
                KeyPiece::Part { property: String::new(), key_type, optional: false, codec }
            }
            literal @ KeyPiece::Literal(_) => literal,
        })
    }
}

impl From<&Template> for KeyFormat {
    fn from(template: &Template) -> Self {
        let piece = |segment: &Segment| match segment {
            Segment::Literal(text) => KeyPiece::Literal((*text).to_owned()),
            Segment::Part(part) => {
                let &Part { property, key_type, optional, codec, .. } = part;
                KeyPiece::Part { property: property.to_owned(), key_type, optional, codec }
            }
        };
        Self(template.0.iter().map(piece).collect())
    }
}

impl KeyPiece {
    /// The same, with one kind of value for all that are written alike: under a width, and in buckets and hashes, integers of every type
    /// are, and the text of an enum is a text.
    pub(super) fn as_written(&self) -> Self {
        let mut piece = self.clone();
        if let Self::Part { key_type, codec, .. } = &mut piece {
            *key_type = match (*key_type, *codec) {
                (KeyType::Unsigned(_) | KeyType::Signed(_), Codec::Width(_) | Codec::Shard(_) | Codec::Hash) => {
                    KeyType::Unsigned(0)
                }
                (KeyType::Enum { .. }, _) => KeyType::Text,
                (other, _) => other,
            };
        }
        piece
    }
}

/// `empid_{Id:u32:06}`: as in a program, with the kind of each component, and `?` where it may be absent.
impl fmt::Display for KeyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                KeyPiece::Literal(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
                KeyPiece::Part { property, key_type, optional, codec } => {
                    let (kind, mark) = (kind(*key_type), if *optional { "?" } else { "" });
                    let codec = if *codec == Codec::Plain { String::new() } else { format!(":{codec}") };
                    write!(f, "{{{property}:{kind}{mark}{codec}}}")?;
                }
            }
        }
        Ok(())
    }
}

/// The word of a kind of value.
pub(super) fn kind(key_type: KeyType) -> String {
    let word = match key_type {
        KeyType::Unsigned(bits) => return format!("u{bits}"),
        KeyType::Signed(bits) => return format!("i{bits}"),
        KeyType::Text => "text",
        KeyType::Float => "float",
        KeyType::Bool => "bool",
        KeyType::Uuid => "uuid",
        KeyType::Ulid => "ulid",
        KeyType::Date => "date",
        KeyType::Time => "time",
        KeyType::Binary => "bytes",
        KeyType::Enum { ordered: true } => "enum",
        KeyType::Enum { ordered: false } => "enum-unordered",
    };
    word.to_owned()
}

fn key_type(word: &str) -> Option<KeyType> {
    let bits = |text: &str| text.parse::<u8>().ok().filter(|bits| [8, 16, 32, 64, 128].contains(bits));
    Some(match word {
        "text" => KeyType::Text,
        "float" => KeyType::Float,
        "bool" => KeyType::Bool,
        "uuid" => KeyType::Uuid,
        "ulid" => KeyType::Ulid,
        "date" => KeyType::Date,
        "time" => KeyType::Time,
        "bytes" => KeyType::Binary,
        "enum" => KeyType::Enum { ordered: true },
        "enum-unordered" => KeyType::Enum { ordered: false },
        _ => match word.split_at_checked(1)? {
            ("u", rest) => KeyType::Unsigned(bits(rest)?),
            ("i", rest) => KeyType::Signed(bits(rest)?),
            _ => return None,
        },
    })
}

fn codec(word: &str) -> Option<Codec> {
    Some(match word {
        "desc" => Codec::Desc,
        "sortable" => Codec::Sortable,
        "hour" => Codec::Hour,
        "day" => Codec::Day,
        "month" => Codec::Month,
        "lower" => Codec::Lower,
        "hash" => Codec::Hash,
        "raw" => Codec::Raw,
        _ => match word.strip_prefix("shard(").and_then(|rest| rest.strip_suffix(')')) {
            Some(buckets) => Codec::Shard(buckets.parse().ok()?),
            None => Codec::Width(word.strip_prefix('0')?.parse().ok()?),
        },
    })
}

impl FromStr for KeyFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                literal.push(first);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                if !literal.is_empty() {
                    pieces.push(KeyPiece::Literal(std::mem::take(&mut literal)));
                }
                let (inside, after) = after.split_once('}').ok_or_else(|| FormatError::key(text, "`}` is missing"))?;
                pieces.push(part(inside).ok_or_else(|| FormatError::key(text, &format!("`{inside}` is no part")))?);
                rest = after;
            } else {
                literal.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
        if !literal.is_empty() {
            pieces.push(KeyPiece::Literal(literal));
        }
        Ok(Self(pieces))
    }
}

/// `Id:u32?:06`
fn part(text: &str) -> Option<KeyPiece> {
    let mut words = text.split(':');
    let (property, kind, written) = (words.next()?, words.next()?, words.next());
    let (kind, optional) = kind.strip_suffix('?').map_or((kind, false), |kind| (kind, true));
    if property.is_empty() || words.next().is_some() {
        return None;
    }
    let codec = written.map_or(Some(Codec::Plain), codec)?;
    Some(KeyPiece::Part { property: property.to_owned(), key_type: key_type(kind)?, optional, codec })
}
