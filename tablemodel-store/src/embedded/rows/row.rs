//! A row as it was read from the engine, in words of one size, so that it can be copied from memory that others write.
//!
//! Knows nothing of where rows are kept.

use std::{array, iter::repeat_n, sync::Arc};

use super::Mark;
use crate::{
    StoreError,
    embedded::{codec::StoredRow, engine::Space},
};

/// Bytes of a word.
pub(super) const WORD_BYTES: usize = 8;
type Word = [u8; WORD_BYTES];
/// Words that are copied in one step.
const LINE: usize = 4;
const LINE_BYTES: usize = LINE * WORD_BYTES;
/// Bytes before the key: where the value begins and where it ends, then the mark.
const HEAD_BYTES: usize = 2 * WORD_BYTES;

/// A row: a head, its key, then its value, whose checksum was right; and what fills the last line.
#[derive(Debug, Clone)]
pub(in crate::embedded) struct ReadRow(Arc<[[Word; LINE]]>);

impl ReadRow {
    /// The row with this value at `key` in `space`, which has this mark. Errors: `Corrupt`, where its checksum is wrong.
    pub(in crate::embedded) fn checked(space: Space, mark: Mark, key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        StoredRow::checked(space, key, value)?;
        Ok(Self::new(mark, key, value))
    }

    pub(super) fn new(mark: Mark, key: &[u8], value: &[u8]) -> Self {
        let (begin, end) = (HEAD_BYTES + key.len(), HEAD_BYTES + key.len() + value.len());
        let mut lines: Arc<[_]> = repeat_n([Word::default(); LINE], end.div_ceil(LINE_BYTES)).collect();
        let words = Arc::get_mut(&mut lines).map(|lines| lines.as_flattened_mut());
        if let Some((head, rest)) = words.and_then(|words| words.split_first_chunk_mut())
            && let Some((to_key, rest)) = rest.as_flattened_mut().split_at_mut_checked(key.len())
            && let Some(to_value) = rest.get_mut(..value.len())
        {
            // A longer one cannot be written.
            let [begin, end] = [begin, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
            *head = [(u64::from(end) << 32 | u64::from(begin)).to_le_bytes(), mark.0.to_le_bytes()];
            to_key.copy_from_slice(key);
            to_value.copy_from_slice(value);
        }
        Self(lines)
    }

    /// A row copied from the words of another. Whether it is one is asked with [`is_of`](Self::is_of).
    #[inline]
    pub(super) fn of_words<W>(words: &[W], read: impl Fn(&W) -> Word) -> Self {
        let (lines, rest) = words.as_chunks::<LINE>();
        let last = array::from_fn(|at| rest.get(at).map_or(Word::default(), &read));
        let last = (!rest.is_empty()).then_some(last);
        Self(lines.iter().map(|line| line.each_ref().map(&read)).chain(last).collect())
    }

    /// Its words, without those that only fill the last line.
    pub(super) fn words(&self) -> &[Word] {
        let (_, end) = self.places();
        self.0.as_flattened().get(..end.div_ceil(WORD_BYTES)).unwrap_or_default()
    }

    /// Where its value begins, and where it ends.
    #[inline]
    fn places(&self) -> (usize, usize) {
        let head = self.0.as_flattened().first().map_or(0, |head| u64::from_le_bytes(*head));
        (head as u32 as usize, (head >> 32) as usize)
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark(self.0.as_flattened().get(1).map_or(0, |mark| u64::from_le_bytes(*mark)))
    }

    /// Its key, and its value.
    #[inline]
    pub(in crate::embedded) fn parts(&self) -> (&[u8], &[u8]) {
        let (begin, end) = self.places();
        let bytes = self.0.as_flattened().as_flattened().get(..end).unwrap_or_default();
        let (head, value) = bytes.split_at_checked(begin).unwrap_or_default();
        (head.get(HEAD_BYTES..).unwrap_or_default(), value)
    }

    /// Its key, and its properties.
    pub(in crate::embedded) fn key_and_body(&self) -> (&[u8], &[u8]) {
        let (key, value) = self.parts();
        (key, StoredRow::again(value).map_or(&[], StoredRow::body))
    }

    /// Whether it is the row at `key`, in the space that gives it this mark: one key has another mark in each space.
    #[inline]
    pub(super) fn is_of(&self, mark: Mark, key: &[u8]) -> bool {
        self.mark() == mark && self.parts().0 == key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_any_length_is_copied_word_by_word() {
        for length in 0..200 {
            let value: Vec<_> = (0..length).collect();
            let row = ReadRow::new(Mark(7), b"key", &value);
            let copy = ReadRow::of_words(row.words(), |word| *word);
            assert_eq!((copy.parts(), copy.mark()), ((&b"key"[..], &value[..]), Mark(7)));
            assert_eq!(
                (copy.words(), copy.words().len()),
                (row.words(), (2 * WORD_BYTES + 3 + value.len()).div_ceil(WORD_BYTES))
            );
        }
    }
}
