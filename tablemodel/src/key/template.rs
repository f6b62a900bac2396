//! A key template, and the keys it makes and reads.
//! Ranges of keys are made in `range`, what can be wrong with a template in `check`.

use tablemodel_store::{Value, ValueRef, limits};

use super::{Codec, KeyError, KeyFault, KeyValue, KeyValues, Part, Segment, is_same, write};

/// Room for most keys without growing.
pub(super) const USUAL_KEY_BYTES: usize = 64;

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
        let mut key = String::with_capacity(USUAL_KEY_BYTES);
        Ok(self.append(&mut key, value_of, shard)?.then_some(key))
    }

    /// Appends the key; false, and only some of it, where an optional component has no value.
    pub(crate) fn append<'v>(
        &self,
        to: &mut String,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        shard: Option<u16>,
    ) -> Result<bool, KeyError> {
        let start = to.len();
        match self.append_head(to, &value_of, shard)? {
            [Segment::Part(part), ..] if part.optional => Ok(false),
            [Segment::Part(part), ..] => Err(KeyFault::Missing.of(part.field)),
            _ => match self.finish(to, start) {
                Ok(()) => Ok(true),
                Err(error) => Err(KeyError { field: self.blamed(error.fault, value_of), ..error }),
            },
        }
    }

    /// The field that makes a key too long, or the framework's own: the one that is longest in it, or has that mark as it is.
    #[cold]
    fn blamed<'v>(&self, fault: KeyFault, value_of: impl Fn(&Part) -> Option<ValueRef<'v>>) -> Option<&'static str> {
        let (mut longest, mut rest) = ((0, None), self.0);
        while let [segment, tail @ ..] = rest {
            let mut text = String::new();
            if let Segment::Part(part) = segment
                && let Some(value) = value_of(part)
                && part.write(&mut text, value, separator(tail)).is_ok()
            {
                let is_marked = part.codec == Codec::Raw && (text.starts_with("~~") || text.contains(" ~~"));
                let weight = if fault == KeyFault::Reserved { usize::from(is_marked) } else { text.len() };
                if weight > longest.0 {
                    longest = (weight, Some(part.field));
                }
            }
            rest = tail;
        }
        longest.1
    }

    /// Appends the key as far as values go, and the literal before the first component without one; gives what is left.
    pub(super) fn append_head<'v>(
        &self,
        to: &mut String,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        shard: Option<u16>,
    ) -> Result<&'static [Segment], KeyError> {
        let mut rest = self.0;
        while let [segment, tail @ ..] = rest {
            match segment {
                Segment::Literal(text) => to.push_str(text),
                Segment::Part(part) => {
                    let written = match (part.codec, shard, value_of(part)) {
                        (Codec::Shard(buckets), Some(shard), _) => write::write_shard(to, shard, buckets),
                        (_, _, Some(value)) => part.write(to, value, separator(tail)),
                        (_, _, None) => break,
                    };
                    written.map_err(|fault| fault.of(part.field))?;
                }
            }
            rest = tail;
        }
        Ok(rest)
    }

    /// The values that stand in `key`, each in the type of its property, without those under lossy codecs.
    ///
    /// # Errors
    ///
    /// [`KeyFault::NotThisTemplate`] unless encoding the values gives this very key.
    pub fn decode(&self, key: &str) -> Result<Vec<(&'static Part, Value)>, KeyError> {
        let mut values = KeyValues::new();
        self.read(key, &mut values)?;
        Ok(values.into_iter().map(|(part, value)| (part, value.into_value())).collect())
    }

    /// As [`decode`](Template::decode), appending to `values`.
    pub(crate) fn read<'k>(&self, key: &'k str, values: &mut KeyValues<'k>) -> Result<(), KeyError> {
        let (first, mut cuts, mut again) = (values.count(), 0, String::new());
        self.each_cut(key, |Cut { part, code, separator }| {
            cuts += 1;
            let Some(value) = part.read(code, separator).map_err(|fault| fault.of(part.field))? else { return Ok(()) };
            if !part.is_only_form(&value) && !part.writes(&value, separator, code, &mut again) {
                return Err(KeyFault::NotThisTemplate.of(part.field));
            }
            values.push(part, value);
            Ok(())
        })?;
        if cuts > 1 && self.repeats_a_property() { self.check_repeated(key, values, first) } else { Ok(()) }
    }

    /// Whether it is of literals and short padded numbers alone, each property once: [`read_padded`](Template::read_padded) reads its keys.
    pub(crate) fn is_padded(&self) -> bool {
        self.parts().all(Part::is_padded) && !self.repeats_a_property()
    }

    /// As [`read`](Template::read), of the bytes of a key, where [all components are padded](Template::is_padded). False of a key that is
    /// not of the template: then some values may have been added.
    pub(crate) fn read_padded(&self, key: &[u8], values: &mut KeyValues<'_>) -> bool {
        let (mut left, mut rest) = (key, self.0);
        while let [segment, tail @ ..] = rest {
            let after = match segment {
                Segment::Literal(text) => left.strip_prefix(text.as_bytes()),
                Segment::Part(part) => part.cut_padded(left).map(|(value, after)| {
                    values.push(part, value);
                    after
                }),
            };
            let Some(after) = after else { return false };
            (left, rest) = (after, tail);
        }
        left.is_empty()
    }

    /// That all components of one property are written from one value, of those from `first` on: the key's own, or those of both keys.
    pub(crate) fn check_repeated(&self, key: &str, values: &KeyValues<'_>, first: usize) -> Result<(), KeyError> {
        let mut again = String::new();
        self.each_cut(key, |Cut { part, code, separator }| {
            let mut same = values.iter().skip(first).filter(|(holder, _)| holder.property == part.property);
            let agree = same.all(|(_, value)| part.writes(value, separator, code, &mut again));
            if agree { Ok(()) } else { Err(KeyFault::NotThisTemplate.of(part.field)) }
        })
    }

    /// Cuts `key` into its components, and shows each.
    fn each_cut<'k>(&self, key: &'k str, mut see: impl FnMut(Cut<'k>) -> Result<(), KeyError>) -> Result<(), KeyError> {
        const FOREIGN: KeyError = KeyFault::NotThisTemplate.alone();
        let mut left = self.without_empty_mark(key).ok_or(FOREIGN)?;
        let mut rest = self.0;
        while let [segment, tail @ ..] = rest {
            match segment {
                Segment::Literal(text) => left = left.strip_prefix(text).ok_or(FOREIGN)?,
                Segment::Part(part) => {
                    let separator = separator(tail);
                    let (code, after) = part.cut(left, separator).ok_or(FOREIGN)?;
                    see(Cut { part, code, separator })?;
                    left = after;
                }
            }
            rest = tail;
        }
        if left.is_empty() { Ok(()) } else { Err(FOREIGN) }
    }

    fn repeats_a_property(&self) -> bool {
        let mut rest = self.0;
        while let [segment, tail @ ..] = rest {
            if let Segment::Part(part) = segment
                && tail
                    .iter()
                    .any(|other| matches!(other, Segment::Part(other) if is_same(other.property, part.property)))
            {
                return true;
            }
            rest = tail;
        }
        false
    }

    /// Ends the key that begins at `start`: not empty, not reserved, not too long.
    pub(super) fn finish(&self, keys: &mut String, start: usize) -> Result<(), KeyError> {
        if keys.len() == start && self.marks_empty() {
            keys.push_str(EMPTY_KEY);
        }
        let key = keys.get(start..).unwrap_or_default();
        if key.starts_with("~~") || (self.may_hold_space() && key.contains(" ~~")) {
            return Err(KeyFault::Reserved.alone());
        }
        check_length(key)
    }

    /// Only a text that stands alone can make an empty key.
    fn marks_empty(&self) -> bool {
        matches!(self.0, [Segment::Part(part)] if part.codec != Codec::Raw)
    }

    /// None of a key that would have the mark.
    fn without_empty_mark<'k>(&self, key: &'k str) -> Option<&'k str> {
        match key {
            EMPTY_KEY if self.marks_empty() => Some(""),
            "" if self.marks_empty() => None,
            _ => Some(key),
        }
    }
}

/// One component of a key that is being read.
struct Cut<'k> {
    part: &'static Part,
    code: &'k str,
    separator: Option<u8>,
}

impl Part {
    /// Whether this value is written as `code`. `again` is room to write it in.
    fn writes(&self, value: &KeyValue<'_>, separator: Option<u8>, code: &str, again: &mut String) -> bool {
        again.clear();
        self.write(again, value.as_ref(), separator).is_ok() && again == code
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn number<T: crate::key::KeyPart>(property: &'static str, width: u8) -> Segment {
        Segment::Part(Part::of::<T>("field", property, Codec::Width(width)))
    }

    /// The first four are padded.
    static TEMPLATES: [Template; 8] = [
        Template(&[Segment::Literal("id_"), number::<u32>("A", 3)]),
        Template(&[number::<u8>("A", 2), number::<u16>("B", 4)]),
        Template(&[number::<u32>("A", 9), Segment::Literal("_é")]),
        Template(&[number::<u8>("A", 1)]),
        Template(&[number::<u8>("A", 3)]), // 256 has as many digits
        Template(&[number::<u32>("A", 2), Segment::Literal("_"), number::<u32>("A", 2)]),
        Template(&[number::<i32>("A", 2)]),
        Template(&[number::<u64>("A", 2)]),
    ];

    fn seen(values: &KeyValues<'_>) -> Vec<(&'static str, Value)> {
        values.iter().map(|(part, value)| (part.property, value.as_ref().to_value())).collect()
    }

    #[test]
    fn a_template_is_padded_only_where_no_number_of_its_digits_is_out_of_range() {
        assert_eq!(TEMPLATES.each_ref().map(Template::is_padded), [true, true, true, true, false, false, false, false]);
    }

    proptest! {
        #[test]
        fn keys_of_padded_numbers_are_read_from_their_bytes_as_from_their_text(
            template in prop::sample::select(&TEMPLATES[..4]),
            key in "(id_)?[0-9]{3}|[0-9]{6}|[0-9]{9}_é|[0-9]|(id_)?[0-9$é+_]{0,10}(_é)?",
        ) {
            let (mut of_text, mut of_bytes) = (KeyValues::new(), KeyValues::new());
            let is_read = template.read(&key, &mut of_text).is_ok();
            prop_assert_eq!(template.read_padded(key.as_bytes(), &mut of_bytes), is_read);
            if is_read {
                prop_assert_eq!(seen(&of_text), seen(&of_bytes));
            }
        }
    }
}
