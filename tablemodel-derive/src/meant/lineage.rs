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
    /// The struct of the form that it moves to.
    moves_to: Option<Path>,
    /// The struct of the form that it moves from.
    moved_from: Option<Path>,
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
            let remedy = "needs the older version to compare with: name it by `previous = ..`, once `cargo tablemodel diff` has written that struct";
            words.readable_by.refuse(&format!("`readable_by` {remedy}"), errors);
        } else if words.version.is_absent() {
            let span = words.previous.span().unwrap_or_else(Span::call_site);
            errors.at(span, "an entity with a version before it is at least version 2: add `version = 2`".to_owned());
        }
        if words.readable_by.is_absent() {
            let remedy = "keeps what older programs read, and none may: add `readable_by = ..`, the oldest that may";
            words.downgrade.refuse(&format!("`downgrade` {remedy}"), errors);
        }
        moves(words, input, errors);
        Self {
            moves_to: words.moves_to.get().cloned(),
            moved_from: words.moved_from.get().cloned(),
            previous,
            readable_by: words.readable_by.get().copied().zip(words.readable_by.span()),
            downgrade: words.downgrade.is_given(),
            frozen: !words.frozen.is_absent(),
        }
    }

    /// The fields of the schema.
    pub(crate) fn schema(&self, ident: &Ident) -> TokenStream {
        let readable_by = self.readable_by.map(|(oldest, _)| quote!(readable_by: _tm::Some(#oldest),));
        let previous = self.previous.as_ref().map(|path| {
            let of = if self.downgrade { quote!(both_ways) } else { quote!(of) };
            let previous = quote_spanned!(path.span()=> _tm::Previous::#of::<#path, #ident>());
            quote!(previous: _tm::Some(#previous),)
        });
        let moves = self.moves(ident);
        let frozen = self.frozen.then(|| quote!(frozen: true,));
        quote!(#previous #readable_by #moves #frozen)
    }

    /// What the schema says of moves. The other form may name this one, so that only its functions are named here.
    fn moves(&self, ident: &Ident) -> TokenStream {
        let moves_to = self.moves_to.as_ref().map(|path| {
            let moved = quote_spanned!(path.span()=> _tm::Moved::of::<#ident, #path>());
            quote!(moves_to: _tm::Some(#moved),)
        });
        let moved_from = self.moved_from.as_ref().map(|path| {
            let old = quote_spanned!(path.span()=> _tm::EntitySchema::moving::<#path, #ident>());
            quote!(moved_from: _tm::Some(const { &#old }),)
        });
        quote!(#moves_to #moved_from)
    }

    /// Constants that do not compile unless the forms of a move fit together.
    fn move_checks(&self, schema: &TokenStream) -> TokenStream {
        let other = |path: &Path| {
            let written = path.to_token_stream().to_string().replace(' ', "");
            (quote_spanned!(path.span()=> <#path as _tm::TableEntity>::SCHEMA), written)
        };
        let to = self.moves_to.as_ref().map(|path| {
            let (new, written) = other(path);
            quote_spanned!(path.span()=> const _: () = _tm::check_move(#schema, #new, #written);)
        });
        let from = self.moved_from.as_ref().map(|path| {
            let (old, written) = other(path);
            quote_spanned!(path.span()=> const _: () = _tm::check_move(#old, #schema, #written);)
        });
        quote!(#to #from)
    }

    /// Constants that do not compile unless the versions fit together.
    pub(crate) fn checks(&self, schema: &TokenStream, has_aggregates: bool) -> TokenStream {
        let previous = self.previous.as_ref().map(|path| {
            let written = path.to_token_stream().to_string().replace(' ', "");
            let added = has_aggregates.then(|| quote_spanned!(path.span()=> const _: () = _tm::check_added(#schema);));
            quote_spanned!(path.span()=> const _: () = _tm::check_previous(&__ROWS, #written); #added)
        });
        let readable_by =
            self.readable_by.map(|(_, span)| quote_spanned!(span=> const _: () = _tm::check_readable_by(#schema);));
        let moves = self.move_checks(schema);
        quote!(#previous #readable_by #moves)
    }
}

/// Refuses words of moves that do not go together.
fn moves(words: &EntityWords, input: &Input, errors: &mut Errors) {
    for path in [&words.moves_to, &words.moved_from].into_iter().filter_map(|slot| slot.get()) {
        if path.is_ident(&input.ident) {
            let detail = format!("`{}` cannot move to itself: name the struct of the other form", input.ident);
            errors.at(path.span(), detail);
        }
    }
    if !words.previous.is_absent() {
        let remedy =
            "an entity is either upgraded where it stands or moves: take `previous = ..` or `moved_from = ..` away";
        words.moved_from.refuse(remedy, errors);
    }
    if words.frozen.is_given() {
        let remedy = "a frozen struct writes nothing: take `frozen` or `moves_to = ..` away, or say `moved_from = ..` on the new struct";
        words.moves_to.refuse(remedy, errors);
    }
    if words.version.is_absent() && !words.moved_from.is_absent() {
        let span = words.moved_from.span().unwrap_or_else(Span::call_site);
        errors.at(span, "an entity with a form before it is at least version 2: add `version = 2`".to_owned());
    }
}
