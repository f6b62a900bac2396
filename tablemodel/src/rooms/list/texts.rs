//! Keys as JSON, the form in which rows of lists hold them: ascending, read without a copy of any, and written.
//!
//! Nothing of rows is known here.

use std::borrow::Cow;

use serde_json::Value as Json;
use tablemodel_store::key::compare;

/// Adds what `make` makes of each text of a JSON list of texts; nothing where it is none, or its texts do not ascend.
pub(super) fn read<'t, T>(json: &'t str, to: &mut Vec<T>, make: impl Fn(Cow<'t, str>) -> T) -> Option<()> {
    let before = to.len();
    if read_plain(json, |text| to.push(make(Cow::Borrowed(text)))).is_some() {
        return Some(());
    }
    to.truncate(before);
    let texts: Vec<String> = serde_json::from_str(json).ok()?;
    let ascend = texts.is_sorted_by(|a, b| compare(a, b).is_lt());
    to.extend(texts.into_iter().filter(|_| ascend).map(|text| make(Cow::Owned(text))));
    ascend.then_some(())
}

/// Shows the texts of a list as [`write`] writes it, if nothing in it is escaped; it may be told to be another by the last.
fn read_plain<'t>(json: &'t str, mut see: impl FnMut(&'t str)) -> Option<()> {
    // To the end in any case, so that many bytes are looked at at a time.
    if json.bytes().fold(false, |any, byte| any | (byte == b'\\') | (byte < b' ')) {
        return None;
    }
    let (mut rest, mut last) = (json.strip_prefix("[\"")?, None);
    loop {
        let (text, after) = rest.split_once('"')?;
        if last.is_some_and(|last| compare(last, text).is_ge()) {
            return None;
        }
        see(text);
        last = Some(text);
        match after.strip_prefix(",\"") {
            Some(next) => rest = next,
            None => return (after == "]").then_some(()),
        }
    }
}

/// The texts as a JSON list.
pub(super) fn write(texts: &[impl AsRef<str>]) -> String {
    const QUOTES_AND_COMMA: usize = 3;
    let bytes: usize = texts.iter().map(|text| text.as_ref().len() + QUOTES_AND_COMMA).sum();
    let mut json = String::with_capacity(bytes + 1);
    json.push('[');
    for text in texts.iter().map(AsRef::as_ref) {
        if json.len() > 1 {
            json.push(',');
        }
        if text.bytes().any(|byte| matches!(byte, b'"' | b'\\') || byte < b' ') {
            json.push_str(&Json::from(text).to_string());
        } else {
            json.push('"');
            json.push_str(text);
            json.push('"');
        }
    }
    json.push(']');
    json
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(json: &str) -> Option<Vec<String>> {
        let mut texts = vec!["before".to_owned()];
        let read = read(json, &mut texts, Cow::into_owned);
        assert_eq!(texts.remove(0), "before");
        assert!(read.is_some() || texts.is_empty());
        read.map(|()| texts)
    }

    proptest! {
        #[test]
        fn texts_are_written_as_any_json_and_read_back_if_they_ascend(
            texts in prop::collection::vec("[a\"\\\\,\\[\\] \u{7}é\u{ffee}\u{10000}]{0,5}", 0..6),
        ) {
            let json = write(&texts);
            prop_assert_eq!(&json, &serde_json::to_string(&texts).unwrap());
            let mut ascending = texts.clone();
            ascending.sort_by(|a, b| compare(a, b));
            ascending.dedup();
            prop_assert_eq!(all(&json), (texts == ascending).then_some(texts));
            prop_assert_eq!(all(&write(&ascending)), Some(ascending));
        }

        #[test]
        fn whatever_is_read_is_what_any_reader_of_json_would_read(json in "[\\[\\]\", \\\\a\u{7}]{0,9}") {
            let any: Option<Vec<String>> = serde_json::from_str(&json).ok();
            let ascending = any.filter(|texts| texts.is_sorted_by(|a, b| compare(a, b).is_lt()));
            prop_assert_eq!(all(&json), ascending);
        }
    }
}
