//! The shape of an encoded component: what it can contain and where it ends.
//! Everything here is decided when compiling; no value is seen.

use super::{Codec, KeyType, Part, digits, text};

/// A set of ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alphabet(u128);

impl Alphabet {
    pub(super) const DIGITS: Self = Self::span(b'0', b'9');
    pub(super) const HEX: Self = Self::DIGITS.and(Self::span(b'a', b'f'));

    /// The characters from `first` to `last`.
    pub(super) const fn span(first: u8, last: u8) -> Self {
        let mut set = 0;
        let mut byte = first;
        while byte <= last {
            set |= 1 << byte;
            byte += 1;
        }
        Self(set)
    }

    pub(super) const fn of(bytes: &[u8]) -> Self {
        let mut set = 0;
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            set |= 1 << *byte;
            rest = tail;
        }
        Self(set)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, bytes: &[u8]) -> Self {
        let mut set = self.0;
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            if byte.is_ascii() {
                set &= !(1 << *byte);
            }
            rest = tail;
        }
        Self(set)
    }

    pub(super) const fn has(self, byte: u8) -> bool {
        let half = if byte < 64 { self.0 as u64 } else { (self.0 >> 64) as u64 };
        byte.is_ascii() && half >> (byte % 64) & 1 == 1
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether `byte` sorts below all of these.
    pub(super) const fn is_above(self, byte: u8) -> bool {
        (byte as u32) < self.0.trailing_zeros()
    }
}

/// What an encoded component looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// So many ASCII characters, always.
    Fixed { width: u8, alphabet: Alphabet },
    /// As long as `marks`, whose zeros stand for any of the alphabet and whose other characters for themselves.
    Marked { marks: &'static [u8], alphabet: Alphabet },
    /// `false` or `true`: neither begins with the other.
    Truth,
    /// Up to the separator that follows, or to the end of the key.
    Delimited { alphabet: Alphabet, beyond_ascii: bool },
}

impl Shape {
    const fn digits(width: u8) -> Self {
        Self::Fixed { width, alphabet: Alphabet::DIGITS }
    }

    const fn date(marks: &'static [u8]) -> Self {
        Self::Marked { marks, alphabet: Alphabet::DIGITS }
    }

    const TEXT: Self = Self::Delimited { alphabet: text::ALPHABET, beyond_ascii: true };
    const RAW: Self = Self::Delimited { alphabet: Alphabet::span(b' ', b'~').without(b"#%/?\\"), beyond_ascii: true };
}

impl Part {
    /// What this component looks like in a key.
    pub(super) const fn shape(&self) -> Shape {
        match self.codec {
            Codec::Plain | Codec::Desc => plain(self.key_type),
            Codec::Width(width) => Shape::digits(width),
            Codec::Sortable => Shape::Fixed { width: 16, alphabet: Alphabet::HEX },
            Codec::Hour => Shape::date(b"0000-00-00T00"),
            Codec::Day => Shape::date(b"0000-00-00"),
            Codec::Month => Shape::date(b"0000-00"),
            Codec::Lower => Shape::TEXT,
            Codec::Shard(buckets) => Shape::digits(shard_digits(buckets)),
            Codec::Hash => Shape::Fixed { width: 32, alphabet: Alphabet::HEX },
            Codec::Raw => Shape::RAW,
        }
    }

    /// Whether only a separator, or the end of the key, tells where the component ends.
    pub(super) const fn is_delimited(&self) -> bool {
        matches!(self.shape(), Shape::Delimited { .. })
    }

    /// Whether this byte may follow the component: anything where its end is known, else only what it cannot hold.
    pub(super) const fn may_precede(&self, separator: u8) -> bool {
        match self.shape() {
            Shape::Fixed { .. } | Shape::Marked { .. } | Shape::Truth => true,
            Shape::Delimited { alphabet, .. } => match self.codec {
                Codec::Raw => separator.is_ascii(),
                _ if matches!(self.key_type, KeyType::Binary) => separator.is_ascii() && !alphabet.has(separator),
                _ => text::separates(separator),
            },
        }
    }

    /// Whether the keys of a range of this component's values are those between two keys, when `separator`
    /// follows it (`None`: nothing does).
    pub(super) const fn orders(&self, separator: Option<u8>) -> bool {
        let by_value = match self.codec {
            Codec::Plain => !matches!(self.key_type, KeyType::Enum { ordered: false }),
            Codec::Width(_) | Codec::Desc | Codec::Sortable | Codec::Raw => true,
            Codec::Hour | Codec::Day | Codec::Month | Codec::Lower | Codec::Shard(_) | Codec::Hash => false,
        };
        let across = match (self.shape(), separator) {
            (Shape::Fixed { .. } | Shape::Marked { .. } | Shape::Truth, _) | (Shape::Delimited { .. }, None) => true,
            (Shape::Delimited { alphabet, .. }, Some(byte)) => alphabet.is_above(byte),
        };
        by_value && across
    }
}

const fn plain(key_type: KeyType) -> Shape {
    match key_type {
        KeyType::Text | KeyType::Enum { .. } => Shape::TEXT,
        KeyType::Unsigned(bits) | KeyType::Signed(bits) => Shape::digits(digits::digits_of(bits)),
        KeyType::Float => Shape::Fixed { width: 16, alphabet: Alphabet::HEX },
        KeyType::Bool => Shape::Truth,
        KeyType::Uuid => Shape::Marked { marks: b"00000000-0000-0000-0000-000000000000", alphabet: Alphabet::HEX },
        KeyType::Ulid => {
            Shape::Fixed { width: 26, alphabet: Alphabet::DIGITS.and(Alphabet::span(b'A', b'Z')).without(b"ILOU") }
        }
        KeyType::Date => Shape::date(b"0000-00-00"),
        KeyType::Time => Shape::digits(super::TICK_DIGITS),
        KeyType::Binary => Shape::Delimited { alphabet: Alphabet::HEX, beyond_ascii: false },
    }
}

/// The decimal digits of the greatest bucket.
pub(super) const fn shard_digits(buckets: u16) -> u8 {
    let mut left = buckets.saturating_sub(1);
    let mut digits = 1;
    while left > 9 {
        left /= 10;
        digits += 1;
    }
    digits
}
