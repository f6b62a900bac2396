//! Keys as JSON, the form in which rows of lists hold them: read without a copy of any, and written.
//!
//! Nothing of rows is known here.

use std::borrow::Cow;

use serde_json::Value as Json;

/// The texts of a JSON list of texts; nothing where it is none.
pub(super) fn read(json: &str) -> Option<Vec<Cow<'_, str>>> {
    read_plain(json).or_else(|| {
        let texts: Vec<String> = serde_json::from_str(json).ok()?;
        Some(texts.into_iter().map(Cow::Owned).collect())
    })
}

/// The same of a list as [`write`] writes it, if nothing in it is escaped.
fn read_plain(json: &str) -> Option<Vec<Cow<'_, str>>> {
    if json.bytes().any(|byte| byte == b'\\' || byte < b' ') {
        return None;
    }
    let mut parts = json.split('"');
    let (mut texts, mut between) = (Vec::new(), parts.next()?);
    while between == if texts.is_empty() { "[" } else { "," } {
        texts.push(Cow::Borrowed(parts.next()?));
        between = parts.next()?;
    }
    (!texts.is_empty() && between == "]" && parts.next().is_none()).then_some(texts)
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

    proptest! {
        #[test]
        fn texts_are_written_as_any_json_and_read_back(texts in prop::collection::vec("[a\"\\\\,\\[\\] \u{7}é\u{10000}]{0,5}", 0..6)) {
            let json = write(&texts);
            prop_assert_eq!(&json, &serde_json::to_string(&texts).unwrap());
            prop_assert_eq!(&read(&json).unwrap(), &texts);
        }

        #[test]
        fn whatever_is_read_is_what_any_reader_of_json_would_read(json in "[\\[\\]\", \\\\a\u{7}]{0,9}") {
            let any: Option<Vec<String>> = serde_json::from_str(&json).ok();
            let read = read(&json).map(|texts| texts.into_iter().map(Cow::into_owned).collect::<Vec<_>>());
            prop_assert_eq!(read, any);
        }
    }
}
