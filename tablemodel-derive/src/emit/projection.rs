//! `#[derive(Projection)]`: stored names come from the entity's handles, so that rustc finds a field that is not there.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use super::{fields, handles::handle_type, head, hidden};
use crate::{
    errors::Errors,
    meant::{
        field::{Field, Kind},
        projection::Projection,
    },
    written::Input,
};

/// `#[derive(Projection)]`
pub(crate) fn derive(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = Input::read(tokens, &mut errors) else { return errors.into_tokens() };
    let projection = Projection::resolve(&input, &mut errors);
    let items = match &projection.of {
        Some(of) if errors.is_empty() => [implementation(&projection, of), selection(&projection, of)],
        Some(of) => [fallback(&projection, of), TokenStream::new()],
        None => Default::default(),
    };
    let items = hidden(&projection.runtime, &items.into_iter().collect());
    let errors = errors.into_tokens();
    quote!(#errors #items)
}

fn implementation(projection: &Projection<'_>, of: &TokenStream) -> TokenStream {
    let Projection { ident, fields, .. } = projection;
    let names = fields.iter().flat_map(|field| properties(of, field));
    let lines = fields.iter().map(|field| fields::read_line(field, &stored(of, field)));
    let read = fields::read_function(lines);
    let checks = fields.iter().map(|field| {
        let (handle, ty) = (handle(of, field), handle_type(field));
        match field.kind {
            Kind::Blob(_) => quote_spanned!(field.ty.span()=> const _: () = _tm::check_blob_field::<_, #ty>(&#handle);),
            _ => quote_spanned!(field.ty.span()=> const _: () = _tm::check_field::<_, #ty, _>(&#handle);),
        }
    });
    let defaults = fields::default_checks(fields.iter().map(|field| &**field));
    quote! {
        #[automatically_derived]
        impl _tm::Projection for #ident {
            type Of = #of;
            const PROPERTIES: &'static [&'static str] = &[#(#names),*];
            #read
        }
        #(#checks)* #defaults
    }
}

/// `Employee::FIRST_NAME`
fn handle(of: &TokenStream, field: &Field) -> TokenStream {
    let handle = field.handle();
    quote_spanned!(handle.span()=> <#of>::#handle)
}

fn property(of: &TokenStream, field: &Field) -> TokenStream {
    let handle = handle(of, field);
    quote_spanned!(field.ident.span()=> #handle.property())
}

/// What the field is read by: its stored name, or the three of a blob.
fn stored(of: &TokenStream, field: &Field) -> TokenStream {
    let handle = handle(of, field);
    match field.kind {
        Kind::Blob(_) => quote_spanned!(field.ident.span()=> #handle.names()),
        _ => property(of, field),
    }
}

/// Every stored name.
fn properties(of: &TokenStream, field: &Field) -> Vec<TokenStream> {
    match field.kind {
        Kind::Blob(_) => {
            let names = stored(of, field);
            (0..3_usize).map(|place| quote!(#names[#place])).collect()
        }
        _ => vec![property(of, field)],
    }
}

/// One trait per field, so that the message names the field which a path does not carry.
fn selection(projection: &Projection<'_>, of: &TokenStream) -> TokenStream {
    let Projection { ident, fields, .. } = projection;
    let names: Vec<&Ident> = fields.iter().map(|field| &field.ident).collect();
    let traits = fields.iter().map(|field| guard(projection, field));
    let properties = fields.iter().map(|field| property(of, field));
    quote! {
        mod __carries { #(#traits)* }
        #(
            #[diagnostic::do_not_recommend]
            impl<__K: _tm::Carries<{ _tm::name_hash(#properties) }>> __carries::#names for __K {}
        )*
        #[automatically_derived]
        impl<__K: #(__carries::#names +)*> _tm::SelectFrom<__K> for #ident {}
    }
}

fn guard(projection: &Projection<'_>, field: &Field) -> TokenStream {
    let (name, field) = (projection.ident.unraw(), &field.ident);
    let message = format!("`{name}` needs `{field}`, which the rows of this path do not carry");
    let note = format!("add `{}` to the index's `keep(..)`, or select from another path", field.unraw());
    quote! {
        #[diagnostic::on_unimplemented(message = #message, label = "not covered by this path", note = #note)]
        pub(super) trait #field {}
    }
}

fn fallback(projection: &Projection<'_>, of: &TokenStream) -> TokenStream {
    let Projection { ident, generics, .. } = projection;
    let head = head::of_trait(&quote!(_tm::Projection), ident, generics);
    let select = head::of_any(&quote!(_tm::SelectFrom), ident, generics);
    let [_, read] = fields::unreachable([].into_iter());
    quote! {
        #[automatically_derived]
        #head {
            type Of = #of;
            const PROPERTIES: &'static [&'static str] = &[];
            #read
        }
        #select {}
    }
}
