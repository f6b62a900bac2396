//! The codecs of a key template: their words, and what the derive must know of them.
//! Whether a codec fits a type is the runtime's to say.

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::unknown;

/// Decimal digits of the widest integer.
const MAX_DIGITS: u8 = 39;

/// How a field stands in a key; the twin of the runtime's `Codec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain,
    Width(u8),
    Desc,
    Sortable,
    Hour,
    Day,
    Month,
    Lower,
    Shard(u16),
    Hash,
    Raw,
}

/// The words, as messages list them.
const WORDS: [&str; 10] = ["06", "desc", "sortable", "hour", "day", "month", "lower", "shard(16)", "hash", "raw"];

impl Codec {
    /// The codec of the word after the colon, or what is wrong with it.
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "desc" => Self::Desc,
            "sortable" => Self::Sortable,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "month" => Self::Month,
            "lower" => Self::Lower,
            "hash" => Self::Hash,
            "raw" => Self::Raw,
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => return width(word),
            _ if word.starts_with("shard") => return shard(word),
            "" => return Err(String::from("the codec after `:` is missing")),
            _ => return Err(unknown("codec", word, "codecs", &WORDS)),
        })
    }

    /// The word, as in the template.
    pub(crate) fn word(self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Width(digits) => format!("0{digits}"),
            Self::Desc => "desc".into(),
            Self::Sortable => "sortable".into(),
            Self::Hour => "hour".into(),
            Self::Day => "day".into(),
            Self::Month => "month".into(),
            Self::Lower => "lower".into(),
            Self::Shard(buckets) => format!("shard({buckets})"),
            Self::Hash => "hash".into(),
            Self::Raw => "raw".into(),
        }
    }

    /// `_tm::Codec::..`
    pub(crate) fn tokens(self) -> TokenStream {
        match self {
            Self::Plain => quote!(_tm::Codec::Plain),
            Self::Width(digits) => quote!(_tm::Codec::Width(#digits)),
            Self::Desc => quote!(_tm::Codec::Desc),
            Self::Sortable => quote!(_tm::Codec::Sortable),
            Self::Hour => quote!(_tm::Codec::Hour),
            Self::Day => quote!(_tm::Codec::Day),
            Self::Month => quote!(_tm::Codec::Month),
            Self::Lower => quote!(_tm::Codec::Lower),
            Self::Shard(buckets) => quote!(_tm::Codec::Shard(#buckets)),
            Self::Hash => quote!(_tm::Codec::Hash),
            Self::Raw => quote!(_tm::Codec::Raw),
        }
    }

    /// Whether the value can be read back from the key.
    pub(crate) fn is_recoverable(self) -> bool {
        matches!(self, Self::Plain | Self::Width(_) | Self::Desc | Self::Raw)
    }

    /// Whether two different values never share a key.
    pub(crate) fn tells_apart(self) -> bool {
        self.is_recoverable() || matches!(self, Self::Hash | Self::Sortable)
    }

    /// Whether it holds a span of time rather than the field's value.
    pub(crate) fn is_bucket(self) -> bool {
        matches!(self, Self::Hour | Self::Day | Self::Month)
    }

    /// Whether it spreads rows over buckets; queries fan out over it.
    pub(crate) fn is_shard(self) -> bool {
        matches!(self, Self::Shard(_))
    }
}

fn width(word: &str) -> Result<Codec, String> {
    let digits = word.strip_prefix('0').unwrap_or(word);
    match digits.parse() {
        Ok(digits @ 1..=MAX_DIGITS) if word.starts_with('0') => Ok(Codec::Width(digits)),
        Ok(digits @ 1..=MAX_DIGITS) => Err(format!("a width is written with a leading zero: `0{digits}`")),
        _ => Err(format!("the width `{word}` is not one of `01` to `0{MAX_DIGITS}`")),
    }
}

fn shard(word: &str) -> Result<Codec, String> {
    let count = word.strip_prefix("shard(").and_then(|rest| rest.strip_suffix(')'));
    match count.map(|count| count.trim().parse()) {
        Some(Ok(buckets @ 2..)) => Ok(Codec::Shard(buckets)),
        _ => Err(format!("`{word}` is not a shard codec: write `shard(16)` for 16 buckets, from 2 to {}", u16::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::Codec;

    #[test]
    fn every_word_reads_back_as_its_codec() {
        for word in super::WORDS {
            assert_eq!(Codec::parse(word).map(Codec::word), Ok(word.to_owned()));
        }
    }

    #[test]
    fn a_width_needs_its_zero_and_a_shard_its_count() {
        assert_eq!(Codec::parse("6"), Err("a width is written with a leading zero: `06`".to_owned()));
        for bad in ["0", "00", "040", "06x", "shard", "shard()", "shard(1)", "shard(x)", "shards(3)", ""] {
            assert!(Codec::parse(bad).is_err(), "{bad}");
        }
    }
}
