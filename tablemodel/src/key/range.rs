//! Ranges of keys: all keys that begin with some components, and among them those of a range or a prefix of the next.
//! Nothing is read here; a range is data for a query.

use std::ops::Bound;

use tablemodel_store::{Comparison, RowRange, ValueRef};

use super::{
    Codec, KeyError, KeyFault, Part, Segment, Template,
    template::{USUAL_KEY_BYTES, check_length, separator},
    text,
};

/// What is asked of the component after the last one that has a value.
#[derive(Debug, Clone, Copy)]
pub enum Next<'a> {
    /// Nothing: every key that begins with the given components.
    Any,
    /// Its value lies between two bounds, in the order of its type (texts: by UTF-16 code units).
    ///
    /// Under `hour`, `day` and `month` the range covers every bucket that holds a value between the bounds, so the rows
    /// must still be filtered.
    Between(Bound<ValueRef<'a>>, Bound<ValueRef<'a>>),
    /// Its text begins with this.
    StartsWith(&'a str),
}

impl Template {
    /// The keys whose leading components have the given values, up to the first for which `value_of` gives
    /// `None`; `next` says what is asked of that one.
    ///
    /// The range holds exactly those keys of this template, but keys of others may lie in it too. A range whose
    /// bounds are the wrong way round is empty.
    ///
    /// ```
    /// use std::ops::Bound;
    /// use tablemodel::key::{Codec, Next, Part, Segment, Template};
    /// use tablemodel_store::ValueRef;
    ///
    /// static ROW: Template = Template(&[
    ///     Segment::Literal("name_"),
    ///     Segment::Part(Part::of::<String>("last_name", "LastName", Codec::Plain)),
    ///     Segment::Literal("_"),
    ///     Segment::Part(Part::of::<u32>("id", "Id", Codec::Width(6))),
    /// ]);
    ///
    /// let jones = |part: &Part| (part.field == "last_name").then_some(ValueRef::String("Jones"));
    /// let all = ROW.range(jones, Next::Any)?;
    /// assert_eq!(all.lower, Bound::Included("name_Jones_".to_owned()));
    /// assert_eq!(all.upper, Bound::Excluded("name_Jones`".to_owned()));
    ///
    /// let some = Next::Between(Bound::Included(ValueRef::Int64(7)), Bound::Unbounded);
    /// assert_eq!(ROW.range(jones, some)?.lower, Bound::Included("name_Jones_000007".to_owned()));
    /// # Ok::<(), tablemodel::key::KeyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`KeyError`] when a value does not fit its component, when every component has a value but `next` asks for
    /// more, or when it asks for a range or a prefix that the component does not have.
    pub fn range<'v>(
        &self,
        value_of: impl Fn(&Part) -> Option<ValueRef<'v>>,
        next: Next<'_>,
    ) -> Result<RowRange, KeyError> {
        let mut key = String::with_capacity(USUAL_KEY_BYTES);
        let rest = self.append_head(&mut key, value_of, None)?;
        check_length(&key)?;
        match (rest, next) {
            ([], Next::Any) => self.finish(&mut key, 0).map(|()| RowRange::exactly(key)),
            ([Segment::Part(part), tail @ ..], next) => Stem { template: self, key, part, tail }.range(next),
            _ => Err(KeyFault::NothingLeft.alone()),
        }
    }
}

/// The keys that begin with `key`, and the component that comes next in them.
struct Stem<'t> {
    template: &'t Template,
    key: String,
    part: &'static Part,
    tail: &'static [Segment],
}

impl Stem<'_> {
    fn range(self, next: Next<'_>) -> Result<RowRange, KeyError> {
        match next {
            Next::Any => Ok(beginning_with(&self.key)),
            Next::StartsWith(prefix) => self.starts_with(prefix),
            Next::Between(lower, upper) if self.part.codec == Codec::Desc => self.between(upper, lower),
            Next::Between(lower, upper) => self.between(lower, upper),
        }
    }

    fn starts_with(&self, prefix: &str) -> Result<RowRange, KeyError> {
        if !self.part.has_prefixes() {
            return Err(KeyFault::NotText.of(self.part.field));
        }
        if prefix.is_empty() {
            return Ok(beginning_with(&self.key));
        }
        let start = self.key_of(ValueRef::String(prefix))?;
        let end = match self.part.codec {
            Codec::Raw => text::successor(&start),
            _ => text::end_of_prefix(&start),
        };
        Ok(RowRange { lower: Bound::Included(start), upper: end.map_or(Bound::Unbounded, Bound::Excluded) })
    }

    /// A bucket of time holds values on both sides of a bound, unless it begins with it.
    fn between(&self, lower: Bound<ValueRef<'_>>, upper: Bound<ValueRef<'_>>) -> Result<RowRange, KeyError> {
        if !self.part.orders(separator(self.tail)) && !self.part.is_bucket_of_time() {
            return Err(KeyFault::NotOrdered.of(self.part.field));
        }
        let all = beginning_with(&self.key);
        let in_buckets = self.part.is_bucket_of_time();
        if in_buckets && let Some(value) = of_nothing(lower, upper) {
            let key = self.first_key(value)?;
            return Ok(RowRange { lower: Bound::Included(key.clone()), upper: Bound::Excluded(key) });
        }
        let lower = match lower {
            Bound::Excluded(value) if !in_buckets => self.after(value, Bound::Included, Bound::Excluded)?,
            Bound::Included(value) | Bound::Excluded(value) => Bound::Included(self.first_key(value)?),
            Bound::Unbounded => all.lower,
        };
        let upper = match upper {
            Bound::Excluded(value) if !in_buckets || self.part.begins_bucket(value) => {
                Bound::Excluded(self.first_key(value)?)
            }
            Bound::Included(value) | Bound::Excluded(value) => self.after(value, Bound::Excluded, Bound::Included)?,
            Bound::Unbounded => all.upper,
        };
        Ok(RowRange { lower, upper })
    }

    /// The end of the keys in which the component has this value: `beyond` the least key after all of them, or, if
    /// there is only one such key, `at` it.
    fn after(
        &self,
        value: ValueRef<'_>,
        beyond: fn(String) -> Bound<String>,
        at: fn(String) -> Bound<String>,
    ) -> Result<Bound<String>, KeyError> {
        let first = self.first_key(value)?;
        if self.tail.is_empty() {
            return Ok(at(first));
        }
        Ok(text::successor(&first).map_or(Bound::Unbounded, beyond))
    }

    /// The key in which the component has this value, as far as the literal after it.
    fn first_key(&self, value: ValueRef<'_>) -> Result<String, KeyError> {
        let mut key = self.key_of(value)?;
        if let [Segment::Literal(text), ..] = self.tail {
            key.push_str(text);
        }
        if self.tail.is_empty() {
            self.template.finish(&mut key, 0)?;
        }
        Ok(key)
    }

    fn key_of(&self, value: ValueRef<'_>) -> Result<String, KeyError> {
        let mut key = self.key.clone();
        self.part.write(&mut key, value, separator(self.tail)).map_err(|fault| fault.of(self.part.field))?;
        check_length(&key)?;
        Ok(key)
    }
}

/// The lower of two bounds between which no value lies.
fn of_nothing<'v>(lower: Bound<ValueRef<'v>>, upper: Bound<ValueRef<'v>>) -> Option<ValueRef<'v>> {
    let (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) = (lower, upper)
    else {
        return None;
    };
    let between = match (lower, upper) {
        (Bound::Included(_), Bound::Included(_)) => Comparison::LessOrEqual,
        _ => Comparison::Less,
    };
    (!between.holds(low, high)).then_some(low)
}

pub(crate) fn beginning_with(prefix: &str) -> RowRange {
    if prefix.is_empty() {
        return RowRange::all();
    }
    RowRange {
        lower: Bound::Included(prefix.to_owned()),
        upper: text::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded),
    }
}
