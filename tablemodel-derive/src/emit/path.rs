//! The typed paths of an entity: a marker per path, what each path takes where, and the struct that carries a query.
//! The methods of that struct are in `method`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use super::method::{key_type, methods_of};
use crate::{
    meant::{
        entity::Entity,
        path::{Component, Path, Range},
    },
    rooms::index::Cover,
};

/// `EmployeePath`
pub(crate) fn path_type(entity: &Entity) -> Ident {
    format_ident!("{}Path", entity.name())
}

/// The type that stands for the path which begins with `start`, as visible as the entity.
pub(crate) fn marker(start: &Ident) -> Ident {
    format_ident!("__at_{}", start.unraw())
}

/// Everything about paths.
pub(crate) fn paths(entity: &Entity, paths: &[Path]) -> TokenStream {
    let markers = paths.iter().map(|path| marker(&path.start));
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

/// A marker's constants, and what may follow what.
fn kind(entity: &Entity, path: &Path) -> TokenStream {
    let (ident, marker) = (&entity.ident, marker(&path.start));
    let index = match path.index {
        None => quote!(_tm::None),
        Some(index) => quote!(_tm::Some(#index)),
    };
    if path.is_list {
        return list(entity, path);
    }
    let found = match path.index.and_then(|index| entity.indexes.get(index)).map(|index| &index.cover) {
        Some(Cover::Whole) => quote!(Seen),
        Some(Cover::Keep(_) | Cover::KeysOnly | Cover::List) | None => quote!(Stored),
    };
    let components = path.components.iter().map(component);
    let (states, steps, carries) = (states(path), steps(path), carries(entity, path));
    quote! {
        impl _tm::PathKind for #marker {
            type Entity = #ident;
            type Found = _tm::#found<#ident>;
            const INDEX: _tm::Option<usize> = #index;
            const COMPONENTS: &'static [_tm::Component] = &[#(#components),*];
        }
        #states #steps #carries
    }
}

/// A marker of a list.
fn list(entity: &Entity, path: &Path) -> TokenStream {
    let (ident, marker, index, length) = (&entity.ident, marker(&path.start), path.index, path.components.len());
    let components = path.components.iter().map(component);
    let steps = steps(path);
    quote! {
        impl _tm::ListKind for #marker {
            type Entity = #ident;
            const INDEX: usize = #index;
            const COMPONENTS: &'static [_tm::Component] = &[#(#components),*];
        }
        impl _tm::ListedAt<#length> for #marker {}
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

/// Which terminals can be called where.
fn states(path: &Path) -> TokenStream {
    let marker = marker(&path.start);
    let length = path.components.len();
    let ranged = path.partition_length()..=length;
    let complete = path.is_complete.then(|| quote!(impl _tm::CompleteAt<#length> for #marker {}));
    let last = path.components.last().filter(|last| path.is_complete && last.in_row && last.codec.is_recoverable());
    let lacks_last = last.map(|last| {
        let (key, before) = (key_type(&last.field), length.saturating_sub(1));
        quote!(impl _tm::LacksLastAt<#before> for #marker { type Last = #key; })
    });
    quote! {
        #(impl _tm::RangedAt<#ranged> for #marker {})*
        impl _tm::RangedAt<{ _tm::END }> for #marker {}
        #complete #lacks_last
    }
}

/// What may come next.
fn steps(path: &Path) -> TokenStream {
    let marker = marker(&path.start);
    let steps = path.components.iter().enumerate().map(|(place, component)| {
        let (method, next) = (component.method(), place + 1);
        let from = quote!(_tm::At<#marker, #place>);
        let end = quote!(_tm::At<#marker, { _tm::END }>);
        let between = component.between().map(|method| {
            let (key, span) = (key_type(&component.field), component.field.ty.span());
            let bound = (component.range == Range::OfFixedWidth).then(|| quote_spanned!(span=> : _tm::RangeArg<#key>));
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
    let marker = marker(&path.start);
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
    quote!(#(impl _tm::Carries<{ _tm::name_hash(#names) }> for #marker {})*)
}
