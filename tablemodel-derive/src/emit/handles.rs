//! The entity's own items: a typed handle per property, and the functions that begin a path.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use super::{
    method::key_type,
    path::{marker, path_type, place},
};
use crate::{
    meant::{
        entity::Entity,
        field::{Field, Kind},
        path::{Component, Path},
    },
    rooms::{blob, sharded},
};

/// `impl Employee { .. }`
pub(crate) fn handles(entity: &Entity, paths: &[Path]) -> TokenStream {
    let ident = &entity.ident;
    let constants = constants(entity, |_| true);
    let starts = paths.iter().map(|path| start(entity, path));
    let in_partition = paths.first().map(|primary| in_partition(entity, primary));
    let allow_scan = entity.allow_scan.then(|| quote!(impl<__A> _tm::AllowScan<__A> for #ident {}));
    quote! {
        impl #ident { #constants #(#starts)* #in_partition }
        #allow_scan
    }
}

/// `pub const AGE: _tm::Field<Self, u8> = _tm::Field::named("Age");`
pub(crate) fn constants(entity: &Entity, is_wanted: impl Fn(&Field) -> bool) -> TokenStream {
    let mut handles: Vec<Ident> = Vec::new();
    let mut is_first = |field: &&Rc<Field>| {
        let handle = field.handle();
        let is_new = field.has_handle() && is_wanted(field) && !handles.contains(&handle);
        handles.push(handle);
        is_new
    };
    let fields = entity.fields.iter().filter(|field| is_first(field)).map(|field| constant(entity, field));
    fields.chain(sharded::constants(entity)).collect()
}

fn constant(entity: &Entity, field: &Field) -> TokenStream {
    let Field { vis, property, name, .. } = field;
    let handle = field.handle();
    let doc = format!("The handle of `{name}`.");
    let handle_type = handle_type(field);
    let maintained = match field.is_aggregate {
        true => Some(quote!(, _tm::Aggregated)),
        false => entity.maintains(field).then(|| quote!(, _tm::Maintained)),
    };
    if field.kind == Kind::Array {
        let (names, element) = (super::array::names(field), super::array::element(&field.ty));
        return quote_spanned! {field.ty.span()=>
            #[doc = #doc]
            #vis const #handle: _tm::FieldArray<Self, #element #maintained> = _tm::FieldArray::named(#names);
        };
    }
    let [ty, value] = match field.kind {
        Kind::Blob(_) => blob::handle(field),
        _ => [quote!(_tm::Field<Self, #handle_type #maintained>), quote!(_tm::Field::named(#property))],
    };
    quote_spanned! {field.ty.span()=>
        #[doc = #doc]
        #vis const #handle: #ty = #value;
    }
}

/// What the handle's setters take.
pub(crate) fn handle_type(field: &Field) -> TokenStream {
    let ty = &field.ty;
    match field.kind {
        Kind::Json => quote!(_tm::AsJson<#ty>),
        Kind::Plain | Kind::Blob(_) | Kind::Group | Kind::Array | Kind::Skipped | Kind::Copy => quote!(#ty),
    }
}

fn start(entity: &Entity, path: &Path) -> TokenStream {
    let (vis, start, marker, ty) = (&entity.vis, &path.start, marker(path), path_type(entity));
    let doc = match path.index {
        None => format!("The path of the primary key: `{}`.", path.told()),
        Some(_) if path.is_list => format!("The path of the list: `{}`.", path.told()),
        Some(_) => format!("The path of the index: `{}`.", path.told()),
    };
    let new = if path.is_list { quote!(list) } else { quote!(new) };
    let place = place(path, 0);
    quote! {
        #[doc = #doc]
        #vis fn #start() -> #ty<_tm::At<#marker, #place>> {
            #ty(_tm::PathQuery::#new::<#marker>(), _tm::PhantomData)
        }
    }
}

/// The partition as a value, and scans of it; no value names the partitions of a shard.
fn in_partition(entity: &Entity, primary: &Path) -> TokenStream {
    if entity.partition.shard().is_some() {
        return TokenStream::new();
    }
    let (vis, ident, marker) = (&entity.vis, &entity.ident, marker(primary));
    let given: Vec<&Component> = primary.components.iter().filter(|component| !component.in_row).collect();
    let names: Vec<Ident> = given.iter().map(|component| component.method()).collect();
    let keys: Vec<TokenStream> = given.iter().map(|component| key_type(&component.field)).collect();
    let query = quote!(_tm::PathQuery::new::<#marker>() #(.given(#names))*);
    let scan = scan_partition(entity, &names, &keys, &query);
    quote! {
        /// One partition, as a value: what a batch and a mixed read stay in.
        #vis fn in_partition(#(#names: impl _tm::KeyArg<#keys>),*) -> _tm::PartitionOf<#ident> {
            _tm::PartitionOf::new(#query)
        }
        #scan
    }
}

/// Bounded by `AllowScan`, so that a call says what is missing; a constant partition has nothing to bound.
fn scan_partition(entity: &Entity, names: &[Ident], keys: &[TokenStream], query: &TokenStream) -> Option<TokenStream> {
    let (vis, ident) = (&entity.vis, &entity.ident);
    let types: Vec<Ident> = (0..names.len()).map(|place| format_ident!("__A{place}")).collect();
    let first = types.first();
    if first.is_none() && !entity.allow_scan {
        return None;
    }
    let bound = first.map(|first| quote!(where Self: _tm::AllowScan<#first>));
    Some(quote! {
        /// Reads every entity of one partition.
        #vis fn scan_partition<#(#types: _tm::KeyArg<#keys>),*>(#(#names: #types),*) -> _tm::Scan<#ident> #bound {
            _tm::Scan::partition(#query)
        }
    })
}
