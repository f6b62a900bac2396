//! The keys of a list that stand in a blob: what the list's row says of them.
//!
//! Planning sees them in the row all the same: they are put back where it is read, and taken out where it is written. A blob
//! holds what `_keys` would.

use tablemodel_store::{Action, Properties, PropertyName, Row, RowKey, ValueRef};

use super::{COUNT, KEYS, OUTSIDE};
use crate::{
    blob::{Link, Sum},
    error::{Error, Result},
    schema::{IndexSchema, Store},
};

/// The name of the blob, beside the length and the checksum of its content.
const LINK: &str = OUTSIDE;
const LENGTH: &str = "_keys_length";
const SUM: &str = "_keys_sum";

/// Lists keep their keys in blobs once they are so many characters. Called by generated code.
pub const fn in_blob(inline_below: usize) -> Store {
    Store::Blob { inline_below }
}

/// What is to stand in a blob before the row is written that links it.
#[derive(Debug)]
pub(crate) struct Content {
    /// The list.
    pub(crate) key: RowKey,
    /// The name of the blob.
    pub(crate) name: String,
    pub(crate) keys: String,
}

/// The write of a row of a list; where its keys are too many for it, they go to `contents`, and the row links a blob of the
/// name that `fresh` gives.
pub(crate) fn take_out(
    index: &IndexSchema,
    key: &RowKey,
    mut action: Action,
    fresh: impl FnOnce(&RowKey) -> String,
    contents: &mut Vec<Content>,
) -> Action {
    let Store::Blob { inline_below } = index.store else { return action };
    let (Action::Insert(properties) | Action::Replace(properties, _)) = &mut action else { return action };
    let keys = match properties.get(KEYS) {
        Some(ValueRef::String(keys)) if keys.encode_utf16().count() >= inline_below => keys.to_owned(),
        _ => return action,
    };
    if properties.get(COUNT).is_none() {
        return action; // a chunk of a list that is in several rows already
    }
    properties.remove(KEYS);
    let (name, length) = (fresh(key), i64::try_from(keys.len()).unwrap_or(i64::MAX));
    properties.insert(PropertyName::from_static(LINK), name.clone());
    properties.insert(PropertyName::from_static(LENGTH), length);
    properties.insert(PropertyName::from_static(SUM), Sum::of(keys.as_bytes()).cast_signed());
    contents.push(Content { key: key.clone(), name, keys });
    action
}

/// The blob that the row links, if it is one of a list whose keys stand in one.
pub(crate) fn link(row: &Row) -> Result<Option<Link>> {
    let Some(name) = row.properties.get(LINK) else { return Ok(None) };
    let number = |property| match row.properties.get(property) {
        Some(ValueRef::Int64(number)) => Some(number.cast_unsigned()),
        _ => None,
    };
    let link = match (name, number(LENGTH), number(SUM)) {
        (ValueRef::String(name), Some(length), Some(sum)) => Some(Link { name: name.to_owned(), length, sum }),
        _ => None,
    };
    link.map(Some)
        .ok_or_else(|| Error::corrupt("a row of a list does not say where its keys are").at_key(row.key.clone()))
}

/// The row with these keys in it.
pub(crate) fn put_back(mut row: Row, keys: String) -> Row {
    let mut properties: Properties = std::mem::take(&mut row.properties);
    for property in [LINK, LENGTH, SUM] {
        properties.remove(property);
    }
    properties.insert(PropertyName::from_static(KEYS), keys);
    Row { properties, ..row }
}
