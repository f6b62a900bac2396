//! How much is kept in a row before it goes to a blob: `blob`, or `blob(inline_below = 4096)`.
//! What is counted, and how much of it a row takes, whoever reads the word says.

use syn::LitInt;

use super::{Item, Place, Slot, Word, unknown_word};
use crate::errors::Errors;

/// The limits that may be given.
pub(crate) struct InlineBelow {
    /// Unless told otherwise.
    pub(crate) usual: usize,
    pub(crate) most: usize,
    pub(crate) unit: &'static str,
    pub(crate) example: &'static str,
}

impl InlineBelow {
    /// Where the limit stands.
    pub(crate) const PLACE: Place = Place { item: Item::Entity, at: "in `blob(..)`", words: &["inline_below"] };

    /// The limit that the word `blob` gives.
    pub(crate) fn read(&self, word: &Word, errors: &mut Errors) -> Option<usize> {
        if word.is_alone() {
            return Some(self.usual);
        }
        let mut limit = Slot::Absent;
        for inner in word.words(errors)? {
            match inner.text().as_str() {
                "inline_below" => limit.fill(&inner, self.number(&inner, errors), errors),
                _ => {
                    limit.spoil();
                    unknown_word(&inner, &Self::PLACE, errors);
                }
            }
        }
        if limit.is_absent() { Some(self.usual) } else { limit.get().copied() }
    }

    fn number(&self, word: &Word, errors: &mut Errors) -> Option<usize> {
        let literal: Option<LitInt> = word.value().and_then(|value| syn::parse2(value).ok());
        let limit = literal.and_then(|literal| literal.base10_parse().ok()).filter(|limit| *limit <= self.most);
        let takes = format!("takes a number of {} up to {}", self.unit, self.most);
        limit.or_else(|| word.wrong(&takes, self.example, errors))
    }
}
