//! The generated code: constants, one-line bodies, and the types of the paths.
//! No rule is checked here; whatever has a branch is a function of the runtime.

pub(crate) mod array;
pub(crate) mod checks;
pub(crate) mod entity;
pub(crate) mod fallback;
pub(crate) mod fields;
pub(crate) mod handles;
pub(crate) mod method;
pub(crate) mod model;
pub(crate) mod path;
pub(crate) mod projection;
pub(crate) mod schema;
pub(crate) mod value;

use proc_macro2::TokenStream;
use quote::quote;

/// Hides `items` from the user's names and lints, and brings the runtime in as `_tm`.
pub(crate) fn hidden(runtime: &TokenStream, items: &TokenStream) -> TokenStream {
    quote! {
        #[allow(deprecated, missing_docs, nonstandard_style, private_bounds, private_interfaces, unused)]
        #[allow(long_running_const_eval, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        const _: () = {
            use #runtime::__private as _tm;
            #items
        };
    }
}
