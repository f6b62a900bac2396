//! Between the struct and its properties: one line per field.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    meant::field::{Field, Kind},
    written::DefaultWord,
};

/// `fn write_fields`
pub(crate) fn write(fields: &[Rc<Field>]) -> TokenStream {
    let lines = fields.iter().filter_map(|field| write_line(field));
    quote! {
        fn write_fields(&self, to: &mut _tm::FieldWriter) -> _tm::Result<(), _tm::FieldError> {
            #(#lines)*
            _tm::Ok(())
        }
    }
}

fn write_line(field: &Field) -> Option<TokenStream> {
    let Field { ident, property, ty, .. } = field;
    Some(match field.kind {
        Kind::Plain => quote_spanned!(ty.span()=> to.put(#property, &self.#ident)?;),
        Kind::Json => quote_spanned!(ty.span()=> to.put_json(#property, &self.#ident)?;),
        Kind::Group => quote_spanned!(ty.span()=> to.put_group(&self.#ident)?;),
        Kind::Skipped => return None,
    })
}

/// `fn read_fields`
pub(crate) fn read(fields: &[Rc<Field>]) -> TokenStream {
    let lines = fields.iter().map(|field| read_line(field, &field.property_tokens()));
    read_function(lines)
}

/// `fn read_fields` of the given `field: value` lines.
pub(crate) fn read_function(lines: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote! {
        fn read_fields(from: &_tm::FieldReader<'_>) -> _tm::Result<Self, _tm::FieldError> {
            _tm::Ok(Self { #(#lines),* })
        }
    }
}

/// Bodies that stand for those of a struct with errors.
pub(crate) fn unreachable() -> [TokenStream; 2] {
    let write = quote!(
        fn write_fields(&self, _: &mut _tm::FieldWriter) -> _tm::Result<(), _tm::FieldError> {
            loop {}
        }
    );
    let read = quote!(
        fn read_fields(_: &_tm::FieldReader<'_>) -> _tm::Result<Self, _tm::FieldError> {
            loop {}
        }
    );
    [write, read]
}

/// `field: from.take("Property")?`
pub(crate) fn read_line(field: &Field, property: &TokenStream) -> TokenStream {
    let Field { ident, ty, .. } = field;
    let default = field.default.as_ref().map(default);
    let value = match (field.kind, default) {
        (Kind::Plain, None) => quote_spanned!(ty.span()=> from.take(#property)?),
        (Kind::Plain, Some(default)) => quote_spanned!(ty.span()=> from.take_or(#property, #default)?),
        (Kind::Json, None) => quote_spanned!(ty.span()=> from.take_json(#property)?),
        (Kind::Json, Some(default)) => quote_spanned!(ty.span()=> from.take_json_or(#property, #default)?),
        (Kind::Group, _) => quote_spanned!(ty.span()=> from.take_group()?),
        (Kind::Skipped, None) => quote_spanned!(ty.span()=> _tm::Default::default()),
        (Kind::Skipped, Some(default)) => quote!((#default)()),
    };
    quote!(#ident: #value)
}

impl Field {
    fn property_tokens(&self) -> TokenStream {
        let property = &self.property;
        quote!(#property)
    }
}

/// A function that gives the default.
fn default(word: &DefaultWord) -> TokenStream {
    match word {
        DefaultWord::Own => quote!(_tm::Default::default),
        DefaultWord::Function(path) => path.clone(),
        DefaultWord::Expression(value) => quote!(|| #value),
    }
}
