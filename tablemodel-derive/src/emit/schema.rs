//! The stored format as constant data.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    emit::fields,
    lock,
    meant::{
        entity::Entity,
        field::{Field, Kind},
        key::{Key, Segment},
    },
    rooms::{aggregate::Aggregate, blob, sharded::Sharded, wide},
    written::DefaultWord,
};

/// `_tm::EntitySchema { .. }`
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let Entity { entity_type, version, table, adopt, reserved, .. } = entity;
    let name = format!("::{}", entity.name());
    let discriminator = format!("{entity_type}@{version}");
    let fields = entity.fields.iter().filter_map(|field| field_schema(field));
    let (partition, row) = (template(&entity.partition), template(&entity.row));
    let indexes = entity.indexes.iter().map(|index| index.schema(entity));
    let copies = list("copies", entity.copies.iter().map(|copy| copy.schema(entity)));
    let aggregates = list("aggregates", entity.aggregates.iter().map(Aggregate::schema));
    let sharded = list("sharded", entity.sharded.iter().map(Sharded::schema));
    let reserved = list("reserved", reserved.iter().map(ToTokens::to_token_stream));
    let adopt = adopt.then(|| quote!(adopt: true,));
    let shape = wide::shape(entity).map(|shape| quote!(shape: _tm::Some(#shape),));
    let lineage = entity.lineage.schema(&entity.ident);
    let added_to = list("added_to", lock::added_to(entity).iter().map(ToTokens::to_token_stream));
    quote! {
        _tm::EntitySchema {
            entity_type: #entity_type, version: #version, discriminator: #discriminator, table: #table,
            fields: &[#(#fields),*],
            partition: #partition,
            row: #row,
            indexes: &[#(#indexes),*],
            #copies #aggregates #sharded #adopt #shape #reserved
            path: ::core::concat!(::core::module_path!(), #name),
            #lineage #added_to
            reads: _tm::Some(_tm::reads::<Self>),
            .._tm::EntitySchema::PLAIN
        }
    }
}

/// `name: &[..],`, unless there is nothing in it.
fn list(name: &str, items: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    let (name, items) = (format_ident!("{name}"), items.collect::<Vec<_>>());
    (!items.is_empty()).then(|| quote!(#name: &[#(#items),*],))
}

fn field_schema(field: &Field) -> Option<TokenStream> {
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

/// `_tm::Template(&[..])`
pub(crate) fn template(key: &Key) -> TokenStream {
    template_of(key, in_key)
}

/// The same, with another expression for what a field's type is in keys.
pub(crate) fn template_of(key: &Key, in_key: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let segments = key.segments.iter().map(|segment| segment_of(segment, &in_key));
    quote!(_tm::Template(&[#(#segments),*]))
}

/// What a type is in keys, and whether it may be absent.
fn in_key(field: &Field) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(ty.span()=> <#ty as _tm::KeyPart>::IN_KEY)
}

/// `_tm::Segment::..`
pub(crate) fn segment(segment: &Segment) -> TokenStream {
    segment_of(segment, &in_key)
}

fn segment_of(segment: &Segment, in_key: &impl Fn(&Field) -> TokenStream) -> TokenStream {
    match segment {
        Segment::Literal(text) => quote!(_tm::Segment::Literal(#text)),
        Segment::Part(part) => {
            let (Field { name, property, .. }, codec) = (&*part.field, part.codec.tokens());
            let in_key = in_key(&part.field);
            quote!(_tm::Segment::part(#name, #property, #in_key, #codec))
        }
    }
}
