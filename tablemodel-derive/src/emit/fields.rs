//! Between the struct and its properties: one line per field.

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use crate::{
    meant::field::{Field, Kind},
    rooms::blob,
    written::DefaultWord,
};

/// `fn write_fields`
pub(crate) fn write(fields: &[Rc<Field>]) -> TokenStream {
    let lines = by_property(fields).filter_map(write_line);
    quote! {
        fn write_fields(&self, __to: &mut _tm::FieldWriter) -> _tm::Result<(), _tm::FieldError> {
            #(#lines)*
            __to.written()
        }
    }
}

/// A parameter of a generated function, named where errors of a field's type stand: a type that a macro was given, and puts where the
/// derive stands, does not see it.
pub(crate) fn local(name: &str, ty: &Type) -> Ident {
    Ident::new(name, ty.span().resolved_at(Span::call_site()))
}

fn write_line(field: &Field) -> Option<TokenStream> {
    let Field { ident, property, ty, .. } = field;
    let (this, to) = (local("self", ty), local("__to", ty));
    Some(match field.kind {
        Kind::Plain => {
            quote_spanned!(ty.span()=> <#ty as _tm::Property>::add_to(&#this.#ident, #to, #property);)
        }
        Kind::Json => quote_spanned!(ty.span()=> #to.add_json::<#ty>(#property, &#this.#ident);),
        Kind::Blob(inline_below) => blob::write_line(field, inline_below),
        Kind::Group => quote_spanned!(ty.span()=> <#ty as _tm::PropertyGroup>::write_fields(&#this.#ident, #to)?;),
        Kind::Array => {
            let array = super::array::implementation(field);
            quote!(#array::write_slots(&self.#ident, __to)?;)
        }
        Kind::Skipped | Kind::Copy => return None,
    })
}

/// `fn read_fields`
pub(crate) fn read(fields: &[Rc<Field>]) -> TokenStream {
    read_function(by_property(fields).map(|field| read_line(field, &field.property_tokens())))
}

/// The fields in the order in which rows hold their properties, so that neither side has to search; copies, which may be missing, last:
/// where one is, all else was read.
fn by_property(fields: &[Rc<Field>]) -> impl Iterator<Item = &Field> {
    let mut fields: Vec<_> = fields.iter().map(|field| &**field).collect();
    fields.sort_by_key(|field| (field.kind == Kind::Copy, &field.property));
    fields.into_iter()
}

/// `fn read_fields` of the given `field: value` lines.
pub(crate) fn read_function(lines: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote! {
        fn read_fields(__from: &_tm::FieldReader<'_>) -> _tm::Result<Self, _tm::FieldError> {
            _tm::Ok(Self { #(#lines),* })
        }
    }
}

/// `fn read_copies`, where there are copies.
pub(crate) fn read_copies(fields: &[Rc<Field>]) -> Option<TokenStream> {
    let lines = fields.iter().filter(|field| field.kind == Kind::Copy).map(|field| {
        let (ident, value) = (&field.ident, copied(field));
        quote!(self.#ident = #value;)
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| {
        quote! {
            fn read_copies(&mut self, __from: &_tm::FieldReader<'_>) -> _tm::Result<(), _tm::FieldError> {
                #(#lines)*
                _tm::Ok(())
            }
        }
    })
}

/// `__from.take_copy::<Employee, Card>("Manager")?`
fn copied(field: &Field) -> TokenStream {
    let (of, property, ty) = (field.copy.as_ref().map(|copy| &copy.of), &field.property, &field.ty);
    let from = local("__from", ty);
    quote_spanned!(ty.span()=> #from.take_copy::<#of, #ty>(#property)?)
}

/// Bodies that stand for those of a struct with errors. They ask of the types of `fields` what the real ones do.
pub(crate) fn unreachable<'a>(fields: impl Iterator<Item = &'a Field> + Clone) -> [TokenStream; 2] {
    let lines = fields.clone().filter_map(write_line);
    let write = quote! {
        fn write_fields(&self, __to: &mut _tm::FieldWriter) -> _tm::Result<(), _tm::FieldError> {
            #(#lines)*
            loop {}
        }
    };
    let lines = fields.filter(|field| field.kind != Kind::Copy).map(|field| {
        let (ty, value) = (&field.ty, read_value(field, &field.property_tokens()));
        quote!(let _: #ty = #value;)
    });
    let read = quote! {
        fn read_fields(__from: &_tm::FieldReader<'_>) -> _tm::Result<Self, _tm::FieldError> {
            #(#lines)*
            loop {}
        }
    };
    [write, read]
}

/// `field: __from.take("Property")?`; `property` is the names of a blob.
pub(crate) fn read_line(field: &Field, property: &TokenStream) -> TokenStream {
    let (ident, value) = (&field.ident, read_value(field, property));
    quote!(#ident: #value)
}

fn read_value(field: &Field, property: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    let default = field.default.as_ref().map(|word| default(word, ty));
    let from = local("__from", ty);
    let read = quote_spanned!(ty.span()=> <#ty as _tm::Property>::from_value);
    match (field.kind, default) {
        (Kind::Plain, None) => quote!(__from.take(#property, #read)?),
        (Kind::Plain, Some(default)) => quote!(__from.take_or(#property, #read, #default)?),
        (Kind::Json, None) => quote_spanned!(ty.span()=> #from.take_json::<#ty>(#property)?),
        (Kind::Json, Some(default)) => quote_spanned!(ty.span()=> #from.take_json_or::<#ty>(#property, #default)?),
        (Kind::Blob(_), _) => blob::read_value(field, property),
        (Kind::Group, _) => quote_spanned!(ty.span()=> <#ty as _tm::PropertyGroup>::read_fields(#from)?),
        (Kind::Array, _) => {
            let array = super::array::implementation(field);
            quote!(#array::read_slots(__from)?)
        }
        (Kind::Skipped, None) => quote_spanned!(ty.span()=> <#ty as _tm::Default>::default()),
        (Kind::Skipped, Some(default)) => quote!((#default)()),
        (Kind::Copy, _) => copied(field),
    }
}

impl Field {
    fn property_tokens(&self) -> TokenStream {
        match self.kind {
            Kind::Blob(_) => blob::names(self),
            _ => self.property.to_token_stream(),
        }
    }
}

/// Constants that do not compile where a default would stand for a `None` that was stored.
pub(crate) fn default_checks<'a>(fields: impl Iterator<Item = &'a Field>) -> TokenStream {
    let may_stand_for_none = |field: &&Field| match field.default {
        None => false,
        Some(DefaultWord::Own) => !field.is_option(), // that of an `Option` is `None`
        Some(_) => true,
    };
    let checks = fields.filter(|field| field.kind == Kind::Plain).filter(may_stand_for_none).map(|field| {
        let (name, ty) = (&field.name, &field.ty);
        quote_spanned!(ty.span()=> const _: () = _tm::check_default(#name, <#ty as _tm::Property>::NULLABLE);)
    });
    checks.collect()
}

/// A function that gives the default.
pub(crate) fn default(word: &DefaultWord, ty: &Type) -> TokenStream {
    match word {
        DefaultWord::Own => quote_spanned!(ty.span()=> <#ty as _tm::Default>::default),
        DefaultWord::Function(path) => path.clone(),
        DefaultWord::Expression(value) => quote!(|| #value),
    }
}
