#![doc = include_str!("../../docs/rooms/list.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

#[cfg(feature = "blob")]
mod outside;
mod pieces;
mod stored;
mod texts;

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value as Json;
use tablemodel_store::{Action, Condition, Properties, PropertyName, Row, RowKey, RowRange, key::compare};

#[cfg(feature = "blob")]
pub use self::outside::in_blob;
#[cfg(feature = "blob")]
pub(crate) use self::outside::{Content, link, put_back, take_out};
pub(crate) use self::pieces::MAX_KEYS_UNITS;
use self::pieces::{Chunk, apply_all, free_number, is_after, pieces, place, separator};
use self::stored::{Head, texts_in};
pub(crate) use self::stored::{count, cut_of, fault, keys, keys_as};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{known::Known, system},
    schema::{IndexSchema, Store},
};

/// The keys in a row, ascending, as JSON.
const KEYS: &str = "_keys";
/// On the head of a list in chunks: the chunks, ascending, each with the least key that belongs there, as JSON.
const CHUNKS: &str = "_chunks";
/// On the head: the keys in the whole list.
const COUNT: &str = "_count";

/// On the head of a list in a blob: its name.
const OUTSIDE: &str = "_keys_in";

/// UTF-16 code units of the list of chunks: about 1,300 of them, and over half a million keys of 12 characters.
const MAX_CHUNKS_UNITS: usize = 32_000;

/// A key that is to be in a list, or is not to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The row key of the list.
    pub(crate) row: String,
    /// The row key of the entity.
    pub(crate) key: String,
    pub(crate) adds: bool,
    /// Whether it is the other way before, by what is known of the entity.
    pub(crate) is_news: bool,
}

/// What planning knows of a list, beside its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<'a> {
    pub(crate) index: &'static IndexSchema,
    pub(crate) partition: &'a str,
    pub(crate) row: &'a str,
    /// Where the sequence of a new row starts.
    pub(crate) now: i64,
}

/// The rows of a list: its head and its chunks.
pub(crate) fn rows(row: &str) -> RowRange {
    RowRange {
        lower: std::ops::Bound::Included(row.to_owned()),
        upper: std::ops::Bound::Excluded(format!("{row} ~~:")),
    }
}

/// The next row that must be read before the list can be changed at this key.
pub(crate) fn need(index: &IndexSchema, row: &str, key: &str, known: &Known) -> Result<Option<String>> {
    let Some(head) = known.get(row) else { return Ok(Some(row.to_owned())) };
    // What its keys are is of no interest yet.
    let head = head.as_ref().filter(|head| head.properties.get(CHUNKS).is_some());
    let head = head.map(|head| Head::of(index, head)).transpose()?;
    let Some(Head::Chunks(chunks)) = head else { return Ok(None) };
    let chunk = chunks.get(place(&chunks, key)).map(|chunk| chunk_row(row, chunk.number));
    Ok(chunk.filter(|chunk| !known.contains_key(chunk)))
}

/// Whether the keys of the list stand in a blob that this row, its first, links.
pub(crate) fn is_outside(row: &Row) -> bool {
    row.properties.get(OUTSIDE).is_some()
}

/// The head row that this row of a list belongs to: itself, or what stands before the number of a chunk.
pub(crate) fn head_of(row: &str) -> &str {
    row.rsplit_once(" ~~").map_or(row, |(head, _)| head)
}

impl List<'_> {
    /// The writes that make the edits, over the rows as they are known: of the head, and of each chunk that changes.
    ///
    /// The head is written with every change of a chunk, under its ETag: it is the proof that the chunk was the right one.
    pub(crate) fn writes<'e>(
        &self,
        edits: impl Iterator<Item = &'e Edit>,
        known: &Known,
    ) -> Result<Vec<(String, Action)>> {
        let (mut last, mut brings_news) = (BTreeMap::new(), false);
        for edit in edits {
            brings_news |= edit.is_news && edit.adds;
            last.insert(edit.key.as_str(), edit.adds);
        }
        let head = known.get(self.row).and_then(Option::as_ref);
        match head.map(|head| Head::of(self.index, head)).transpose()? {
            None => self.over_keys(Vec::new(), &last, None, false),
            Some(Head::Keys(keys)) => self.over_keys(keys, &last, head, brings_news),
            Some(Head::Chunks(chunks)) => self.over_chunks(chunks, &last, head, known),
        }
    }

    /// The rows that a list of these keys is made of, over its head as it is: for repair.
    pub(crate) fn rebuilt(&self, keys: Vec<String>, head: Option<&Row>) -> Result<Vec<(String, Action)>> {
        match keys.is_empty() {
            true => Ok(head.map(|head| (self.row.to_owned(), Action::Delete(matching(head)))).into_iter().collect()),
            false => self.put_keys(keys, true, head),
        }
    }

    /// What brings news to a list that seems to know it is written all the same, under the head's ETag: the key may be that of an
    /// entity which was there when the list was read, and is taken away with it before this is written.
    fn over_keys<'k>(
        &self,
        before: Vec<Cow<'k, str>>,
        edits: &BTreeMap<&'k str, bool>,
        head: Option<&Row>,
        brings_news: bool,
    ) -> Result<Vec<(String, Action)>> {
        let (appended, mut keys) = (is_after(&before, edits), before);
        match (apply_all(&mut keys, edits), keys.is_empty(), head) {
            (false, ..) if !brings_news => Ok(Vec::new()),
            (_, true, Some(head)) => Ok(vec![(self.row.to_owned(), Action::Delete(matching(head)))]),
            (_, true, None) => Ok(Vec::new()),
            _ => self.put_keys(keys, appended, head),
        }
    }

    /// The head with the keys in it, or with chunks where they are too many.
    fn put_keys(
        &self,
        keys: Vec<impl AsRef<str>>,
        appended: bool,
        head: Option<&Row>,
    ) -> Result<Vec<(String, Action)>> {
        let count = keys.len() as u64;
        let mut pieces = match self.index.store {
            Store::Rows => pieces(keys, appended),
            Store::Blob { .. } => vec![keys], // those that do not fit the row are taken out of it
        };
        if pieces.len() == 1 {
            let keys = pieces.pop().unwrap_or_default();
            return Ok(vec![(self.row.to_owned(), self.put(head, self.head_of_keys(&keys, count)))]);
        }
        let (mut chunks, mut writes) = (Vec::new(), Vec::new());
        self.place_pieces(pieces, "", None, &mut chunks, &mut writes);
        writes.insert(0, (self.row.to_owned(), self.put_chunks(head, &chunks, count)?));
        Ok(writes)
    }

    fn over_chunks(
        &self,
        chunks: Vec<Chunk>,
        edits: &BTreeMap<&str, bool>,
        head: Option<&Row>,
        known: &Known,
    ) -> Result<Vec<(String, Action)>> {
        let mut by_chunk: BTreeMap<usize, BTreeMap<&str, bool>> = BTreeMap::new();
        for (key, adds) in edits {
            by_chunk.entry(place(&chunks, key)).or_default().insert(*key, *adds);
        }
        let mut count = head.map(count).transpose()?.unwrap_or(0);
        let (mut left, mut writes) = (chunks.clone(), Vec::new());
        for (at, edits) in by_chunk {
            let Some(chunk) = chunks.get(at) else { continue };
            let row = known.get(&chunk_row(self.row, chunk.number)).and_then(Option::as_ref);
            let Some(row) = row else { return Err(self.torn()) };
            let mut keys = texts_in(row)?;
            let (before, is_after) = (keys.len() as u64, is_after(&keys, &edits));
            if !apply_all(&mut keys, &edits) {
                continue;
            }
            count = count.saturating_add(keys.len() as u64).saturating_sub(before);
            left.retain(|other| other.number != chunk.number);
            if keys.is_empty() {
                writes.push((row.key.row.clone(), Action::Delete(matching(row))));
                continue;
            }
            let appended = at + 1 == chunks.len() && is_after;
            self.place_pieces(pieces(keys, appended), &chunk.from, Some((chunk.number, row)), &mut left, &mut writes);
        }
        left.sort_by(|a, b| compare(&a.from, &b.from));
        if let Some(first) = left.first_mut() {
            first.from.clear(); // what is below all others belongs to it
        }
        let action = match (left.is_empty(), head) {
            (true, Some(head)) => Action::Delete(matching(head)),
            _ => self.put_chunks(head, &left, count)?,
        };
        writes.insert(0, (self.row.to_owned(), action));
        Ok(writes)
    }

    /// Writes pieces of keys as chunks: the first as the chunk that it was cut from, others under free numbers.
    fn place_pieces(
        &self,
        pieces: Vec<Vec<impl AsRef<str>>>,
        from: &str,
        mut old: Option<(u32, &Row)>,
        chunks: &mut Vec<Chunk>,
        writes: &mut Vec<(String, Action)>,
    ) {
        let mut least = from.to_owned();
        let mut before: Option<String> = None;
        for keys in pieces {
            if let (Some(before), Some(first)) = (&before, keys.first()) {
                least = separator(before, first.as_ref());
            }
            before = keys.last().map(|key| key.as_ref().to_owned());
            let (number, row) = match old.take() {
                Some((number, row)) => (number, Some(row)),
                None => (free_number(chunks), None),
            };
            chunks.push(Chunk { number, from: std::mem::take(&mut least) });
            // A chunk that belongs to nothing may stand there: the head's ETag says that it does.
            let action = match row {
                Some(_) => self.put(row, keys_property(&keys)),
                None => Action::InsertOrReplace(self.stamped(None, keys_property(&keys))),
            };
            writes.push((chunk_row(self.row, number), action));
        }
    }

    fn head_of_keys(&self, keys: &[impl AsRef<str>], count: u64) -> Properties {
        let mut properties = keys_property(keys);
        properties.insert(PropertyName::from_static(COUNT), i64::try_from(count).unwrap_or(i64::MAX));
        properties
    }

    fn put_chunks(&self, head: Option<&Row>, chunks: &[Chunk], count: u64) -> Result<Action> {
        let text: Json = chunks
            .iter()
            .map(|chunk| Json::from(vec![Json::from(chunk.number), Json::from(chunk.from.as_str())]))
            .collect();
        let text = text.to_string();
        if text.encode_utf16().count() > MAX_CHUNKS_UNITS {
            let detail = format!(
                "list `{}` would hold {count} keys in {} chunks, more than its first row can name: keep it in other partitions \
                 (`partition = \"..\"`), or put more into its key",
                self.index.name,
                chunks.len()
            );
            let error = Error::new(ErrorKind::TooLarge, detail).of_index(Some(self.index.name));
            return Err(error.at_key(RowKey::new(self.partition, self.row)));
        }
        let mut properties = Properties::new();
        properties.insert(PropertyName::from_static(CHUNKS), text);
        properties.insert(PropertyName::from_static(COUNT), i64::try_from(count).unwrap_or(i64::MAX));
        Ok(self.put(head, properties))
    }

    fn put(&self, over: Option<&Row>, properties: Properties) -> Action {
        let properties = self.stamped(over, properties);
        match over {
            Some(row) => Action::Replace(properties, matching(row)),
            None => Action::Insert(properties),
        }
    }

    fn stamped(&self, over: Option<&Row>, mut properties: Properties) -> Properties {
        let sequence = over.map_or(self.now, |row| system::sequence(&row.properties).saturating_add(1));
        system::stamp(&mut properties, self.index.discriminator, sequence, None);
        properties
    }

    fn torn(&self) -> Error {
        let detail = format!("a chunk of list `{}` is missing; repair it", self.index.name);
        Error::corrupt(detail).of_index(Some(self.index.name)).at_key(RowKey::new(self.partition, self.row))
    }
}

fn keys_property(keys: &[impl AsRef<str>]) -> Properties {
    let mut properties = Properties::new();
    properties.insert(PropertyName::from_static(KEYS), texts::write(keys));
    properties
}

fn matching(row: &Row) -> Condition {
    Condition::Match(row.etag.clone())
}

/// The row key of a chunk.
fn chunk_row(row: &str, number: u32) -> String {
    format!("{row} ~~{number:04}")
}
