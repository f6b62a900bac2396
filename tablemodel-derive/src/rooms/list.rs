//! Lists of keys: `list(ids_by_last_name, row = "ids_{last_name}")`, and with `partition` in other partitions.
//! A list is an index of which one row holds many keys, or whose rows end with the keys; how it is kept is the runtime's.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::index::{Cover, Index, IndexWords, not_held};
use crate::{
    emit::schema,
    errors::Errors,
    meant::{entity::Entity, field::Field, key::Key},
    written::{Slot, Word, unknown_word},
};

/// The words of a list, as written.
pub(crate) struct ListWords {
    index: IndexWords,
    store: Slot<()>,
}

const LEGAL: [&str; 6] = ["row", "partition", "table", "when", "each", "store"];

impl ListWords {
    /// Reads `list(..)`; `None` where it has no name.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let mut words = word.words(errors)?.into_iter();
        let first = words.next().filter(|first| first.is_alone() && !LEGAL.contains(&first.text().as_str()));
        let Some(first) = first else {
            return word.wrong("needs a name first", "`list(ids_by_last_name, row = \"ids_{last_name}\")`", errors);
        };
        let mut list = Self { index: IndexWords::named(first.name, "list"), store: Slot::Absent };
        words.for_each(|word| list.take(&word, errors));
        Some(list)
    }

    fn take(&mut self, word: &Word, errors: &mut Errors) {
        let name = word.text();
        if name == "store" {
            self.store.fill(word, store(word, errors), errors);
        } else if !LEGAL.contains(&name.as_str()) || !self.index.take(word, errors) {
            self.index.spoil();
            unknown_word(word, "in `list(..)`", &LEGAL, errors);
        }
    }
}

/// `store = rows`
fn store(word: &Word, errors: &mut Errors) -> Option<()> {
    let value = word.value().and_then(|value| syn::parse2::<Ident>(value).ok());
    match value.map(|value| value.to_string()).as_deref() {
        Some("rows") => Some(()),
        Some("blob") => {
            errors.at(
                word.span(),
                "lists in blobs are not supported yet in this version of tablemodel: write `store = rows`",
            );
            None
        }
        _ => word.wrong("says where the keys are kept", "`store = rows`", errors),
    }
}

/// The list that the words ask for.
pub(crate) fn resolve(words: &ListWords, fields: &[Rc<Field>], errors: &mut Errors) -> Index {
    let mut list = Index::resolve(&words.index, fields, errors);
    list.is_list = true;
    list.cover = if list.elsewhere.is_some() { Cover::KeysOnly } else { Cover::List };
    list
}

/// The template of the rows of a list elsewhere: its key, and the keys of the entity, each as a text.
pub(super) fn template(key: &Key) -> TokenStream {
    let segments = key.segments.iter().map(schema::segment);
    quote! {
        _tm::Template(&[
            #(#segments,)*
            _tm::Segment::Literal("!"), _tm::Segment::Part(_tm::OWNER_PARTITION),
            _tm::Segment::Literal("!"), _tm::Segment::Part(_tm::OWNER_ROW),
        ])
    }
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
