//! Constants that fail to compile, under the words of the user: what shows only once types are known.
//! The checks and what they say are the runtime's.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    meant::{
        entity::Entity,
        field::{Field, Kind},
    },
    rooms::{
        chunked,
        index::{Index, When},
    },
};

use super::{fields, keys};

/// All checks of an entity.
pub(crate) fn checks(entity: &Entity) -> TokenStream {
    let ident = &entity.ident;
    let schema = quote!(<#ident as _tm::TableEntity>::SCHEMA);
    let keys = keys::all(entity).map(|placed| placed.checks());
    let indexes = entity.indexes.iter().enumerate().map(|(place, index)| {
        let overlap = overlap(index, place);
        let when = index.when.as_ref().map(When::checks);
        quote!(#overlap #when)
    });
    let groups = groups(entity.fields.iter().map(|field| &**field));
    let aggregates = entity.aggregates.iter().enumerate().map(|(at, aggregate)| aggregate.checks(at, entity));
    let of_fields = of_fields(entity.fields.iter().map(|field| &**field));
    let copies = entity.copies.iter().enumerate().map(|(place, copy)| copy.checks(place));
    let lineage = entity.lineage.checks(&schema, !entity.aggregates.is_empty());
    quote!(#lineage #(#keys)* #(#indexes)* #groups #(#aggregates)* #of_fields #(#copies)*)
}

/// That the rows of the index at this place meet no others.
pub(crate) fn overlap(index: &Index, place: usize) -> TokenStream {
    quote_spanned!(index.row.span=> const _: () = _tm::check_index(&__KEYS, #place);)
}

/// That the names which groups bring are no others'.
pub(crate) fn groups<'a>(mut fields: impl Iterator<Item = &'a Field>) -> Option<TokenStream> {
    let group = fields.find(|field| matches!(field.kind, Kind::Group | Kind::Array))?;
    Some(quote_spanned!(group.ident.span()=> const _: () = _tm::check_groups(&__NAMES);))
}

/// Those of the type of one field, whatever the others are.
pub(crate) fn of_fields<'a>(fields: impl Iterator<Item = &'a Field> + Clone) -> TokenStream {
    let held = fields.clone().filter(|field| field.is_aggregate).map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> const _: () = _tm::check_held::<#ty>();)
    });
    let (chunked, defaults) = (chunked::checks(fields.clone()), fields::default_checks(fields));
    quote!(#(#held)* #chunked #defaults)
}
