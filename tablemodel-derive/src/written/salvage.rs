//! What can be read of an item in which something cannot: while a user types it, and rustc has said so.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Field, Token, Variant,
    parse::{Parse, ParseStream, Parser, discouraged::Speculative},
};

/// The item with those of its fields or variants that can be read.
pub(super) fn salvaged(item: TokenStream) -> TokenStream {
    let is_enum = item.clone().into_iter().any(|tree| matches!(tree, TokenTree::Ident(word) if word == "enum"));
    let trees = item.into_iter().map(|tree| match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let inside = if is_enum {
                members(group.stream(), Variant::parse)
            } else {
                members(group.stream(), Field::parse_named)
            };
            let mut readable = Group::new(Delimiter::Brace, inside);
            readable.set_span(group.span());
            TokenTree::Group(readable)
        }
        other => other,
    });
    trees.collect()
}

/// Each from the first token on that begins one; what stands between is left out.
fn members<T: ToTokens>(inside: TokenStream, read: fn(ParseStream<'_>) -> syn::Result<T>) -> TokenStream {
    let all = |input: ParseStream<'_>| {
        let mut found = TokenStream::new();
        while !input.is_empty() {
            let ahead = input.fork();
            if let Ok(member) = read(&ahead) {
                input.advance_to(&ahead);
                input.parse::<Option<Token![,]>>()?;
                found.extend(quote!(#member,));
            } else {
                input.parse::<TokenTree>()?;
            }
        }
        Ok(found)
    };
    all.parse2(inside).unwrap_or_default()
}
