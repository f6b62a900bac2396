//! A list as it stands in its rows: what its first row and its chunks hold.

use std::borrow::Cow;

use tablemodel_store::{Row, ValueRef, key::compare};

use super::{CHUNKS, COUNT, KEYS, chunk_row, pieces::Chunk, texts};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::system,
    schema::IndexSchema,
};

/// What the head of a list holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head<'r> {
    Keys(Vec<Cow<'r, str>>),
    Chunks(Vec<Chunk>),
}

/// The number of keys in the list, by its head.
pub(crate) fn count(head: &Row) -> Result<u64> {
    let count = match head.properties.get(COUNT) {
        Some(ValueRef::Int64(count)) => u64::try_from(count).ok(),
        _ => None,
    };
    count.ok_or_else(|| unreadable(head))
}

/// How the list is cut into rows: as long as this is the same, rows read one after the other are of one list.
pub(crate) fn cut_of(head: &Row) -> Option<String> {
    match head.properties.get(CHUNKS) {
        Some(ValueRef::String(text)) => Some(text.to_owned()),
        _ => None,
    }
}

/// The keys of a list, ascending, from its rows; the head is the first of them. None where a chunk is not among them.
pub(crate) fn keys(rows: &[Row]) -> Result<Option<Vec<String>>> {
    keys_as(rows, |key| key.into_owned())
}

/// The same, each as what `make` makes of it.
pub(crate) fn keys_as<T>(rows: &[Row], make: impl Fn(Cow<'_, str>) -> T) -> Result<Option<Vec<T>>> {
    const LEAST_BYTES: usize = 3; // quotes and a comma: a count that lies must not reserve memory
    let Some((head, rest)) = rows.split_first() else { return Ok(Some(Vec::new())) };
    let chunks = match Head::read(head)? {
        Head::Keys(keys) => return Ok(Some(keys.into_iter().map(make).collect())),
        Head::Chunks(chunks) => chunks,
    };
    let bytes = rest.iter().filter_map(text_in).map(str::len).sum::<usize>();
    let mut keys = Vec::with_capacity((count(head).unwrap_or_default() as usize).min(bytes / LEAST_BYTES));
    for chunk in chunks {
        let row = chunk_row(&head.key.row, chunk.number);
        let Some(found) = rest.iter().find(|other| other.key.row == row) else { return Ok(None) };
        read_texts(found, &mut keys, &make)?;
    }
    Ok(Some(keys))
}

/// What is wrong with the rows of a list that should hold these keys, if anything is: for `verify`.
///
/// `rows` are all rows of the index's kind from the list's row to its last chunk, in key order.
pub(crate) fn fault(row: &str, rows: &[Row], wanted: &[String]) -> Option<String> {
    let headless = !rows.is_empty() && rows.first().is_none_or(|head| head.key.row != row);
    if headless {
        return Some("chunks of a list without their head".to_owned());
    }
    if rows.is_empty() && !wanted.is_empty() {
        return Some(format!("a list of {} keys is missing", wanted.len()));
    }
    let found = match keys(rows) {
        Err(error) => return Some(error.to_string()),
        Ok(None) => return Some("a chunk of the list is missing".to_owned()),
        Ok(Some(found)) => found,
    };
    if found != wanted {
        let (lacks, has) = (difference(wanted, &found), difference(&found, wanted));
        return Some(format!("the list lacks {lacks} keys, and has {has} that do not belong there"));
    }
    let chunks = rows.first().map_or(0, |head| match Head::read(head) {
        Ok(Head::Chunks(chunks)) => chunks.len(),
        _ => 0,
    });
    let counted = rows.first().map(count).transpose();
    if counted.ok().flatten().is_some_and(|count| count != found.len() as u64) {
        return Some("the list counts its keys wrongly".to_owned());
    }
    (chunks + 1 < rows.len()).then(|| "the list has a chunk that belongs to nothing".to_owned())
}

fn difference(of: &[String], from: &[String]) -> usize {
    of.iter().filter(|key| from.binary_search_by(|other| compare(other, key)).is_err()).count()
}

impl<'r> Head<'r> {
    /// The head, if it is a row of this list.
    pub(super) fn of(index: &IndexSchema, row: &'r Row) -> Result<Self> {
        if !system::is_of_type(&row.properties, index.discriminator) {
            let detail = format!("a row of another type has the key of list `{}`", index.name);
            let error = Error::new(ErrorKind::AlreadyExists, detail).of_index(Some(index.name));
            return Err(error.at_key(row.key.clone()));
        }
        Self::read(row)
    }

    fn read(row: &'r Row) -> Result<Self> {
        let Some(text) = cut_of(row) else { return texts_in(row).map(Self::Keys) };
        let chunks: Option<Vec<(u32, String)>> = serde_json::from_str(&text).ok();
        let chunks = chunks.filter(|chunks| !chunks.is_empty()).ok_or_else(|| unreadable(row))?;
        Ok(Self::Chunks(chunks.into_iter().map(|(number, from)| Chunk { number, from }).collect()))
    }
}

/// The keys that stand in a row.
pub(super) fn texts_in(row: &Row) -> Result<Vec<Cow<'_, str>>> {
    let mut keys = Vec::new();
    read_texts(row, &mut keys, |key| key).map(|()| keys)
}

/// Adds the keys that stand in a row, each as what `make` makes of it.
fn read_texts<'r, T>(row: &'r Row, to: &mut Vec<T>, make: impl Fn(Cow<'r, str>) -> T) -> Result<()> {
    text_in(row).and_then(|text| texts::read(text, to, make)).ok_or_else(|| unreadable(row))
}

/// The keys of a row as they stand there.
fn text_in(row: &Row) -> Option<&str> {
    match row.properties.get(KEYS) {
        Some(ValueRef::String(text)) => Some(text),
        _ => None,
    }
}

fn unreadable(row: &Row) -> Error {
    Error::corrupt("a row of a list cannot be read").at_key(row.key.clone())
}
