//! Heads of the impls that a type with errors keeps. Being generic is an error too, so they bring its parameters along.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Generics, parse_quote};

/// `impl<T> Trait for Employee<T> where ..`
pub(crate) fn of_trait(implemented: &TokenStream, ident: &Ident, generics: &Generics) -> TokenStream {
    let (parameters, arguments, bounds) = generics.split_for_impl();
    quote!(impl #parameters #implemented for #ident #arguments #bounds)
}

/// `impl<T, __A> Trait<__A> for Employee<T> where ..`, of a trait that has the parameter `__A`.
pub(crate) fn of_any(implemented: &TokenStream, ident: &Ident, generics: &Generics) -> TokenStream {
    let (_, arguments, bounds) = generics.split_for_impl();
    let mut all = generics.clone();
    all.params.push(parse_quote!(__A));
    let (parameters, ..) = all.split_for_impl();
    quote!(impl #parameters #implemented<__A> for #ident #arguments #bounds)
}

/// `impl<T> Employee<T> where ..`
pub(crate) fn own(ident: &Ident, generics: &Generics) -> TokenStream {
    let (parameters, arguments, bounds) = generics.split_for_impl();
    quote!(impl #parameters #ident #arguments #bounds)
}
