//! How a value is written in a key.
//! No bytes are made here: this is the constant data that the derive emits.

use std::fmt;

use super::KeyType;

/// Decimal digits of `u128::MAX`, the most that a number in a key can have.
pub(super) const MAX_DIGITS: u8 = 39;

/// How one component of a key is written, as it stands after the colon in `{field:codec}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// `{field}`: the form that keeps order and stays readable.
    Plain,
    /// `{id:06}`: so many decimal digits, for integers that are not negative.
    Width(u8),
    /// `desc`: the greatest value first.
    Desc,
    /// `sortable`: 16 hexadecimal digits, for floating point numbers.
    Sortable,
    /// `hour`: `2014-07-31T18`, in UTC.
    Hour,
    /// `day`: `2014-07-31`, in UTC.
    Day,
    /// `month`: `2014-07`, in UTC.
    Month,
    /// `lower`: text without regard to case.
    Lower,
    /// `shard(n)`: a bucket from 0 to n - 1 by hash.
    Shard(u16),
    /// `hash`: 128 bits of hash.
    Hash,
    /// `raw`: text verbatim, for tables shared with other programs.
    Raw,
}

impl Codec {
    /// Whether values of this kind can be written so.
    pub const fn fits(self, key_type: KeyType) -> bool {
        match self {
            Self::Plain => !matches!(key_type, KeyType::Float),
            Self::Width(digits) => {
                digits >= 1 && digits <= MAX_DIGITS && matches!(key_type, KeyType::Unsigned(_) | KeyType::Signed(_))
            }
            Self::Desc => matches!(key_type, KeyType::Unsigned(_) | KeyType::Signed(_) | KeyType::Time),
            Self::Sortable => matches!(key_type, KeyType::Float),
            Self::Hour | Self::Day => matches!(key_type, KeyType::Time),
            Self::Month => matches!(key_type, KeyType::Time | KeyType::Date),
            Self::Lower | Self::Raw => matches!(key_type, KeyType::Text),
            Self::Shard(buckets) => buckets >= 1,
            Self::Hash => true,
        }
    }

    /// Whether the value cannot be had back from the key exactly, so that the field must be stored as a
    /// property too. (`sortable` forgets the sign of zero.)
    pub const fn is_lossy(self) -> bool {
        match self {
            Self::Plain | Self::Width(_) | Self::Desc | Self::Raw => false,
            Self::Sortable | Self::Hour | Self::Day | Self::Month | Self::Lower | Self::Shard(_) | Self::Hash => true,
        }
    }

    /// Whether it is a bucket of time.
    pub(crate) const fn is_time(self) -> bool {
        matches!(self, Self::Hour | Self::Day | Self::Month)
    }
}

/// The word of the template: nothing for [`Codec::Plain`], `06` for six digits, `shard(16)`.
impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => Ok(()),
            Self::Width(digits) => write!(f, "0{digits}"),
            Self::Desc => f.write_str("desc"),
            Self::Sortable => f.write_str("sortable"),
            Self::Hour => f.write_str("hour"),
            Self::Day => f.write_str("day"),
            Self::Month => f.write_str("month"),
            Self::Lower => f.write_str("lower"),
            Self::Shard(buckets) => write!(f, "shard({buckets})"),
            Self::Hash => f.write_str("hash"),
            Self::Raw => f.write_str("raw"),
        }
    }
}
