//! The typed paths of an entity: a marker per path, what each path takes where, and the struct that carries a query.
//! The methods of that struct are in `method`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use super::{
    head::names,
    method::{key_type, methods_of},
};
use crate::{
    meant::{
        entity::Entity,
        path::{Component, Path, Range},
    },
    rooms::index::Cover,
};

/// `EmployeePath`; a longer name where a field has a type of that name, which it would hide.
pub(crate) fn path_type(entity: &Entity) -> Ident {
    let named = format_ident!("{}Path", entity.name());
    let is_taken = entity.fields.iter().any(|field| names(field.ty.to_token_stream(), &|name| *name == named));
    if is_taken { format_ident!("__{named}") } else { named }
}

/// The type that stands for a path, as visible as the entity. Its name says what is to be given, in order: rustc tells it where something
/// of that is missing. Names that hold what stands between them could make that of another path: there its place is told too.
pub(crate) fn marker(path: &Path) -> Ident {
    let components = || path.components.iter().map(|component| component.method().unraw().to_string());
    let marker = marker_of(&path.start, components());
    let is_joined = |name: String| name.contains("__") || name.starts_with('_') || name.ends_with('_');
    match components().chain([path.start.unraw().to_string()]).any(is_joined) {
        true => format_ident!("{marker}__{}", path.index.map_or(0, |index| index + 1)),
        false => marker,
    }
}

/// The same, of the path that begins with `start` and asks for these.
pub(crate) fn marker_of(start: &Ident, components: impl Iterator<Item = String>) -> Ident {
    let named = components.fold(start.unraw().to_string(), |named, component| named + "__" + &component);
    format_ident!("__at_{named}")
}

/// Everything about paths.
pub(crate) fn paths(entity: &Entity, paths: &[Path]) -> TokenStream {
    let markers = paths.iter().map(marker);
    let methods = methods_of(entity, paths);
    let guards = methods.iter().map(|method| method.guard(entity, paths));
    let kinds = paths.iter().map(|path| kind(entity, path));
    let (vis, path) = (&entity.vis, path_type(entity));
    let structure = structure(entity, &path);
    let lists = list_path(entity, &path);
    let methods = methods.iter().map(|method| method.tokens(entity, &path));
    quote! {
        #(#vis enum #markers {})*
        mod __next { #(#guards)* }
        #(#kinds)*
        #structure
        #lists
        impl<__S> #path<__S> { #(#methods)* }
    }
}

fn structure(entity: &Entity, path: &Ident) -> TokenStream {
    let vis = &entity.vis;
    let doc = format!("A query on `{}`, in the state `__S`.", entity.name());
    quote! {
        #[doc = #doc]
        #[must_use = "a query does nothing until one of its terminals is called"]
        #vis struct #path<__S>(_tm::PathQuery, _tm::PhantomData<fn() -> __S>);
        #[automatically_derived]
        impl<__S: _tm::PathState> _tm::Path for #path<__S> {
            type State = __S;
            type Found = <__S::Kind as _tm::PathKind>::Found;
            fn into_query(self) -> _tm::PathQuery { self.0 }
            fn query(&self) -> &_tm::PathQuery { &self.0 }
        }
    }
}

/// Where the path stands once so many components are given: `_tm::Row1`.
pub(crate) fn place(path: &Path, given: usize) -> TokenStream {
    if path.is_complete && given == path.components.len() {
        return quote!(_tm::FullKey);
    }
    let (kind, nth, last) = match given.checked_sub(path.partition_length()) {
        None => ("Partition", given, 3),
        Some(of_row) => ("Row", of_row, 5),
    };
    let known = format_ident!("{kind}{}", nth.min(last));
    (last..nth).fold(quote!(_tm::#known), |place, _| quote!(_tm::More<#place>))
}

/// A marker's constants, and what may follow what.
fn kind(entity: &Entity, path: &Path) -> TokenStream {
    if path.is_list {
        return list(entity, path);
    }
    let (ident, marker) = (&entity.ident, marker(path));
    let found = match path.index.and_then(|index| entity.indexes.get(index)).map(|index| &index.cover) {
        Some(Cover::Whole) => quote!(Seen),
        Some(Cover::Keep(_) | Cover::KeysOnly | Cover::List) | None => quote!(Stored),
    };
    let (way, lacks_last, steps, carries) = (way(path), lacks_last(path), steps(path), carries(entity, path));
    let primary =
        path.index.is_none().then(|| quote!(#[diagnostic::do_not_recommend] impl _tm::PrimaryKind for #marker {}));
    quote! {
        impl _tm::PathKind for #marker {
            type Entity = #ident;
            type Found = _tm::#found<#ident>;
            #way
        }
        #primary #lacks_last #steps #carries
    }
}

/// `const WAY: ..`
fn way(path: &Path) -> TokenStream {
    let components = path.components.iter().map(component);
    let index = match path.index {
        None => quote!(_tm::None),
        Some(index) => quote!(_tm::Some(#index)),
    };
    quote!(const WAY: _tm::Way = _tm::Way { index: #index, components: &[#(#components),*] };)
}

/// A marker of a list.
fn list(entity: &Entity, path: &Path) -> TokenStream {
    let (ident, marker, way, steps) = (&entity.ident, marker(path), way(path), steps(path));
    quote! {
        impl _tm::ListKind for #marker {
            type Entity = #ident;
            #way
        }
        #steps
    }
}

/// Terminals of lists, for an entity that has some.
pub(super) fn list_path(entity: &Entity, path: &Ident) -> Option<TokenStream> {
    entity.indexes.iter().any(|index| index.is_list).then(|| {
        quote! {
            #[automatically_derived]
            impl<__S: _tm::ListState> _tm::ListPath for #path<__S> {
                type State = __S;
                fn into_query(self) -> _tm::PathQuery { self.0 }
                fn query(&self) -> &_tm::PathQuery { &self.0 }
            }
        }
    })
}

fn component(component: &Component) -> TokenStream {
    let property = &component.field.property;
    let bucket = match component.codec.is_bucket() {
        true => component.codec.tokens(),
        false => quote!(_tm::Codec::Plain),
    };
    quote!(_tm::Component { property: #property, bucket: #bucket })
}

/// Where many can be asked for at once.
fn lacks_last(path: &Path) -> Option<TokenStream> {
    let last = path.components.last()?;
    (path.is_complete && last.in_row && last.codec.is_recoverable()).then(|| {
        let (marker, key) = (marker(path), key_type(&last.field));
        let before = place(path, path.components.len().saturating_sub(1));
        quote! {
            impl<__A: _tm::KeyArg<#key>> _tm::LacksLastAt<#before, __A> for #marker {
                const COMPLETE: fn(_tm::PathQuery, __A) -> _tm::PathQuery = _tm::PathQuery::given::<#key>;
            }
        }
    })
}

/// What may come next.
fn steps(path: &Path) -> TokenStream {
    let marker = marker(path);
    let steps = path.components.iter().enumerate().map(|(given, component)| {
        let (method, from, next) = (component.method(), place(path, given), place(path, given + 1));
        let from = quote!(_tm::At<#marker, #from>);
        let end = quote!(_tm::At<#marker, _tm::Ended>);
        let between = component.between().map(|method| {
            let (key, span) = (key_type(&component.field), component.field.ty.span());
            let bound = match component.range {
                Range::Never | Range::Always => None,
                Range::OfOrder => Some(quote_spanned!(span=> : _tm::OrderedArg<#key>)),
                Range::OfFixedWidth => Some(quote_spanned!(span=> : _tm::RangeArg<#key>)),
            };
            quote_spanned!(span=> impl<__A #bound> __next::#method<#end, __A> for #from {})
        });
        let starts_with = component.starts_with().map(|method| quote!(impl __next::#method<#end> for #from {}));
        quote! {
            impl __next::#method<_tm::At<#marker, #next>> for #from {}
            #between #starts_with
        }
    });
    steps.collect()
}

/// Which properties the rows of the path carry.
fn carries(entity: &Entity, path: &Path) -> TokenStream {
    let marker = marker(path);
    let Some(index) = path.index.and_then(|index| entity.indexes.get(index)) else {
        return quote!(impl<const __H: u64> _tm::Carries<__H> for #marker {});
    };
    let kept = match &index.cover {
        Cover::Whole => return quote!(impl<const __H: u64> _tm::Carries<__H> for #marker {}),
        Cover::Keep(kept) => kept.as_slice(),
        Cover::KeysOnly | Cover::List => &[],
    };
    let fields = entity.fields.iter().filter(|field| {
        let is_kept = kept.iter().any(|kept| kept.name == field.name);
        is_kept || entity.in_key(field) || index.gives_back(field)
    });
    let names = fields.map(|field| &field.property);
    let hashes = names.map(|name| name_hash(name));
    quote!(#(impl _tm::Carries<#hashes> for #marker {})*)
}

/// FNV-1a of a property's name, as the runtime's `name_hash` has it: a number here is no constant for rustc to evaluate.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    #[test]
    fn a_name_has_the_hash_that_the_runtime_gives_it() {
        // The runtime's test has the same numbers.
        assert_eq!(name_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(name_hash("FirstName"), 0xf118_4301_4b9b_683a);
    }
}
