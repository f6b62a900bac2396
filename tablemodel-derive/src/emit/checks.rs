//! Constants that fail to compile, under the words of the user: what shows only once types are known.
//! The checks and what they say are the runtime's.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    meant::{
        entity::Entity,
        field::Kind,
        key::{Key, Segment},
    },
    rooms::chunked,
};

/// All checks of an entity.
pub(crate) fn checks(entity: &Entity) -> TokenStream {
    let ident = &entity.ident;
    let schema = quote!(<#ident as _tm::TableEntity>::SCHEMA);
    let partition = partition(entity, &schema);
    let row = parts(&entity.row, &quote!(&#schema.row), |_| quote!(Primary));
    let indexes = entity.indexes.iter().enumerate().map(|(place, index)| {
        let elsewhere = index.elsewhere.as_ref().map(|elsewhere| {
            self::parts(&elsewhere.partition, &quote!(_tm::index_partition(#schema, #place)), |_| quote!(Index))
        });
        let parts = parts(&index.row, &quote!(_tm::index_row(#schema, #place)), |_| quote!(Index));
        let overlap = quote_spanned!(index.row.span=> const _: () = _tm::check_index(#schema, #place););
        quote!(#elsewhere #parts #overlap)
    });
    let group = entity.fields.iter().find(|field| matches!(field.kind, Kind::Group | Kind::Array));
    let groups = group.map(|group| quote_spanned!(group.ident.span()=> const _: () = _tm::check_groups(#schema);));
    let aggregates = entity.aggregates.iter().enumerate().map(|(place, aggregate)| aggregate.checks(&schema, place));
    let held = entity.fields.iter().filter(|field| field.is_aggregate).map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> const _: () = _tm::check_held::<#ty>();)
    });
    let chunked = chunked::checks(entity);
    let copies = entity.copies.iter().enumerate().map(|(place, copy)| copy.checks(&schema, place));
    let lineage = entity.lineage.checks(&schema);
    quote!(#lineage #partition #row #(#indexes)* #groups #(#aggregates)* #(#held)* #chunked #(#copies)*)
}

fn partition(entity: &Entity, schema: &TokenStream) -> TokenStream {
    let key = &entity.partition;
    let may_grow = entity.append_hotspot || key.shard().is_some();
    parts(key, &quote!(&#schema.partition), |is_first| match is_first && !may_grow {
        true => quote!(LeadsPartition),
        false => quote!(Primary),
    })
}

/// One constant per part, so that every part with a fault is told.
fn parts(key: &Key, template: &TokenStream, place: impl Fn(bool) -> TokenStream) -> TokenStream {
    let parts = key.segments.iter().enumerate().filter_map(|(segment, piece)| match piece {
        Segment::Part(part) => Some((segment, part)),
        Segment::Literal(_) => None,
    });
    let checks = parts.enumerate().map(|(nth, (segment, part))| {
        let (written, place) = (part.written(), place(nth == 0));
        quote_spanned! {key.span=>
            const _: () = _tm::check_part(#template, #segment, #written, _tm::Place::#place);
        }
    });
    checks.collect()
}
