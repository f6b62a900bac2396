//! Lists of keys: `list(ids_by_last_name, row = "ids_{last_name}")`, with `partition` in other partitions, and with
//! `store = blob` in blobs once they are long.
//! A list is an index of which one row holds many keys, or whose rows end with the keys; how it is kept is the runtime's.

use std::rc::Rc;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::index::{Cover, Index, IndexWords, not_held};
use crate::{
    errors::Errors,
    meant::{entity::Entity, field::Field},
    written::{InlineBelow, Item, Place, Slot, Word, unknown_word},
};

/// The words of a list, as written.
pub(crate) struct ListWords {
    index: IndexWords,
    store: Slot<Store>,
}

/// Where the keys of a list go when they outgrow their row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Store {
    Rows,
    /// Into a blob, once they are so many characters.
    Blob(usize, Span),
}

/// A list in a blob stands in its row while its keys are fewer characters: at most what a row takes.
const INLINE_BELOW: InlineBelow =
    InlineBelow { usual: 16_000, most: 16_000, unit: "characters", example: "`inline_below = 1000`" };

impl ListWords {
    pub(crate) const PLACE: Place = Place {
        item: Item::Entity,
        at: "in `list(..)`",
        words: &["row", "partition", "table", "when", "each", "store"],
    };

    /// Reads `list(..)`; `None` where it has no name.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let example = "`list(ids_by_last_name, row = \"ids_{last_name}\")`";
        let (name, words, is_whole) = word.named_words(Self::PLACE.words, example, errors)?;
        let mut list = Self { index: IndexWords::named(name, "list"), store: Slot::Absent };
        words.iter().for_each(|word| list.take(word, errors));
        if !is_whole {
            list.index.miss();
        }
        Some(list)
    }

    fn take(&mut self, word: &Word, errors: &mut Errors) {
        let name = word.text();
        if name == "store" {
            self.store.fill(word, store(word, errors), errors);
        } else if !Self::PLACE.takes(&name) || !self.index.take(word, errors) {
            self.index.spoil();
            unknown_word(word, &Self::PLACE, errors);
        }
    }
}

/// `store = rows`, `store = blob` or `store = blob(inline_below = 1000)`
fn store(word: &Word, errors: &mut Errors) -> Option<Store> {
    let value = word.value_word(errors);
    let text = value.as_ref().map(Word::text);
    match (value, text.as_deref()) {
        (Some(value), Some("rows")) if value.is_alone() => Some(Store::Rows),
        (Some(value), Some("blob")) => INLINE_BELOW.read(&value, errors).map(|limit| Store::Blob(limit, word.span())),
        _ => word.wrong("says where the keys are kept", "`store = rows` or `store = blob`", errors),
    }
}

/// `_tm::Store::Rows`, or a call that is there only with the cargo feature `blob`.
pub(super) fn store_schema(store: Store) -> TokenStream {
    match store {
        Store::Rows => quote!(_tm::Store::Rows),
        Store::Blob(limit, span) => {
            let in_blob = quote_spanned!(span=> _tm::in_blob);
            quote!(#in_blob(#limit))
        }
    }
}

/// The list that the words ask for.
pub(crate) fn resolve(words: &ListWords, fields: &[Rc<Field>], errors: &mut Errors) -> Index {
    let mut list = Index::resolve(&words.index, fields, errors);
    list.is_list = true;
    list.cover = if list.elsewhere.is_some() { Cover::KeysOnly } else { Cover::List };
    match (words.store.get(), &list.elsewhere) {
        (Some(Store::Blob(_, span)), Some(_)) => {
            let message = "a list in other partitions has a row for each key, and none to outgrow";
            errors.at(*span, format!("{message}: remove `store`, or `partition`"));
        }
        (Some(store), _) => list.store = *store,
        (None, _) => {}
    }
    list
}

/// What the key of a list may be.
pub(super) fn check(list: &Index, entity: &Entity, errors: &mut Errors) {
    let name = &list.name;
    if not_held(list, entity).is_empty() {
        let message = "its key holds the entity's own, so each list would hold one key: declare an `index`";
        errors.at(list.row.span, format!("list `{name}`: {message}"));
    }
    if let Some(shard) = list.partition(&entity.partition).shard() {
        let shard = shard.written();
        let remedy = "keep it elsewhere by `partition = \"..\"` without a shard";
        errors.at(
            name.span(),
            format!("list `{name}`: a list stands in one partition, and `{shard}` spreads over several; {remedy}"),
        );
    }
}
