//! Heads of the impls that a type with errors keeps. Being generic is an error too, so they bring its parameters along.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{Generics, parse_quote};

use crate::written::parameter_name;

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

/// Whether a type, as written, has one of the parameters in it.
pub(crate) fn mentions(ty: TokenStream, generics: &Generics) -> bool {
    names(ty, &|ident| generics.params.iter().any(|parameter| parameter_name(parameter) == ident))
}

/// Whether a name of the kind stands in a type, as it is written.
pub(crate) fn names(ty: TokenStream, is: &dyn Fn(&Ident) -> bool) -> bool {
    ty.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => is(&ident),
        TokenTree::Group(group) => names(group.stream(), is),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
