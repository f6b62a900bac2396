//! Where an entity stands among its versions: what came before it, and who may read what it writes.
//!
//! Whether the versions fit together shows only once types are known, and is checked by the runtime.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Ident, Path, spanned::Spanned};

use crate::{
    errors::Errors,
    written::{EntityWords, Input},
};

/// The versions of an entity, as far as it names them.
#[derive(Default)]
pub(crate) struct Lineage {
    /// The struct of the version before.
    previous: Option<Path>,
    /// The oldest version that may read its rows, and where that was written.
    readable_by: Option<(u32, Span)>,
    downgrade: bool,
    /// Whether it only tells how rows were.
    pub(crate) frozen: bool,
}

impl Lineage {
    /// Takes the words, and refuses those that do not go together.
    pub(crate) fn resolve(words: &EntityWords, input: &Input, errors: &mut Errors) -> Self {
        let previous = words.previous.get().cloned();
        if let Some(path) = previous.as_ref().filter(|path| path.is_ident(&input.ident)) {
            errors.at(
                path.span(),
                format!("`{}` cannot be the version before itself: name the struct that was", input.ident),
            );
        }
        if words.previous.is_absent() {
            let remedy = "says what becomes of the version before, and none is named: add `previous = ..`";
            words.downgrade.refuse(&format!("`downgrade` {remedy}"), errors);
            let remedy = "needs the older version to compare with: name it by `previous = ..`";
            words.readable_by.refuse(&format!("`readable_by` {remedy}"), errors);
        } else if words.version.is_absent() {
            let span = words.previous.span().unwrap_or_else(Span::call_site);
            errors.at(span, "an entity with a version before it is at least version 2: add `version = 2`".to_owned());
        }
        if words.readable_by.is_absent() {
            let remedy = "keeps what older programs read, and none may: add `readable_by = ..`, the oldest that may";
            words.downgrade.refuse(&format!("`downgrade` {remedy}"), errors);
        }
        Self {
            previous,
            readable_by: words.readable_by.get().copied().zip(words.readable_by.span()),
            downgrade: words.downgrade.is_given(),
            frozen: words.frozen.is_given(),
        }
    }

    /// The fields of the schema.
    pub(crate) fn schema(&self, ident: &Ident) -> TokenStream {
        let Self { frozen, .. } = self;
        let readable_by = self.readable_by.map_or_else(|| quote!(_tm::None), |(oldest, _)| quote!(_tm::Some(#oldest)));
        let previous = self.previous.as_ref().map_or_else(
            || quote!(_tm::None),
            |path| {
                let of = if self.downgrade { quote!(both_ways) } else { quote!(of) };
                let previous = quote_spanned!(path.span()=> _tm::Previous::#of::<#path, #ident>());
                quote!(_tm::Some(#previous))
            },
        );
        quote!(previous: #previous, readable_by: #readable_by, frozen: #frozen,)
    }

    /// Constants that do not compile unless the versions fit together.
    pub(crate) fn checks(&self, schema: &TokenStream) -> TokenStream {
        let previous = self.previous.as_ref().map(|path| {
            let written = path.to_token_stream().to_string().replace(' ', "");
            quote_spanned!(path.span()=> const _: () = _tm::check_previous(#schema, #written);)
        });
        let readable_by =
            self.readable_by.map(|(_, span)| quote_spanned!(span=> const _: () = _tm::check_readable_by(#schema);));
        quote!(#previous #readable_by)
    }
}
