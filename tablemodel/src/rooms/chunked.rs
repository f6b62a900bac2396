#![doc = include_str!("../../docs/rooms/chunked.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use tablemodel_store::{EdmType, PropertyName, Value, ValueRef, limits};

/// One value in chunks: its count first, then the chunks in their order.
pub(crate) type Chunks = Vec<(PropertyName, Value)>;

/// Why a value cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkFault(pub(crate) String);

/// The value of `property` as it is stored: `{Property}_n`, `{Property}_00`, `{Property}_01`, …
pub(crate) fn cut(property: &str, value: ValueRef<'_>) -> Chunks {
    let pieces: Vec<Value> = match value {
        ValueRef::String(text) => texts(text).into_iter().map(Value::from).collect(),
        ValueRef::Binary(bytes) => {
            bytes.chunks(limits::MAX_BINARY_BYTES).map(|piece| Value::Binary(piece.to_vec())).collect()
        }
        other => vec![other.to_value()], // the derive lets no other type be chunked
    };
    let count = (PropertyName::from(count_name(property)), Value::Int32(pieces.len() as i32));
    let pieces = pieces.into_iter().enumerate();
    let pieces = pieces.map(|(number, piece)| (PropertyName::from(chunk_name(property, number)), piece));
    std::iter::once(count).chain(pieces).collect()
}

/// The value of `property`; `None` where nothing is stored of it.
///
/// A value that stands whole under its own name, as a program stored it before the field was chunked, is taken as it is.
pub(crate) fn join<'a>(
    property: &str,
    edm: EdmType,
    stored: impl Fn(&str) -> Option<ValueRef<'a>>,
) -> Result<Option<Value>, ChunkFault> {
    let count = match stored(&count_name(property)) {
        None if stored(&chunk_name(property, 0)).is_some() => {
            return Err(ChunkFault(format!("the number of chunks, `{}`, is missing", count_name(property))));
        }
        None => return Ok(stored(property).map(ValueRef::to_value)),
        Some(ValueRef::Int32(count)) if count >= 0 => count as usize,
        Some(_) => return Err(ChunkFault(format!("`{}` is not a number of chunks", count_name(property)))),
    };
    if stored(&chunk_name(property, count)).is_some() {
        return Err(ChunkFault(format!("there are more chunks than `{}` says", count_name(property))));
    }
    let (mut text, mut bytes) = (String::new(), Vec::new());
    for number in 0..count {
        let name = chunk_name(property, number);
        match (stored(&name), edm) {
            (Some(ValueRef::String(piece)), EdmType::String) => text.push_str(piece),
            (Some(ValueRef::Binary(piece)), EdmType::Binary) => bytes.extend_from_slice(piece),
            (Some(other), _) => return Err(ChunkFault(format!("chunk `{name}` is {}, not {edm}", other.edm()))),
            (None, _) => return Err(ChunkFault(format!("chunk `{name}` of {count} is missing"))),
        }
    }
    Ok(Some(if edm == EdmType::String { Value::String(text) } else { Value::Binary(bytes) }))
}

/// Whether a stored property is a chunk of `property`, or their number: `Body_00`, `Body_n`.
pub(crate) const fn is_of(property: &str, stored: &str) -> bool {
    let (mut head, mut tail) = (property.as_bytes(), stored.as_bytes());
    while let ([a, rest @ ..], [b, after @ ..]) = (head, tail) {
        if *a != *b {
            return false;
        }
        (head, tail) = (rest, after);
    }
    match tail {
        [b'_', b'n'] => head.is_empty(),
        [b'_', first, second, rest @ ..] => {
            head.is_empty() && first.is_ascii_digit() && second.is_ascii_digit() && are_digits(rest)
        }
        _ => false,
    }
}

const fn are_digits(mut bytes: &[u8]) -> bool {
    while let [first, rest @ ..] = bytes {
        if !first.is_ascii_digit() {
            return false;
        }
        bytes = rest;
    }
    true
}

fn count_name(property: &str) -> String {
    format!("{property}_n")
}

fn chunk_name(property: &str, number: usize) -> String {
    format!("{property}_{number:02}")
}

/// The text in pieces of at most [`limits::MAX_STRING_CHARS`] UTF-16 units, no character cut.
fn texts(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at_checked(end_of_piece(text)).unwrap_or((text, ""));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

/// Where the first piece of the text ends, in bytes. Looks at no more than that piece: O(its bytes).
fn end_of_piece(text: &str) -> usize {
    if text.len() <= limits::MAX_STRING_CHARS {
        return text.len();
    }
    if text.get(..limits::MAX_STRING_CHARS).is_some_and(str::is_ascii) {
        return limits::MAX_STRING_CHARS;
    }
    let mut units = 0;
    let over = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > limits::MAX_STRING_CHARS
    });
    over.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tablemodel_store::size::utf16_len;

    use super::*;

    fn joined(chunks: &Chunks, edm: EdmType) -> Result<Option<Value>, ChunkFault> {
        join("Body", edm, |name| chunks.iter().find(|(own, _)| own.as_str() == name).map(|(_, value)| value.as_ref()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_text_comes_back_whole_and_no_chunk_is_over_the_limit(
            pieces in prop::collection::vec(("[a-z😀é]{1,4}", 1..9_000_usize), 0..8),
        ) {
            let text: String = pieces.into_iter().map(|(piece, times)| piece.repeat(times)).collect();
            let chunks = cut("Body", ValueRef::String(&text));
            for (name, value) in &chunks {
                prop_assert!(is_of("Body", name.as_str()));
                if let Value::String(piece) = value {
                    prop_assert!(utf16_len(piece) <= limits::MAX_STRING_CHARS);
                    prop_assert!(utf16_len(piece) + 2 > limits::MAX_STRING_CHARS || name.as_str() == chunks.last().unwrap().0.as_str());
                }
            }
            prop_assert_eq!(joined(&chunks, EdmType::String), Ok(Some(Value::String(text))));
        }

        #[test]
        fn bytes_come_back_whole_or_not_at_all(len in 0..400_000_usize, lost in any::<prop::sample::Index>()) {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let mut chunks = cut("Body", ValueRef::Binary(&bytes));
            prop_assert_eq!(chunks.len(), 1 + len.div_ceil(limits::MAX_BINARY_BYTES));
            prop_assert_eq!(joined(&chunks, EdmType::Binary), Ok(Some(Value::Binary(bytes))));
            let count = chunks.len();
            let lost = lost.index(count);
            chunks.remove(lost);
            prop_assert_eq!(joined(&chunks, EdmType::Binary).is_err(), count > 1);
        }
    }

    #[test]
    fn an_empty_value_is_not_an_absent_one() {
        assert_eq!(joined(&cut("Body", ValueRef::String("")), EdmType::String), Ok(Some(Value::from(""))));
        assert_eq!(joined(&Vec::new(), EdmType::String), Ok(None));
    }

    #[test]
    fn a_value_that_was_stored_whole_is_taken() {
        let whole = vec![(PropertyName::from("Body"), Value::from("text"))];
        assert_eq!(joined(&whole, EdmType::String), Ok(Some(Value::from("text"))));
    }

    #[test]
    fn only_chunks_are_taken_for_chunks() {
        let of_body = ["Body_n", "Body_00", "Body_07", "Body_123"];
        let others = ["Body", "Body_", "Body_1", "Body_nn", "Body_0x", "BodyText_00", "body_00"];
        assert!(of_body.iter().all(|name| is_of("Body", name)));
        assert!(others.iter().all(|name| !is_of("Body", name)));
    }
}
