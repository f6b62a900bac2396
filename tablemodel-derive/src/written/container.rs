//! The words of a struct or enum other than an entity.

use proc_macro2::TokenStream;
use syn::Path;

use super::{Slot, Word, entity::rename_all, unknown_word};
use crate::{errors::Errors, names::Case};

/// `#[table(..)]` on the item.
#[derive(Default)]
pub(crate) struct ContainerWords {
    pub(crate) rename_all: Slot<Case>,
    pub(crate) runtime: Slot<Path>,
    pub(crate) of: Slot<TokenStream>,
}

impl ContainerWords {
    /// The words of a type that is a property, a key part or a group.
    pub(crate) const OF_VALUE: [&'static str; 2] = ["rename_all", "crate"];
    /// The words of a newtype, which has no names.
    pub(crate) const OF_NEWTYPE: [&'static str; 1] = ["crate"];
    /// The words of a model.
    pub(crate) const OF_MODEL: [&'static str; 1] = ["crate"];
    /// The words of a projection.
    pub(crate) const OF_PROJECTION: [&'static str; 2] = ["of", "crate"];

    /// Reads the words that are `legal` here.
    pub(crate) fn read(words: &[Word], legal: &[&str], errors: &mut Errors) -> Self {
        let mut container = Self::default();
        for word in words {
            match word.text().as_str() {
                name if !legal.contains(&name) => unknown_word(word, "here", legal, errors),
                "rename_all" => container.rename_all.fill(word, rename_all(word, errors), errors),
                "crate" => container.runtime.fill(word, word.path(errors), errors),
                _ => container.of.fill(word, entity(word, errors), errors),
            }
        }
        container
    }
}

/// `of = Employee`
fn entity(word: &Word, errors: &mut Errors) -> Option<TokenStream> {
    let value = word.value().filter(|value| syn::parse2::<Path>(value.clone()).is_ok());
    value.or_else(|| word.wrong("takes the entity", "`of = Employee`", errors))
}
