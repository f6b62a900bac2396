//! A key template, and the keys it makes and reads.
//! Ranges of keys are made in `range`, what can be wrong with a template in `check`.

use tablemodel_store::{Value, ValueRef, limits};

use super::{Codec, KeyError, KeyFault, Part, Segment, write};

/// Room for most keys without growing.
const USUAL_KEY_BYTES: usize = 64;

/// Stands for a key that would be empty, which not every store takes: no text encodes to it, and it sorts below all
/// that a text encodes to.
const EMPTY_KEY: &str = "$";

/// The template of a partition key or a row key: literals and components, in order.
///
/// ```
/// use tablemodel::key::{Codec, Part, Segment, Template};
/// use tablemodel_store::{Value, ValueRef};
///
/// static ROW: Template = Template(&[
///     Segment::Literal("empid_"),
///     Segment::Part(Part::of::<u32>("id", "Id", Codec::Width(6))),
/// ]);
///
/// let key = ROW.encode(|_| Some(ValueRef::Int64(223)))?;
/// assert_eq!(key.as_deref(), Some("empid_000223"));
/// let (part, id) = ROW.decode("empid_000223")?.remove(0);
/// assert_eq!((part.field, id), ("id", Value::Int64(223)));
/// assert!(ROW.encode(|_| Some(ValueRef::Int64(1_000_000))).is_err()); // seven digits do not fit
/// # Ok::<(), tablemodel::key::KeyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template(pub &'static [Segment]);

impl Template {
    /// The key of the given values; `None` when an optional component has no value, and so no row exists.
    ///
    /// # Errors
    ///
    /// [`KeyError`] names the field whose value does not fit.
    pub fn encode<'v>(&self, value_of: impl Fn(&Part) -> Option<ValueRef<'v>>) -> Result<Option<String>, KeyError> {
        self.whole_key(value_of, None)
    }

    /// As [`encode`](Template::encode), in the given bucket of each `shard(n)` component whatever its value: how a
    /// query reaches all buckets.
    ///
    /// # Errors
    ///
    /// [`KeyError`], also when there is no such bucket.
    pub fn encode_in_shard<'v>(
        &self,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        shard: u16,
    ) -> Result<Option<String>, KeyError> {
        self.whole_key(value_of, Some(shard))
    }

    fn whole_key<'v>(
        &self,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        shard: Option<u16>,
    ) -> Result<Option<String>, KeyError> {
        let head = self.head(value_of, shard)?;
        match head.rest {
            [Segment::Part(part), ..] if part.optional => Ok(None),
            [Segment::Part(part), ..] => Err(KeyFault::Missing.of(part.field)),
            _ => self.finish(head.key).map(Some),
        }
    }

    /// The key as far as values go.
    pub(super) fn head<'v>(
        &self,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        shard: Option<u16>,
    ) -> Result<Head, KeyError> {
        let mut key = String::with_capacity(USUAL_KEY_BYTES);
        let mut rest = self.0;
        while let [segment, tail @ ..] = rest {
            match segment {
                Segment::Literal(text) => key.push_str(text),
                Segment::Part(part) => {
                    let written = match (part.codec, shard, value_of(part)) {
                        (Codec::Shard(buckets), Some(shard), _) => write::write_shard(&mut key, shard, buckets),
                        (_, _, Some(value)) => part.write(&mut key, value, separator(tail)),
                        (_, _, None) => break,
                    };
                    written.map_err(|fault| fault.of(part.field))?;
                }
            }
            rest = tail;
        }
        Ok(Head { key, rest })
    }

    /// The values that stand in `key`, each in the type of its property, without those under lossy codecs.
    ///
    /// # Errors
    ///
    /// [`KeyFault::NotThisTemplate`] unless encoding the values gives this very key.
    pub fn decode(&self, key: &str) -> Result<Vec<(&'static Part, Value)>, KeyError> {
        let cuts = self.cut(key).ok_or(KeyFault::NotThisTemplate.alone())?;
        let mut values = Vec::with_capacity(cuts.len());
        for cut in &cuts {
            if let Some(value) = cut.part.read(cut.code, cut.separator).map_err(|fault| fault.of(cut.part.field))? {
                values.push((cut.part, value));
            }
        }
        let mut again = String::new();
        for Cut { part, code, separator } in cuts {
            for (holder, value) in values.iter().filter(|(holder, _)| holder.property == part.property) {
                if std::ptr::eq(*holder, part) && part.is_only_form(code, separator) {
                    continue;
                }
                again.clear();
                let written = part.write(&mut again, value.as_ref(), separator);
                if written.is_err() || again != code {
                    return Err(KeyFault::NotThisTemplate.of(part.field));
                }
            }
        }
        Ok(values)
    }

    fn cut<'k>(&self, key: &'k str) -> Option<Vec<Cut<'k>>> {
        let mut cuts = Vec::with_capacity(self.0.len());
        let mut left = self.without_empty_mark(key);
        let mut rest = self.0;
        while let [segment, tail @ ..] = rest {
            match segment {
                Segment::Literal(text) => left = left.strip_prefix(text)?,
                Segment::Part(part) => {
                    let separator = separator(tail);
                    let (code, after) = part.cut(left, separator)?;
                    cuts.push(Cut { part, code, separator });
                    left = after;
                }
            }
            rest = tail;
        }
        left.is_empty().then_some(cuts)
    }

    /// A whole key: not empty, not reserved, not too long.
    pub(super) fn finish(&self, mut key: String) -> Result<String, KeyError> {
        if key.is_empty() && self.marks_empty() {
            key.push_str(EMPTY_KEY);
        }
        if key.starts_with("~~") || (self.may_hold_space() && key.contains(" ~~")) {
            return Err(KeyFault::Reserved.alone());
        }
        check_length(&key)?;
        Ok(key)
    }

    /// Only a text that stands alone can make an empty key.
    fn marks_empty(&self) -> bool {
        matches!(self.0, [Segment::Part(part)] if part.codec != Codec::Raw)
    }

    fn without_empty_mark<'k>(&self, key: &'k str) -> &'k str {
        if key == EMPTY_KEY && self.marks_empty() { "" } else { key }
    }
}

/// A key as far as values went.
pub(super) struct Head {
    /// Also the literal before the first component without a value.
    pub(super) key: String,
    /// From the first component without a value on.
    pub(super) rest: &'static [Segment],
}

/// One component of a key that is being read.
struct Cut<'k> {
    part: &'static Part,
    code: &'k str,
    separator: Option<u8>,
}

/// What follows a component; a part that follows directly needs nothing kept free.
pub(super) const fn separator(tail: &[Segment]) -> Option<u8> {
    match tail {
        [Segment::Literal(text), ..] => match text.as_bytes() {
            [first, ..] => Some(*first),
            [] => None,
        },
        _ => None,
    }
}

/// UTF-16 code units are at most as many as bytes, so that counting is seldom needed.
pub(super) fn check_length(key: &str) -> Result<(), KeyError> {
    if key.len() <= limits::MAX_KEY_CHARS {
        return Ok(());
    }
    let chars = key.encode_utf16().count();
    if chars <= limits::MAX_KEY_CHARS {
        return Ok(());
    }
    Err(KeyFault::TooLong { chars, limit: limits::MAX_KEY_CHARS }.alone())
}
