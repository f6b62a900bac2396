//! How an outbox row names rows elsewhere: one list, over several properties where one has no room for it; and how many
//! rows an entity may have there.
//!
//! Nothing is written here.

use serde_json::Value as Json;
use tablemodel_store::{EdmType, Properties, PropertyName, ValueRef, limits, size::utf16_len};

use super::{AwayKey, ENTRIES};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        entries::{Entry, told},
        image::Image,
    },
    rooms::chunked,
};

/// Bytes of names that an entity's rows elsewhere may have together, as [`weight`] counts them: a row has room for thirty
/// properties of UTF-16 text at two bytes a letter, and a change may name the rows that were and those that are to be.
const MAX_NAMES: usize = limits::MAX_ROW_BYTES / 2 / 2 * 15 / 16;

/// Puts the list into the properties.
pub(super) fn write(entries: &[AwayKey], properties: &mut Properties) {
    let text = Json::from(entries.iter().map(AwayKey::to_json).collect::<Vec<_>>()).to_string();
    if utf16_len(&text) <= limits::MAX_STRING_CHARS {
        properties.insert(PropertyName::from_static(ENTRIES), text);
        return;
    }
    for (name, piece) in chunked::cut(ENTRIES, ValueRef::String(&text)) {
        properties.insert(name, piece);
    }
}

/// The list that stands in the properties; none if there is none to be read.
pub(super) fn read(properties: &Properties) -> Option<Vec<AwayKey>> {
    let text = chunked::join(ENTRIES, EdmType::String, |name| properties.get(name)).ok()??;
    let ValueRef::String(text) = text.as_ref() else { return None };
    let entries: Vec<Json> = serde_json::from_str(text).ok()?;
    entries.iter().map(AwayKey::from_json).collect()
}

/// That each change of the entity can name all rows that it wants, its deletion included. What the `old` one had, the new one
/// may keep.
pub(crate) fn check(old: Option<&Image>, new: &Image) -> Result<()> {
    if !new.schema.indexes.iter().any(|index| index.each.is_some() && index.elsewhere.is_some()) {
        return Ok(()); // as many rows as there are indexes
    }
    let names = |image| told(image, |_| false).entries.iter().map(|entry| weight(image, entry)).sum::<usize>();
    let wanted = names(new);
    if wanted <= MAX_NAMES || old.is_some_and(|old| wanted <= names(old)) {
        return Ok(());
    }
    let detail = format!(
        "the names of the entity's rows in other partitions come to {wanted} bytes, over the {MAX_NAMES} that its outbox rows \
         have room for; let fewer of its values be indexed there, or give the rows shorter keys"
    );
    Err(Error::new(ErrorKind::TooLarge, detail).of(new.schema.entity_type).at_key(new.key.clone()))
}

/// What the name of the row takes in the list, at most.
fn weight(image: &Image, entry: &Entry) -> usize {
    const QUOTES_AND_COMMAS: usize = 14;
    let Some(away) = &entry.away else { return 0 };
    let escaped = |text: &str| text.len() + text.bytes().filter(|byte| *byte == b'"').count();
    let index = image.latest.derived(entry.index).map_or(0, |kind| kind.name.len());
    index + away.table.len() + escaped(&away.partition) + escaped(&entry.row) + QUOTES_AND_COMMAS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tablemodel_store::RowKey;

    use super::*;

    fn entries(rows: usize, text: &str) -> Vec<AwayKey> {
        let key = |number| RowKey::new(format!("{text}{number}"), format!("r_{text}_{number:04}"));
        let entry = |number| AwayKey { index: "by_word".into(), table: "Words".into(), key: key(number), version: 0 };
        (0..rows).map(entry).collect()
    }

    fn written(entries: &[AwayKey]) -> Properties {
        let mut properties = Properties::new();
        write(entries, &mut properties);
        properties
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
        #[test]
        fn every_row_that_is_named_is_read_again(rows in 0..1_500_usize, text in "[a-zé\"\u{1F600}]{0,12}") {
            let entries = entries(rows, &text);
            let properties = written(&entries);
            prop_assert_eq!(read(&properties), Some(entries));
            prop_assert!(tablemodel_store::validate::row("A", "~~out|a|1", &properties).is_ok());
        }
    }

    #[test]
    fn of_a_list_that_lacks_a_piece_nothing_is_read() {
        let whole = written(&entries(2_000, "abc"));
        let pieces: Vec<_> = whole.iter().map(|(name, _)| name.to_string()).collect();
        assert!(pieces.len() > 3, "their number and the pieces: {pieces:?}");
        for lost in pieces {
            let mut properties = whole.clone();
            properties.retain(|name| name != lost);
            assert_eq!(read(&properties), None, "without {lost}");
        }
    }
}
