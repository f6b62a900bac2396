//! Constants that fail to compile, under the words of the user: what shows only once types are known.
//! The checks and what they say are the runtime's.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    meant::{
        entity::Entity,
        field::{Field, Kind},
        key::{Key, Segment},
    },
    rooms::{chunked, index::When},
};

use super::fields;

/// All checks of an entity.
pub(crate) fn checks(entity: &Entity) -> TokenStream {
    let ident = &entity.ident;
    let schema = quote!(<#ident as _tm::TableEntity>::SCHEMA);
    let partition = partition(entity, &schema);
    let row = parts(&entity.row, &quote!(&#schema.row), |_| quote!(Primary));
    let indexes = entity.indexes.iter().enumerate().map(|(place, index)| {
        let elsewhere = index.elsewhere.as_ref().map(|elsewhere| {
            let template = quote!(_tm::index_partition(#schema, #place));
            let lead = leading(&elsewhere.partition, entity, quote!(LeadsIndex), quote!(Index));
            self::parts(&elsewhere.partition, &template, lead)
        });
        let parts = parts(&index.row, &quote!(_tm::index_row(#schema, #place)), |_| quote!(Index));
        let overlap = quote_spanned!(index.row.span=> const _: () = _tm::check_index(#schema, #place););
        let when = index.when.as_ref().map(When::checks);
        quote!(#elsewhere #parts #overlap #when)
    });
    let group = entity.fields.iter().find(|field| matches!(field.kind, Kind::Group | Kind::Array));
    let groups = group.map(|group| quote_spanned!(group.ident.span()=> const _: () = _tm::check_groups(#schema);));
    let frozen = entity.lineage.frozen;
    let aggregates = entity.aggregates.iter().enumerate().map(|(at, aggregate)| aggregate.checks(&schema, at, frozen));
    let of_fields = of_fields(entity.fields.iter().map(|field| &**field));
    let copies = entity.copies.iter().enumerate().map(|(place, copy)| copy.checks(&schema, place));
    let lineage = entity.lineage.checks(&schema);
    quote!(#lineage #partition #row #(#indexes)* #groups #(#aggregates)* #of_fields #(#copies)*)
}

/// Those of the type of one field, whatever the others are.
pub(crate) fn of_fields<'a>(fields: impl Iterator<Item = &'a Field> + Clone) -> TokenStream {
    let held = fields.clone().filter(|field| field.is_aggregate).map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> const _: () = _tm::check_held::<#ty>();)
    });
    let (chunked, defaults) = (chunked::checks(fields.clone()), fields::default_checks(fields));
    quote!(#(#held)* #chunked #defaults)
}

fn partition(entity: &Entity, schema: &TokenStream) -> TokenStream {
    let lead = leading(&entity.partition, entity, quote!(LeadsPartition), quote!(Primary));
    parts(&entity.partition, &quote!(&#schema.partition), lead)
}

/// Those of the parts of each key, whatever else is wrong with the entity: `template` gives a key's, where its types are known.
pub(crate) fn of_keys(entity: &Entity, template: impl Fn(&Key) -> Option<TokenStream>) -> TokenStream {
    let check = |key: &Key, place: &dyn Fn(bool) -> TokenStream| {
        let template = template(key).filter(|_| key.is_sound);
        template.map(|template| parts(key, &quote!(&#template), place))
    };
    let lead = leading(&entity.partition, entity, quote!(LeadsPartition), quote!(Primary));
    let primary = [check(&entity.partition, &lead), check(&entity.row, &|_| quote!(Primary))];
    let indexes = entity.indexes.iter().flat_map(|index| {
        let elsewhere = index.elsewhere.as_ref().and_then(|elsewhere| {
            let lead = leading(&elsewhere.partition, entity, quote!(LeadsIndex), quote!(Index));
            check(&elsewhere.partition, &lead)
        });
        [elsewhere, check(&index.row, &|_| quote!(Index))]
    });
    primary.into_iter().chain(indexes).flatten().collect()
}

/// The place of the first part of a partition key is `first`, unless nothing is asked of it.
fn leading(key: &Key, entity: &Entity, first: TokenStream, other: TokenStream) -> impl Fn(bool) -> TokenStream {
    let may_grow = entity.append_hotspot || key.shard().is_some();
    move |is_first| if is_first && !may_grow { first.clone() } else { other.clone() }
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
