//! The words of a struct or enum other than an entity.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{LitStr, Path};

use super::{Item, Place, Slot, Word, entity::rename_all, unknown_word};
use crate::{
    errors::{Errors, spelt_so},
    names::Case,
};

/// `#[table(..)]` on the item.
#[derive(Default)]
pub(crate) struct ContainerWords {
    pub(crate) rename_all: Slot<Case>,
    pub(crate) runtime: Slot<Path>,
    pub(crate) of: Slot<TokenStream>,
}

impl ContainerWords {
    /// The words of a group of properties.
    pub(crate) const OF_GROUP: Place =
        Place { item: Item::Group, at: "on a group of properties", words: &["rename_all", "crate"] };
    /// The words of an enum that is stored as text.
    pub(crate) const OF_NAMES: Place =
        Place { item: Item::Names, at: "on an enum of names", words: &["rename_all", "crate"] };
    /// The words of a newtype, which has no names.
    pub(crate) const OF_NEWTYPE: Place = Place { item: Item::Newtype, at: "on a newtype", words: &["crate"] };
    /// The words of a model.
    pub(crate) const OF_MODEL: Place = Place { item: Item::Model, at: "on a model", words: &["crate"] };
    /// The words of a projection.
    pub(crate) const OF_PROJECTION: Place =
        Place { item: Item::Projection, at: "on a projection", words: &["of", "crate"] };

    /// Reads the words that are legal `here`.
    pub(crate) fn read(words: &[Word], here: &Place, errors: &mut Errors) -> Self {
        let mut container = Self::default();
        for word in words {
            match word.text().as_str() {
                name if !here.takes(name) => {
                    container.mean(word, here);
                    unknown_word(word, here, errors);
                }
                "rename_all" => container.rename_all.fill(word, rename_all(word, errors), errors),
                "crate" => container.runtime.fill(word, word.path(errors), errors),
                _ => container.of.fill(word, entity(word, errors), errors),
            }
        }
        container
    }

    /// Takes a word that is spelt almost so for `of`: else nothing would be known of what reads the entity.
    fn mean(&mut self, word: &Word, here: &Place) {
        if self.of.is_absent() && here.takes("of") && spelt_so(&word.text(), here.words) == Some("of") {
            self.of.fill(word, path(word), &mut Errors::default());
        }
    }
}

fn path(word: &Word) -> Option<TokenStream> {
    word.value().filter(|value| syn::parse2::<Path>(value.clone()).is_ok())
}

/// `of = Employee`
fn entity(word: &Word, errors: &mut Errors) -> Option<TokenStream> {
    path(word).or_else(|| {
        let quoted = word.value().and_then(|value| syn::parse2::<LitStr>(value).ok()?.parse::<Path>().ok());
        let named = quoted.map(ToTokens::into_token_stream);
        let example = named.as_ref().map_or_else(|| "Employee".to_owned(), ToString::to_string);
        word.wrong::<()>("takes the entity", &format!("`of = {example}`"), errors);
        named
    })
}
