//! A word that may be given once.
//! A word that was given wrongly is not the same as one that is absent: its error was reported already.

use proc_macro2::Span;

use super::Word;
use crate::errors::Errors;

/// What became of a word.
#[derive(Debug, Default)]
pub(crate) enum Slot<T> {
    #[default]
    Absent,
    Bad,
    Given(T, Span),
}

impl<T> Slot<T> {
    /// Takes the value of `word`, `None` if it was wrong; a second value is an error.
    pub(crate) fn fill(&mut self, word: &Word, value: Option<T>, errors: &mut Errors) {
        if !matches!(self, Self::Absent) {
            return errors.at(word.span(), format!("`{}` is given twice", word.name));
        }
        *self = value.map_or(Self::Bad, |value| Self::Given(value, word.span()));
    }

    /// Takes the word for one that was meant but given wrongly.
    pub(crate) fn spoil(&mut self) {
        if self.is_absent() {
            *self = Self::Bad;
        }
    }

    /// The value.
    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Given(value, _) => Some(value),
            Self::Absent | Self::Bad => None,
        }
    }

    /// The place of the word, if it was given well.
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Self::Given(_, span) => Some(*span),
            Self::Absent | Self::Bad => None,
        }
    }

    /// Whether the word was given well.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self, Self::Given(..))
    }

    /// Whether the word was given wrongly.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self, Self::Bad)
    }

    /// Whether the word was not written at all.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Reports the word as one that does not go with another.
    pub(crate) fn refuse(&self, message: &str, errors: &mut Errors) {
        if let Self::Given(_, span) = self {
            errors.at(*span, message);
        }
    }
}
