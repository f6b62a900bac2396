//! The rules of names, keys, values, rows, batches and queries: what a store refuses before it writes anything.
//!
//! Pure functions shared by all stores; nothing here knows what is stored. Sizes over a limit are `TooLarge`, broken
//! rules of batches `InvalidBatch`, everything else `InvalidInput`. Valid input is checked without allocation, save
//! for a vector of references where the rows of a commit do not come in ascending order.

use std::cmp::Ordering;

use crate::{
    Batch, Capabilities, Filter, Operation, Properties, PropertyName, Query, StoreError, StoreErrorKind, ValueRef,
    limits,
    name::ByPlace,
    size::{self, Extent, utf16_len},
};

type Checked = Result<(), StoreError>;

/// Checks the name of a table: 3 to 63 ASCII letters and digits, a letter first, and not `tables` in any case.
pub fn table_name(name: &str) -> Checked {
    if !(limits::MIN_TABLE_NAME_CHARS..=limits::MAX_TABLE_NAME_CHARS).contains(&name.len()) {
        return invalid(format!("table name `{name}` must have 3 to 63 characters"));
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return invalid(format!("table name `{name}` must be ASCII letters and digits, beginning with a letter"));
    }
    if name.eq_ignore_ascii_case("tables") {
        return invalid(format!("table name `{name}` is reserved; choose another"));
    }
    Ok(())
}

/// Checks a partition key: at most 1,024 UTF-16 code units, none of `/ \ # ?`, U+0000 to U+001F, U+007F to U+009F.
/// The empty key is a key.
pub fn partition_key(key: &str) -> Checked {
    checked_key("PartitionKey", key)
}

/// Checks a row key, by the rules of [`partition_key`].
pub fn row_key(key: &str) -> Checked {
    checked_key("RowKey", key)
}

fn checked_key(which: &str, key: &str) -> Checked {
    if exceeds(key, limits::MAX_KEY_CHARS) {
        let chars = utf16_len(key);
        return too_large(format!("{which} has {chars} UTF-16 units, the limit is {}", limits::MAX_KEY_CHARS));
    }
    // ASCII first: the loop over bytes is the hot one, and looks at many at a time since it does not end early. U+0080 to
    // U+009F are 0xC2 0x80..=0x9F in UTF-8.
    let suspect = |byte: u8| byte < 0x20 || matches!(byte, b'/' | b'\\' | b'#' | b'?' | 0x7F | 0xC2);
    if !key.bytes().fold(false, |any, byte| any | suspect(byte)) {
        return Ok(());
    }
    match key.chars().find(|c| c.is_control() || matches!(c, '/' | '\\' | '#' | '?')) {
        Some(c) => invalid(format!("{which} {key:?} contains {c:?}, which no key may; encode it")),
        None => Ok(()),
    }
}

/// Checks the name of a property: an identifier of at most 255 UTF-16 code units (a letter or `_` first, then also
/// ASCII digits) that is not `PartitionKey`, `RowKey` or `Timestamp`.
pub fn property_name(name: &str) -> Checked {
    if exceeds(name, limits::MAX_PROPERTY_NAME_CHARS) {
        let (chars, limit) = (utf16_len(name), limits::MAX_PROPERTY_NAME_CHARS);
        return too_large(format!("the name of property `{name}` has {chars} UTF-16 units, the limit is {limit}"));
    }
    if !is_identifier(name) {
        return invalid(format!("property name {name:?} must be a letter or `_`, then letters, digits and `_`"));
    }
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        return invalid(format!("property name `{name}` is the system's; rename the property"));
    }
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    }
    if name.is_ascii() {
        let begins = |byte: &u8| *byte == b'_' || byte.is_ascii_alphabetic();
        return name.as_bytes().first().is_some_and(begins) && name.bytes().all(|b| begins(&b) || b.is_ascii_digit());
    }
    let begins = |c: char| c == '_' || c.is_alphabetic();
    name.starts_with(begins) && name.chars().all(|c| begins(c) || c.is_ascii_digit())
}

/// Checks a value: strings to 32,768 UTF-16 code units, binaries to 64 KiB, times from 1601 to 9999.
pub fn value(value: ValueRef<'_>) -> Checked {
    match value {
        ValueRef::String(text) if exceeds(text, limits::MAX_STRING_CHARS) => too_large(format!(
            "a string of {} UTF-16 units is over the limit of {}",
            utf16_len(text),
            limits::MAX_STRING_CHARS
        )),
        ValueRef::Binary(bytes) if bytes.len() > limits::MAX_BINARY_BYTES => {
            too_large(format!("a binary of {} bytes is over the limit of {}", bytes.len(), limits::MAX_BINARY_BYTES))
        }
        ValueRef::DateTime(at) if !at.is_storable() => {
            invalid(format!("the time {at} is outside the years 1601 to 9999"))
        }
        _ => Ok(()),
    }
}

/// Checks a whole row: its keys, at most 252 properties, their names and values, and 1 MiB in all
/// ([`size::row_bytes`]). Cost: one look at each byte of keys and names; of values only where a limit is near.
pub fn row(partition: &str, row: &str, properties: &Properties) -> Checked {
    partition_key(partition)?;
    row_key(row)?;
    checked_properties(partition, row, properties, &mut Legal::new(&|_| false)).map(drop)
}

/// What is known of names: each is looked at once.
struct Legal<'k, 'p> {
    is_legal: &'k dyn Fn(&PropertyName) -> bool,
    seen: ByPlace<'p, ()>,
}

impl<'k, 'p> Legal<'k, 'p> {
    fn new(is_legal: &'k dyn Fn(&PropertyName) -> bool) -> Self {
        Self { is_legal, seen: ByPlace::default() }
    }

    #[inline]
    fn is_legal(&mut self, name: &'p PropertyName) -> bool {
        let Self { is_legal, seen } = self;
        let find = || if is_legal(name) || property_name(name.as_str()).is_ok() { Ok(()) } else { Err(()) };
        seen.get_or_find(name.as_str(), find).is_ok()
    }
}

/// Checks properties of a row whose keys are legal; names that were `legal` before are not looked at again.
fn checked_properties<'p>(
    partition: &str,
    row: &str,
    properties: &'p Properties,
    legal: &mut Legal<'_, 'p>,
) -> Result<Extent, StoreError> {
    let (count, limit) = (properties.len(), limits::MAX_PROPERTIES);
    if count > limit {
        return too_large(format!("row ({partition}, {row}) has {count} properties, the limit is {limit}"));
    }
    let (mut extent, mut is_fine) = (Extent::default(), true);
    properties.iter().for_each(|(name, property)| {
        extent.add(name.as_str(), property);
        is_fine = is_fine && legal.is_legal(name) && value(property).is_ok();
    });
    if !is_fine {
        check_each(properties)?;
    }
    if extent.row_bytes_bound(partition, row) > limits::MAX_ROW_BYTES {
        row_size(partition, row, properties)?;
    }
    Ok(extent)
}

/// The names and values, one by one: says what is wrong with the first that is not legal.
#[cold]
fn check_each(properties: &Properties) -> Checked {
    properties.iter().try_for_each(|(name, property)| {
        property_name(name.as_str())?;
        value(property).map_err(|error| StoreError::new(error.kind(), format!("property `{name}`: {}", error.detail())))
    })
}

fn row_size(partition: &str, row: &str, properties: &Properties) -> Checked {
    let (bytes, limit) = (size::row_bytes(partition, row, properties), limits::MAX_ROW_BYTES);
    if bytes > limit {
        return too_large(format!("row ({partition}, {row}) has {bytes} bytes, the limit is {limit}"));
    }
    Ok(())
}

/// Checks all that can be told of a commit before looking at the store; the error names batch and operation.
///
/// Each batch: 1 to 100 operations, legal keys and rows, at most 4 MiB ([`size::batch_bytes`]). Over all batches: no
/// row twice (tables compared without case); several need [`Capabilities::atomic_across`], else `Unsupported`.
/// A read-only store gets `Denied`. Whether the tables exist, and what their names may be, is not looked at.
pub fn batches(batches: &[Batch], capabilities: &Capabilities) -> Checked {
    batches_knowing(batches, capabilities, &|_| false)
}

/// As [`batches`], for a store that knows of some names that they are legal.
pub(crate) fn batches_knowing(
    batches: &[Batch],
    capabilities: &Capabilities,
    is_legal: &dyn Fn(&PropertyName) -> bool,
) -> Checked {
    if capabilities.read_only {
        return Err(StoreError::new(StoreErrorKind::Denied, "the store is read-only; open it for writing"));
    }
    if batches.len() > 1 && !capabilities.atomic_across {
        let count = batches.len();
        let detail = format!("this store commits one batch at a time, not {count} together; commit them one by one");
        return Err(StoreError::new(StoreErrorKind::Unsupported, detail));
    }
    let mut legal = Legal::new(is_legal);
    for (index, batch) in batches.iter().enumerate() {
        checked_batch(index, batch, &mut legal)?;
    }
    each_row_once(batches)
}

fn checked_batch<'b>(index: usize, batch: &'b Batch, legal: &mut Legal<'_, 'b>) -> Checked {
    let (count, limit) = (batch.operations.len(), limits::MAX_BATCH_OPERATIONS);
    if count == 0 {
        return invalid_batch("a batch needs at least one operation".to_owned()).map_err(|error| error.at(index, 0));
    }
    if count > limit {
        let detail = format!("a batch of {count} operations is over the limit of {limit}; split it");
        return invalid_batch(detail).map_err(|error| error.at(index, limit));
    }
    partition_key(&batch.partition).map_err(|error| error.at(index, 0))?;
    let mut bound = size::BATCH_OVERHEAD_BYTES;
    for (at, operation) in batch.operations.iter().enumerate() {
        let extent = checked_operation(&batch.partition, operation, legal).map_err(|error| error.at(index, at))?;
        bound += extent.operation_bytes_bound(&batch.table, &batch.partition, operation);
    }
    if bound > limits::MAX_BATCH_BYTES { batch_size(index, batch) } else { Ok(()) }
}

fn checked_operation<'b>(
    partition: &str,
    operation: &'b Operation,
    legal: &mut Legal<'_, 'b>,
) -> Result<Extent, StoreError> {
    row_key(&operation.row)?;
    match operation.action.properties() {
        Some(properties) => checked_properties(partition, &operation.row, properties, legal),
        None => Ok(Extent::default()),
    }
}

fn batch_size(index: usize, batch: &Batch) -> Checked {
    let mut bytes = size::BATCH_OVERHEAD_BYTES;
    for (at, operation) in batch.operations.iter().enumerate() {
        bytes += size::operation_bytes(&batch.table, &batch.partition, operation);
        if bytes > limits::MAX_BATCH_BYTES {
            let limit = limits::MAX_BATCH_BYTES;
            let detail = format!("the batch has {bytes} bytes up to this operation, the limit is {limit}; split it");
            return too_large(detail).map_err(|error: StoreError| error.at(index, at));
        }
    }
    Ok(())
}

fn each_row_once(batches: &[Batch]) -> Checked {
    let Some((index, at, operation)) = first_repeat(batches) else { return Ok(()) };
    invalid_batch(format!("row `{}` is written twice; fold the operations into one", operation.row))
        .map_err(|error| error.at(index, at))
}

/// The first operation whose row an earlier one writes, with its batch's index and its own.
fn first_repeat(batches: &[Batch]) -> Option<(usize, usize, &Operation)> {
    if let [batch] = batches
        && batch.operations.is_sorted_by(|a, b| a.row < b.row)
    {
        return None;
    }
    if !may_repeat(batches) {
        return None;
    }
    let operations = batches.iter().enumerate().flat_map(|(index, batch)| {
        batch.operations.iter().enumerate().map(move |(at, operation)| (operation, batch, (index, at)))
    });
    let mut sorted: Vec<_> = operations.collect();
    sorted.sort_unstable_by(|(a, of_a, at_a), (b, of_b, at_b)| {
        row_order((*a, *of_a), (*b, *of_b)).then_with(|| at_a.cmp(at_b))
    });
    let neighbours = sorted.iter().zip(sorted.iter().skip(1));
    neighbours
        .filter(|((a, of_a, _), (b, of_b, _))| row_order((*a, *of_a), (*b, *of_b)).is_eq())
        .map(|(_, (operation, _, (index, at)))| (*index, *at, *operation))
        .min_by_key(|(index, at, _)| (*index, *at))
}

/// Whether two operations may write the same row: their hashes are compared, which is cheaper than their rows.
fn may_repeat(batches: &[Batch]) -> bool {
    let mut hashes = Vec::with_capacity(batches.iter().map(|batch| batch.operations.len()).sum());
    for batch in batches {
        let place = mixed(batch.table.len() as u64, batch.partition.as_bytes());
        hashes.extend(batch.operations.iter().map(|operation| mixed(place, operation.row.as_bytes())));
    }
    hashes.sort_unstable();
    hashes.iter().zip(hashes.iter().skip(1)).any(|(a, b)| a == b)
}

/// A hash, eight bytes at a time. Whoever makes two collide gains a comparison.
fn mixed(seed: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = bytes.as_chunks();
    let hash = words.iter().fold(mix(seed, bytes.len() as u64), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |tail, byte| tail << 8 | u64::from(*byte)))
}

/// Some order in which two operations are equal only if they write the same row.
fn row_order((a, of_a): (&Operation, &Batch), (b, of_b): (&Operation, &Batch)) -> Ordering {
    a.row
        .cmp(&b.row)
        .then_with(|| of_a.partition.cmp(&of_b.partition))
        .then_with(|| lower_case(&of_a.table).cmp(lower_case(&of_b.table)))
}

fn lower_case(table: &str) -> impl Iterator<Item = u8> {
    table.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// Checks a query: a limit of 1 to 1,000 rows, and 15 comparisons, those of its range counted.
///
/// Bounds of its range need not be legal keys, and whether its table exists is not looked at.
pub fn query(query: &Query) -> Checked {
    if !(1..=limits::MAX_PAGE_ROWS).contains(&query.limit) {
        return invalid(format!("a page's limit must be 1 to {} rows, not {}", limits::MAX_PAGE_ROWS, query.limit));
    }
    let comparisons = query.range.comparisons() + query.filter.as_ref().map_or(0, Filter::comparisons);
    if comparisons > limits::MAX_QUERY_COMPARISONS {
        let most = limits::MAX_QUERY_COMPARISONS;
        return invalid(format!(
            "a query makes at most {most} comparisons, those of its keys counted, and not {comparisons}; test the others on the \
             rows that it gives"
        ));
    }
    Ok(())
}

/// Whether `text` has over `limit` UTF-16 units; texts of few bytes are not looked at.
fn exceeds(text: &str, limit: usize) -> bool {
    text.len() > limit && utf16_len(text) > limit
}

fn invalid<T>(detail: String) -> Result<T, StoreError> {
    Err(StoreError::new(StoreErrorKind::InvalidInput, detail))
}

fn too_large<T>(detail: String) -> Result<T, StoreError> {
    Err(StoreError::new(StoreErrorKind::TooLarge, detail))
}

fn invalid_batch<T>(detail: String) -> Result<T, StoreError> {
    Err(StoreError::new(StoreErrorKind::InvalidBatch, detail))
}
