//! The generated code: constants, one-line bodies, and the types of the paths.
//! No rule is checked here; whatever has a branch is a function of the runtime.

pub(crate) mod array;
pub(crate) mod checks;
pub(crate) mod entity;
pub(crate) mod fallback;
pub(crate) mod fields;
pub(crate) mod handles;
pub(crate) mod head;
pub(crate) mod keys;
pub(crate) mod method;
pub(crate) mod model;
pub(crate) mod path;
pub(crate) mod projection;
pub(crate) mod schema;
pub(crate) mod value;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// Hides `items` from the user's names and lints, and brings the runtime in as `_tm`.
pub(crate) fn hidden(runtime: &TokenStream, items: &TokenStream) -> TokenStream {
    quote! {
        #[allow(
            deprecated, missing_copy_implementations, missing_debug_implementations, missing_docs, nonstandard_style,
            private_bounds, private_interfaces, unnameable_types, unused, unused_qualifications, long_running_const_eval, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction
        )]
        const _: () = {
            use #runtime::__private as _tm;
            #items
        };
    }
}

/// For items whose parameters have these names. One that is called like a constant, or a unit or tuple struct, in scope would be a pattern
/// that asks for it; an imported function hides those, and is no pattern. Expressions of the user belong elsewhere: it hides them there too.
pub(crate) fn parameters(names: impl IntoIterator<Item = Ident>) -> TokenStream {
    let names = names.into_iter();
    quote!(#(use _tm::parameter as #names;)*)
}
