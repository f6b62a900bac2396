//! The words of an index, as written: `index(by_email, row = "email_{email}", unique, keep(first_name))`.
//! What they mean is the parent's.

use proc_macro2::{Ident, TokenTree};
use syn::LitStr;

use crate::{
    errors::{Errors, near},
    written::{Item, Place, Slot, Word, unknown_word},
};

/// The words of an index, as written.
pub(crate) struct IndexWords {
    pub(crate) name: Ident,
    /// What it is called in messages: `index` or `list`.
    pub(in crate::rooms) what: &'static str,
    pub(in crate::rooms) table: Slot<LitStr>,
    pub(in crate::rooms) partition: Slot<LitStr>,
    pub(in crate::rooms) row: Slot<LitStr>,
    pub(in crate::rooms) each: Slot<Ident>,
    pub(in crate::rooms) read: Slot<bool>,
    pub(in crate::rooms) unique: Slot<()>,
    pub(in crate::rooms) keep: Slot<Vec<Ident>>,
    pub(in crate::rooms) keys_only: Slot<()>,
    pub(in crate::rooms) when: Slot<WhenWord>,
    /// A word that may have been meant for another; rules about the whole would guess.
    pub(in crate::rooms) has_unknown: bool,
}

/// `when = field` or `when = !field`
pub(in crate::rooms) struct WhenWord {
    pub(in crate::rooms) field: Ident,
    pub(in crate::rooms) negated: bool,
}

impl IndexWords {
    pub(crate) const PLACE: Place = Place {
        item: Item::Entity,
        at: "in `index(..)`",
        words: &["row", "unique", "keep", "keys_only", "when", "partition", "table", "each", "read"],
    };

    /// Reads `index(..)`; `None` where it has no name.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let example = "`index(by_email, row = \"email_{email}\")`";
        let (name, words, is_whole) = word.named_words(Self::PLACE.words, example, errors)?;
        let mut index = Self::named(name, "index");
        for word in &words {
            if !index.take(word, errors) {
                index.refuse(word, errors);
            }
        }
        if !is_whole {
            index.miss();
        }
        Some(index)
    }

    fn refuse(&mut self, word: &Word, errors: &mut Errors) {
        self.has_unknown = true;
        if near(&word.text(), &["keep", "keys_only"]).is_some() {
            self.keep.spoil();
        }
        unknown_word(word, &Self::PLACE, errors);
    }

    /// Takes what could not be read for the word that is most missed.
    pub(in crate::rooms) fn miss(&mut self) {
        self.has_unknown = true;
        if self.row.is_absent() { self.row.spoil() } else { self.keep.spoil() }
    }

    /// Without any word.
    pub(in crate::rooms) fn named(name: Ident, what: &'static str) -> Self {
        Self {
            name,
            what,
            table: Slot::Absent,
            partition: Slot::Absent,
            row: Slot::Absent,
            each: Slot::Absent,
            read: Slot::Absent,
            unique: Slot::Absent,
            keep: Slot::Absent,
            keys_only: Slot::Absent,
            when: Slot::Absent,
            has_unknown: false,
        }
    }

    /// Whether one of the words is absent that the key of its rows needs.
    pub(in crate::rooms) fn spoil(&mut self) {
        self.has_unknown = true;
    }

    /// Takes the word, if it is one of an index.
    pub(in crate::rooms) fn take(&mut self, word: &Word, errors: &mut Errors) -> bool {
        match word.text().as_str() {
            "table" => self.table.fill(word, word.string(errors), errors),
            "partition" => self.partition.fill(word, word.string(errors), errors),
            "each" => self.each.fill(word, each(word, errors), errors),
            "read" => self.read.fill(word, verified(word, errors), errors),
            "row" => self.row.fill(word, word.string(errors), errors),
            "unique" => self.unique.fill(word, word.flag(errors), errors),
            "keep" => self.keep.fill(word, word.names(errors), errors),
            "keys_only" => self.keys_only.fill(word, word.flag(errors), errors),
            "when" => self.when.fill(word, when(word, errors), errors),
            _ => return false,
        }
        true
    }
}

pub(in crate::rooms) fn when(word: &Word, errors: &mut Errors) -> Option<WhenWord> {
    let trees: Vec<TokenTree> = word.value().unwrap_or_default().into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Ident(field)] => Some(WhenWord { field: field.clone(), negated: false }),
        [TokenTree::Punct(not), TokenTree::Ident(field)] if not.as_char() == '!' => {
            Some(WhenWord { field: field.clone(), negated: true })
        }
        _ => word.wrong("takes a field", "`when = field` or `when = !field`", errors),
    }
}

/// `each(field)`
fn each(word: &Word, errors: &mut Errors) -> Option<Ident> {
    let mut names = word.names(errors)?.into_iter();
    match (names.next(), names.next()) {
        (Some(field), None) => Some(field),
        _ => word.wrong("takes one field", "`each(field)`", errors),
    }
}

/// `read = verified` or `read = eventual`
fn verified(word: &Word, errors: &mut Errors) -> Option<bool> {
    let value = word.value().and_then(|value| syn::parse2::<Ident>(value).ok());
    match value.map(|value| value.to_string()).as_deref() {
        Some("verified") => Some(true),
        Some("eventual") => Some(false),
        _ => word.wrong("says how it is read", "`read = eventual` or `read = verified`", errors),
    }
}
