//! Queries as bytes, which fingerprints are taken of: the same for as long as the format of continuations is, whatever the compiler.
//!
//! Each part says its length or kind before it, so that no two queries are the same bytes.

use std::ops::Bound;

use crate::{Comparison, Filter, KeyRange, RowKey, Value};

/// Bytes, one part after the other.
#[derive(Debug, Default)]
pub(crate) struct Mark(pub(crate) Vec<u8>);

impl Mark {
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn range(&mut self, range: &KeyRange) {
        match range {
            KeyRange::Partition { partition, rows } => {
                self.0.push(0);
                self.text(partition);
                self.bound(&rows.lower);
                self.bound(&rows.upper);
            }
            KeyRange::Table { after, before_partition } => {
                self.0.push(1);
                self.option(after.as_ref().map(|RowKey { partition, row }| [partition.as_str(), row.as_str()]));
                self.option(before_partition.as_ref().map(|partition| [partition.as_str()]));
            }
        }
    }

    pub(crate) fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Compare { property, comparison, value } => {
                self.0.push(0);
                self.text(property);
                self.comparison(*comparison);
                self.value(value);
            }
            Filter::And(a, b) => self.both(1, a, b),
            Filter::Or(a, b) => self.both(2, a, b),
            Filter::Not(inner) => {
                self.0.push(3);
                self.filter(inner);
            }
        }
    }

    fn both(&mut self, kind: u8, a: &Filter, b: &Filter) {
        self.0.push(kind);
        self.filter(a);
        self.filter(b);
    }

    fn comparison(&mut self, comparison: Comparison) {
        self.text(comparison.word());
    }

    fn value(&mut self, value: &Value) {
        self.text(value.as_ref().edm().name());
        match value {
            Value::Binary(bytes) => self.bytes(bytes),
            Value::Boolean(value) => self.0.push(u8::from(*value)),
            Value::DateTime(at) => self.bytes(&at.ticks().to_be_bytes()),
            Value::Double(number) => self.bytes(&number.to_bits().to_be_bytes()),
            Value::Guid(id) => self.bytes(id.as_bytes()),
            Value::Int32(number) => self.bytes(&number.to_be_bytes()),
            Value::Int64(number) => self.bytes(&number.to_be_bytes()),
            Value::String(text) => self.text(text),
        }
    }

    fn bound(&mut self, bound: &Bound<String>) {
        let (kind, text) = match bound {
            Bound::Unbounded => (0, ""),
            Bound::Included(text) => (1, text.as_str()),
            Bound::Excluded(text) => (2, text.as_str()),
        };
        self.0.push(kind);
        self.text(text);
    }

    fn option<const N: usize>(&mut self, texts: Option<[&str; N]>) {
        self.0.push(u8::from(texts.is_some()));
        texts.into_iter().flatten().for_each(|text| self.text(text));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RowRange;

    fn bound() -> impl Strategy<Value = Bound<String>> {
        let text = "[a\0]{0,2}";
        prop_oneof![Just(Bound::Unbounded), text.prop_map(Bound::Included), text.prop_map(Bound::Excluded),]
    }

    fn range() -> impl Strategy<Value = KeyRange> {
        let text = || "[a\0]{0,2}";
        let key = (text(), text()).prop_map(|(partition, row)| RowKey { partition, row });
        prop_oneof![
            (text(), bound(), bound()).prop_map(|(partition, lower, upper)| KeyRange::Partition {
                partition,
                rows: RowRange { lower, upper }
            }),
            (prop::option::of(key), prop::option::of(text()))
                .prop_map(|(after, before_partition)| KeyRange::Table { after, before_partition }),
        ]
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let value = prop_oneof![
            (0..2_i32).prop_map(Value::Int32),
            (0..2_i64).prop_map(Value::Int64),
            "[a\0]{0,2}".prop_map(Value::String),
            prop::collection::vec(0..2_u8, 0..2).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
        ];
        let comparison = prop::sample::select(vec![Comparison::Equal, Comparison::Less]);
        let leaf = ("[AB]", comparison, value).prop_map(|(property, comparison, value)| Filter::Compare {
            property,
            comparison,
            value,
        });
        leaf.prop_recursive(2, 4, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
                inner.prop_map(Filter::negate),
            ]
        })
    }

    fn marked(range: &KeyRange, filter: Option<&Filter>) -> Vec<u8> {
        let mut mark = Mark::default();
        mark.range(range);
        filter.into_iter().for_each(|filter| mark.filter(filter));
        mark.0
    }

    proptest! {
        #[test]
        fn queries_have_one_mark_only_if_they_are_one(
            (a, of_a) in (range(), prop::option::of(filter())),
            (b, of_b) in (range(), prop::option::of(filter())),
        ) {
            let is_one = a == b && of_a == of_b;
            prop_assert_eq!(marked(&a, of_a.as_ref()) == marked(&b, of_b.as_ref()), is_one);
        }
    }
}
