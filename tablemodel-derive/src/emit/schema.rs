//! The stored format as constant data.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    emit::{fields, keys},
    lock,
    meant::{
        entity::Entity,
        field::{Field, Kind},
    },
    rooms::{aggregate, blob, sharded::Sharded, wide},
    written::DefaultWord,
};

/// The constants that `SCHEMA` is made of. What is checked by itself stands by itself: a type that is wrong hides only what depends on it.
pub(crate) fn parts(entity: &Entity) -> TokenStream {
    let templates = keys::all(entity).map(|placed| placed.declared(keys::in_key));
    let aggregates = entity.aggregates.iter().enumerate().map(|(at, aggregate)| aggregate.declared(at));
    let indexes = entity.indexes.iter().enumerate().map(|(at, index)| index.schema(at, entity));
    let (of_keys, of_rows, of_names) = (of_keys(entity, indexes), of_rows(entity), of_names(entity));
    quote! {
        #(#templates)*
        #(#aggregates)*
        #of_keys
        const __ROWS: _tm::EntitySchema = #of_rows;
        #of_names
    }
}

/// What the entity is called, and where its rows and those of these indexes stand.
pub(crate) fn of_keys(entity: &Entity, indexes: impl Iterator<Item = TokenStream>) -> TokenStream {
    let Entity { entity_type, version, table, .. } = entity;
    let name = format!("::{}", entity.name());
    let discriminator = format!("{entity_type}@{version}");
    let (partition, row) = (keys::partition(None), keys::row(None));
    let indexes = list("indexes", indexes);
    quote! {
        const __KEYS: _tm::EntitySchema = _tm::EntitySchema {
            entity_type: #entity_type, version: #version, discriminator: #discriminator, table: #table,
            partition: #partition, row: #row, #indexes
            path: ::core::concat!(::core::module_path!(), #name),
            .._tm::EntitySchema::PLAIN
        };
    }
}

/// And which rows those are, of which versions: all that asks no field how it is stored.
fn of_rows(entity: &Entity) -> TokenStream {
    let aggregates =
        list("aggregates", (0..entity.aggregates.len()).map(|at| aggregate::constant(at).into_token_stream()));
    let reserved = list("reserved", entity.reserved.iter().map(ToTokens::to_token_stream));
    let adopt = entity.adopt.then(|| quote!(adopt: true,));
    let shape = wide::shape(entity).map(|shape| quote!(shape: _tm::Some(#shape),));
    let lineage = entity.lineage.schema(&entity.ident);
    let added_to = list("added_to", lock::added_to(entity).iter().map(ToTokens::to_token_stream));
    quote!(_tm::EntitySchema { #aggregates #reserved #adopt #shape #lineage #added_to ..__KEYS })
}

/// And the names that groups and copies bring, which only the types of those tell: where there are some.
fn of_names(entity: &Entity) -> Option<TokenStream> {
    has_names(entity).then(|| {
        let fields = names(entity.fields.iter().map(|field| &**field));
        let copies = list("copies", entity.copies.iter().map(|copy| copy.schema(entity)));
        quote!(const __NAMES: _tm::EntitySchema = _tm::EntitySchema { fields: #fields, #copies ..__ROWS };)
    })
}

/// The names that these fields are stored under.
pub(crate) fn names<'a>(fields: impl Iterator<Item = &'a Field>) -> TokenStream {
    let fields = fields.filter_map(|field| field_schema(field, untyped));
    quote!(&[#(#fields),*])
}

fn has_names(entity: &Entity) -> bool {
    let is_group = |field: &Rc<Field>| matches!(field.kind, Kind::Group | Kind::Array);
    !entity.copies.is_empty() || entity.fields.iter().any(is_group)
}

/// `_tm::EntitySchema { .. }`, the whole.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let base = if has_names(entity) { quote!(__NAMES) } else { quote!(__ROWS) };
    let fields = entity.fields.iter().filter_map(|field| field_schema(field, property));
    let sharded = list("sharded", entity.sharded.iter().map(Sharded::schema));
    quote! {
        _tm::EntitySchema {
            fields: &[#(#fields),*], #sharded
            reads: _tm::Some(_tm::reads::<Self>),
            ..#base
        }
    }
}

/// `name: &[..],`, unless there is nothing in it.
fn list(name: &str, items: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    let (name, items) = (format_ident!("{name}"), items.collect::<Vec<_>>());
    (!items.is_empty()).then(|| quote!(#name: &[#(#items),*],))
}

/// A field, with `property` for what is one property.
fn field_schema(field: &Field, property: impl Fn(&Field) -> Option<TokenStream>) -> Option<TokenStream> {
    let (name, ty) = (&field.name, &field.ty);
    if field.kind == Kind::Group {
        let properties = quote_spanned!(ty.span()=> <#ty as _tm::PropertyGroup>::PROPERTIES);
        return Some(quote!(_tm::FieldSchema::Group { field: #name, properties: #properties }));
    }
    if field.kind == Kind::Array {
        let array = super::array::implementation(field);
        return Some(quote!(_tm::FieldSchema::Group { field: #name, properties: #array::PROPERTIES }));
    }
    if let Some(blob) = blob::schema(field) {
        return Some(blob);
    }
    let property = property(field)?;
    Some(quote!(_tm::FieldSchema::Property(#property)))
}

/// `_tm::PropertySchema::..`, of a field that is one property.
///
/// Traits are named as `<T as Property>` throughout: rustc shows the same error once, but one for each function whose
/// bound it meets.
fn property(field: &Field) -> Option<TokenStream> {
    let (name, property, ty) = (&field.name, &field.property, &field.ty);
    let schema = match field.kind {
        Kind::Plain => {
            let stored = quote_spanned!(ty.span()=> <#ty as _tm::Property>::STORED);
            quote!(_tm::PropertySchema::new(#name, #property, #stored))
        }
        Kind::Json => quote!(_tm::PropertySchema::json(#name, #property)),
        Kind::Blob(_) | Kind::Group | Kind::Array | Kind::Skipped | Kind::Copy => return None,
    };
    let default = field.default.as_ref().map(|word| stored_default(field, word));
    let aggregate = field.is_aggregate.then(|| quote!(.of_aggregate()));
    let was = field.was.as_ref().map(|was| quote!(.renamed(#was)));
    Some(quote!(#schema #default #aggregate #was))
}

/// The same of any type: what is asked of its name alone.
fn untyped(field: &Field) -> Option<TokenStream> {
    let Field { name, property, .. } = field;
    matches!(field.kind, Kind::Plain | Kind::Json).then(|| quote!(_tm::PropertySchema::json(#name, #property)))
}

/// `.or_default(|| ..)`
fn stored_default(field: &Field, word: &DefaultWord) -> TokenStream {
    let (ty, default) = (&field.ty, fields::default(word, &field.ty));
    let of = match field.kind {
        Kind::Json => quote!(_tm::json::default_value),
        _ => quote!(_tm::default_value),
    };
    quote!(.or_default(|| #of::<#ty>(#default)))
}

/// The properties of a group.
pub(crate) fn properties(fields: &[Rc<Field>]) -> TokenStream {
    let properties = fields.iter().filter_map(|field| property(field));
    quote!(&[#(#properties),*])
}
