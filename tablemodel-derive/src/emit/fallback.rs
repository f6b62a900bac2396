//! What an entity with errors leaves behind: the impls, handles and paths that other code mentions, so that one
//! mistake is one error. Nothing of it is ever run, since nothing is compiled to the end.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    array, fields,
    handles::constants,
    path::{list_path, marker, path_type},
};
use crate::meant::{
    entity::Entity,
    names::{FUNCTIONS, TERMINALS},
};

/// The fallback of an entity.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let mut starts: Vec<Ident> = Vec::new();
    for start in std::iter::once(&entity.find).chain(entity.indexes.iter().map(|index| &index.name)) {
        if !starts.contains(start) && !FUNCTIONS.iter().any(|function| start == function) {
            starts.push(start.clone());
        }
    }
    let items = [
        array::markers(&entity.fields),
        implementation(entity),
        kinds(entity, &starts),
        path(entity),
        handles(entity, &starts),
    ];
    super::hidden(&entity.runtime, &items.into_iter().collect())
}

/// A format without fields or keys, in a table of its own, so that no other entity seems to meet it; checks that ask about
/// several entities pass over it.
fn implementation(entity: &Entity) -> TokenStream {
    let (ident, entity_type, name, bodies) = (&entity.ident, &entity.entity_type, entity.name(), fields::unreachable());
    quote! {
        #[automatically_derived]
        impl _tm::TableEntity for #ident {
            const ENTITY_TYPE: &'static str = #entity_type;
            const SCHEMA: &'static _tm::EntitySchema = &_tm::EntitySchema {
                entity_type: #entity_type, discriminator: #name, table: #name, path: #name, .._tm::EntitySchema::MISTAKEN
            };
            #(#bodies)*
        }
        impl<__A> _tm::AllowScan<__A> for #ident {}
    }
}

/// Paths that have reached every terminal.
fn kinds(entity: &Entity, starts: &[Ident]) -> TokenStream {
    let (vis, ident) = (&entity.vis, &entity.ident);
    let all = starts.iter().map(marker);
    let is_list = |start: &&Ident| entity.indexes.iter().any(|index| index.is_list && index.name == **start);
    let lists: Vec<Ident> = starts.iter().filter(is_list).map(marker).collect();
    let markers: Vec<Ident> = starts.iter().filter(|start| !is_list(start)).map(marker).collect();
    let way = quote!(
        const WAY: _tm::Way = _tm::Way { index: _tm::None, components: &[] };
    );
    quote! {
        #(#vis enum #all {})*
        #(
            impl _tm::ListKind for #lists {
                type Entity = #ident;
                #way
            }
        )*
        #(
            impl _tm::PathKind for #markers {
                type Entity = #ident;
                type Found = _tm::Stored<#ident>;
                #way
            }
            impl<const __H: u64> _tm::Carries<__H> for #markers {}
        )*
    }
}

/// A path whose methods take anything.
fn path(entity: &Entity) -> TokenStream {
    let (vis, path) = (&entity.vis, path_type(entity));
    let mut methods: Vec<Ident> = Vec::new();
    for field in entity.fields.iter().filter(|field| field.is_property()) {
        let name = field.method.as_ref().unwrap_or(&field.ident);
        let suffixed =
            ["between", "starts_with", "hour", "day", "month"].map(|suffix| format_ident!("{name}_{suffix}"));
        for method in std::iter::once(name.clone()).chain(suffixed) {
            if !methods.contains(&method) && !TERMINALS.iter().any(|terminal| method == terminal) {
                methods.push(method);
            }
        }
    }
    let lists = list_path(entity, &path);
    quote! {
        #lists
        #vis struct #path<__S>(_tm::PathQuery, _tm::PhantomData<fn() -> __S>);
        impl<__S: _tm::PathState> _tm::Path for #path<__S> {
            type State = __S;
            type Found = <__S::Kind as _tm::PathKind>::Found;
            fn into_query(self) -> _tm::PathQuery { self.0 }
            fn query(&self) -> &_tm::PathQuery { &self.0 }
        }
        impl<__S> #path<__S> { #(#vis fn #methods<__V>(self, _: __V) -> Self { self })* }
    }
}

fn handles(entity: &Entity, starts: &[Ident]) -> TokenStream {
    let (vis, ident, path) = (&entity.vis, &entity.ident, path_type(entity));
    let markers = starts.iter().map(marker);
    let constants = constants(entity);
    quote! {
        impl #ident {
            #constants
            #(#vis fn #starts() -> #path<_tm::At<#markers, _tm::FullKey>> { loop {} })*
            #vis fn in_partition<__V>(_: __V) -> _tm::PartitionOf<#ident> { loop {} }
            #vis fn scan_partition<__V>(_: __V) -> _tm::Scan<#ident> { loop {} }
        }
    }
}
