//! How many bytes a row and a batch count, as Azure measures them.
//!
//! Nothing is refused here (that is [`validate`](crate::validate)), and no text is built to be measured.

use std::fmt::{self, Write};

use crate::{Action, Batch, Condition, DateTime, Operation, Properties, ValueRef, limits};

/// Bytes that the multipart frame of one batch takes: its two boundaries, opened and closed, with their headers.
pub const BATCH_OVERHEAD_BYTES: usize = 512;

/// Bytes that one operation of a batch takes beside its table, keys, ETag and properties: a boundary, the part's
/// headers, the request line up to the table's name, and the request's headers.
///
/// Those need some 500 bytes; the rest is room for an endpoint's name and a shared access signature in the URL.
pub const OPERATION_OVERHEAD_BYTES: usize = 1024;

/// The number of UTF-16 code units of `text`: the unit in which a table store measures text. O(bytes).
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

/// Bytes of a row, as the service bills and limits it: UTF-16 text, 8 bytes for each property, 4 for the row.
///
/// Source: Microsoft, "Understanding Windows Azure Storage Billing: bandwidth, transactions, and capacity",
/// "how to estimate the storage of an entity". O(bytes of text).
pub fn row_bytes(partition: &str, row: &str, properties: &Properties) -> usize {
    let property = |name: &str, value| 8 + 2 * utf16_len(name) + value_bytes(value);
    let own: usize = properties.iter().map(|(name, value)| property(name.as_str(), value)).sum();
    4 + 2 * (utf16_len(partition) + utf16_len(row)) + own
}

/// At least [`row_bytes`], in time that does not depend on the lengths of texts.
pub fn row_bytes_bound(partition: &str, row: &str, properties: &Properties) -> usize {
    Extent::of(properties).row_bytes_bound(partition, row)
}

/// Bytes that one property adds to [`row_bytes`].
pub fn property_bytes(name: &str, value: ValueRef<'_>) -> usize {
    8 + 2 * utf16_len(name) + value_bytes(value)
}

fn value_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::String(text) => 2 * utf16_len(text) + 4,
        ValueRef::Binary(bytes) => bytes.len() + 4,
        ValueRef::Boolean(_) => 1,
        ValueRef::Int32(_) => 4,
        ValueRef::Int64(_) | ValueRef::Double(_) | ValueRef::DateTime(_) => 8,
        ValueRef::Guid(_) => 16,
    }
}

/// Bytes of the request body that carries this batch to Azure.
///
/// Each operation counts its JSON ([`json_bytes`]; a delete has none), the table and the percent-encoded keys in
/// its URL, its `If-Match`, and [`OPERATION_OVERHEAD_BYTES`]. O(bytes of text).
pub fn batch_bytes(batch: &Batch) -> usize {
    let operations = batch.operations.iter();
    BATCH_OVERHEAD_BYTES
        + operations.map(|operation| operation_bytes(&batch.table, &batch.partition, operation)).sum::<usize>()
}

/// [`batch_bytes`] of a batch that has over `limit` of them; costs little where it is far below.
pub fn batch_bytes_over(batch: &Batch, limit: usize) -> Option<usize> {
    let is_within = |extent: fn(&Properties) -> Extent| {
        let of = |operation: &Operation| operation.action.properties().map_or(Extent::default(), extent);
        let operations = batch.operations.iter();
        let bounds = operations.map(|it| of(it).operation_bytes_bound(&batch.table, &batch.partition, it));
        BATCH_OVERHEAD_BYTES + bounds.sum::<usize>() <= limit
    };
    if is_within(Extent::at_most) || is_within(Extent::of) {
        return None;
    }
    Some(batch_bytes(batch)).filter(|bytes| *bytes > limit)
}

/// Bytes that one operation adds to [`batch_bytes`].
pub fn operation_bytes(table: &str, partition: &str, operation: &Operation) -> usize {
    let keys_in_url = KEYS_IN_URL.len() + url_key_bytes(partition) + url_key_bytes(&operation.row);
    let body = |properties| json_bytes(partition, &operation.row, properties);
    OPERATION_OVERHEAD_BYTES
        + table.len()
        + keys_in_url
        + if_match_bytes(&operation.action)
        + operation.action.properties().map_or(0, body)
}

const KEYS_IN_URL: &str = "(PartitionKey='',RowKey='')";
const KEYS_IN_JSON: &str = r#"{"PartitionKey":,"RowKey":}"#;

/// How much properties hold, in one walk: enough to tell that a limit is far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    count: usize,
    /// Bytes of their names.
    names: usize,
    /// Bytes of texts and binaries.
    texts: usize,
}

impl Extent {
    /// That of all these properties.
    pub(crate) fn of(properties: &Properties) -> Self {
        let mut extent = Self::default();
        properties.iter().for_each(|(name, value)| extent.add(name.as_str(), value));
        extent
    }

    /// At least that, mostly without a walk.
    fn at_most(properties: &Properties) -> Self {
        const LONGEST_NAME: usize = 3 * limits::MAX_PROPERTY_NAME_CHARS;
        match properties.texts_at_most() {
            Some(texts) => Self { count: properties.len(), names: LONGEST_NAME * properties.len(), texts },
            None => Self::of(properties),
        }
    }

    /// Counts one more property.
    pub(crate) fn add(&mut self, name: &str, value: ValueRef<'_>) {
        self.count += 1;
        self.names += name.len();
        self.texts += match value {
            ValueRef::String(text) => text.len(),
            ValueRef::Binary(bytes) => bytes.len(),
            _ => 0,
        };
    }

    /// At least [`row_bytes`].
    pub(crate) fn row_bytes_bound(self, partition: &str, row: &str) -> usize {
        const FIXED: usize = 8 + 16;
        4 + 2 * (partition.len() + row.len() + self.names + self.texts) + FIXED * self.count
    }

    /// At least [`operation_bytes`].
    pub(crate) fn operation_bytes_bound(self, table: &str, partition: &str, operation: &Operation) -> usize {
        // Punctuation of a property, the name of its type, and a value of fixed length.
        const FIXED: usize = 128;
        // The longest that a byte becomes, be it in JSON or in a URL.
        const WIDEST: usize = 6;
        let keys = KEYS_IN_URL.len() + KEYS_IN_JSON.len() + 4 + 2 * WIDEST * (partition.len() + operation.row.len());
        let own = 2 * self.names + WIDEST * self.texts + FIXED * self.count;
        OPERATION_OVERHEAD_BYTES + table.len() + keys + if_match_bound(&operation.action) + own
    }
}

/// Bytes of a row as a JSON object in Azure's form, without white space.
///
/// Keys first; text escaped where JSON requires it and in UTF-8 elsewhere; `Int64`, `DateTime`, `Guid`, `Binary`
/// (base64) and non-finite doubles as strings with an `@odata.type` annotation; other doubles in their shortest form
/// with a fraction or an exponent.
pub fn json_bytes(partition: &str, row: &str, properties: &Properties) -> usize {
    let keys = KEYS_IN_JSON.len() + json_string_bytes(partition) + json_string_bytes(row);
    let own = properties.iter().map(|(name, value)| json_property_bytes(name.as_str(), value));
    keys + own.sum::<usize>()
}

fn if_match_bytes(action: &Action) -> usize {
    let Some(condition) = condition(action) else { return 0 };
    "If-Match: \r\n".len()
        + match condition {
            Condition::Exists => "*".len(),
            Condition::Match(etag) => displayed_bytes(etag),
        }
}

/// At least [`if_match_bytes`]; writes no ETag of this crate's stores out.
fn if_match_bound(action: &Action) -> usize {
    const STAMPED: usize = 128;
    match condition(action) {
        Some(Condition::Match(etag)) if etag.stamp().is_none() => if_match_bytes(action),
        _ => STAMPED,
    }
}

fn condition(action: &Action) -> Option<&Condition> {
    match action {
        Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition) => Some(condition),
        Action::Insert(_) | Action::InsertOrReplace(_) | Action::InsertOrMerge(_) => None,
    }
}

/// `,"name":value`, after `,"name@odata.type":"type"` where the type cannot be told from the value.
fn json_property_bytes(name: &str, value: ValueRef<'_>) -> usize {
    let annotation =
        if is_annotated(value) { r#","@odata.type":"""#.len() + name.len() + value.edm().name().len() } else { 0 };
    annotation + r#","":"#.len() + name.len() + json_value_bytes(value)
}

fn is_annotated(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Int64(_) | ValueRef::DateTime(_) | ValueRef::Guid(_) | ValueRef::Binary(_) => true,
        ValueRef::Double(double) => !double.is_finite(),
        ValueRef::String(_) | ValueRef::Boolean(_) | ValueRef::Int32(_) => false,
    }
}

fn json_value_bytes(value: ValueRef<'_>) -> usize {
    const QUOTES: usize = 2;
    match value {
        ValueRef::String(text) => json_string_bytes(text),
        ValueRef::Binary(bytes) => QUOTES + bytes.len().div_ceil(3) * 4,
        ValueRef::Boolean(true) => "true".len(),
        ValueRef::Boolean(false) => "false".len(),
        ValueRef::Int32(number) => integer_bytes(number.into()),
        ValueRef::Int64(number) => QUOTES + integer_bytes(number),
        ValueRef::Double(double) => double_bytes(double),
        ValueRef::DateTime(at) => QUOTES + date_time_bytes(at),
        ValueRef::Guid(_) => QUOTES + 36,
    }
}

fn integer_bytes(number: i64) -> usize {
    let digits = number.unsigned_abs().checked_ilog10().map_or(1, |power| power as usize + 1);
    usize::from(number < 0) + digits
}

fn double_bytes(double: f64) -> usize {
    if double.is_nan() {
        r#""NaN""#.len()
    } else if double.is_infinite() {
        r#""Infinity""#.len() + usize::from(double < 0.0)
    } else {
        counted(format_args!("{double:?}"))
    }
}

/// RFC 3339 in UTC, the fraction without trailing zeros: as the service writes it.
fn date_time_bytes(at: DateTime) -> usize {
    const FRACTION_DIGITS: usize = 7;
    let mut fraction = at.ticks().rem_euclid(10_000_000);
    if fraction == 0 {
        return "9999-12-31T23:59:59Z".len();
    }
    let mut digits = FRACTION_DIGITS;
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    "9999-12-31T23:59:59.Z".len() + digits
}

/// `text` as a JSON string with its quotes: two bytes for `"`, `\` and the controls with a letter, six for others.
fn json_string_bytes(text: &str) -> usize {
    let extra = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0C | b'\r' => 1,
        0..=0x1F => 5,
        _ => 0,
    };
    2 + text.len() + text.bytes().map(extra).sum::<usize>()
}

/// A key in a URL: unreserved characters as they are, a quote doubled, the rest three bytes for each byte.
fn url_key_bytes(key: &str) -> usize {
    let width = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => 1,
        b'\'' => 6,
        _ => 3,
    };
    key.bytes().map(width).sum()
}

fn displayed_bytes(value: &impl fmt::Display) -> usize {
    counted(format_args!("{value}"))
}

fn counted(text: fmt::Arguments<'_>) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // The counter never fails, and neither does the formatting of numbers and ETags.
    let _ = counter.write_fmt(text);
    counter.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{ETag, Value};

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<String>().prop_map(Value::String),
            "[\u{0}-\u{20}'\"\u{e9}\u{10000}]{0,9}".prop_map(Value::String),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            any::<i64>().prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks))),
            any::<u64>().prop_map(|bits| Value::Double(f64::from_bits(bits))),
            any::<u128>().prop_map(|bits| Value::Guid(Uuid::from_u128(bits))),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
        ]
    }

    fn action() -> impl Strategy<Value = Action> {
        let etag =
            prop_oneof![any::<u64>().prop_map(ETag::from_stamp), any::<String>().prop_map(|it| ETag::parse(&it))];
        let properties = prop::collection::vec((any::<String>(), value()), 0..6);
        (properties.prop_map(|pairs| pairs.into_iter().collect()), etag, 0..4).prop_map(
            |(own, etag, which)| match which {
                0 => Action::Insert(own),
                1 => Action::Replace(own, Condition::Exists),
                2 => Action::Merge(own, Condition::Match(etag)),
                _ => Action::Delete(Condition::Match(etag)),
            },
        )
    }

    proptest! {
        #[test]
        fn bounds_are_never_below_what_they_bound(partition in any::<String>(), row in any::<String>(), action in action()) {
            let operation = Operation { row, action };
            let extent = operation.action.properties().map_or(Extent::default(), Extent::of);
            let bound = extent.operation_bytes_bound("Table", &partition, &operation);
            prop_assert!(operation_bytes("Table", &partition, &operation) <= bound);
            if let Some(own) = operation.action.properties() {
                prop_assert!(row_bytes(&partition, &operation.row, own) <= extent.row_bytes_bound(&partition, &operation.row));
            }
        }
    }
}
