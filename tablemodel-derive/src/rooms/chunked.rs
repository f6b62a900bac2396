//! Chunked values: `chunked` on a text or bytes.
//! How a value is cut is the runtime's; here are the rules.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned;

use crate::{
    errors::Errors,
    meant::{
        entity::Entity,
        field::{Field, Kind},
    },
};

/// No other property has the name of a chunk.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    for chunked in entity.fields.iter().filter(|field| field.chunked.is_some()) {
        for field in &entity.fields {
            let names = field.stored_names();
            if let Some(name) = names.iter().find(|name| is_chunk(&chunked.property, name)) {
                let message = format!("`{name}` is the name of a chunk of `{}`", chunked.name);
                errors.at(field.property_span, format!("{message}: give one another name with `rename = \"..\"`"));
            }
        }
    }
}

/// `Body_n`, `Body_00`
fn is_chunk(property: &str, other: &str) -> bool {
    let tail = other.strip_prefix(property).and_then(|tail| tail.strip_prefix('_'));
    tail.is_some_and(|tail| tail == "n" || (tail.len() >= 2 && tail.bytes().all(|c| c.is_ascii_digit())))
}

/// That the type is one that can be cut, which only types tell.
pub(crate) fn checks<'a>(fields: impl Iterator<Item = &'a Field>) -> TokenStream {
    let chunked = fields.filter(|field| field.chunked.is_some() && field.kind == Kind::Plain);
    let checks = chunked.map(|field| {
        let (name, ty) = (&field.name, &field.ty);
        quote_spanned!(ty.span()=> const _: () = _tm::check_chunked(#name, <#ty as _tm::Property>::CODEC);)
    });
    checks.collect()
}
