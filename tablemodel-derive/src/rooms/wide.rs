//! Wide entities: `wide` on the struct, and `part = "days"` on fields that stand in rows of their own.
//! How an entity is dealt out to rows is the runtime's; here are the rules, and the constant that they become.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    codec::Codec,
    errors::Errors,
    meant::{
        entity::Entity,
        field::{Field, Kind},
    },
    rooms::index::Cover,
};

/// The rules of entities that may be several rows.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    for field in &entity.fields {
        check_part(entity, field, errors);
    }
    let Some(why) = reason(entity) else { return };
    for index in entity.indexes.iter().filter(|index| matches!(index.cover, Cover::Whole) && index.row.is_sound) {
        let message = format!("index `{}` copies the whole entity into one row, and {why}", index.name);
        errors.at(index.name.span(), format!("{message}: say what it keeps, `keep(..)`, or `keys_only`"));
    }
    if entity.row.parts().any(|part| part.codec == Codec::Raw) {
        let message =
            format!("a `raw` text in the row key may hold a space, which marks an entity's further rows, and {why}");
        errors.at(entity.row.span, format!("{message}: leave `raw` out"));
    }
}

/// Why the entity may be several rows.
fn reason(entity: &Entity) -> Option<String> {
    let chunked = || entity.fields.iter().find(|field| field.chunked.is_some());
    match entity.wide {
        true => Some("a wide entity may be several rows".to_owned()),
        false => chunked().map(|field| format!("`{}` is chunked, so that the entity may be several rows", field.name)),
    }
}

fn check_part(entity: &Entity, field: &Field, errors: &mut Errors) {
    let Some(part) = &field.part else { return };
    if !entity.wide {
        errors.at(part.span(), "`part` gives fields a row of their own: say `#[table(wide)]` on the struct too");
    } else if field.chunked.is_some() {
        errors.at(part.span(), "a chunked value has rows of its own where it needs them: remove `part` or `chunked`");
    } else if field.is_property() && entity.in_key(field) {
        let message = format!("`{}` is read back from the primary key, and stored in no row", field.name);
        errors.at(part.span(), format!("{message}: remove `part`"));
    }
}

/// `_tm::Some(_tm::Shape { .. })`
pub(crate) fn shape(entity: &Entity) -> Option<TokenStream> {
    let wide = entity.wide;
    let chunked: Vec<&String> =
        entity.fields.iter().filter(|field| field.chunked.is_some()).map(|field| &field.property).collect();
    if !wide && chunked.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for part in entity.fields.iter().filter_map(|field| field.part.as_ref()) {
        if !names.contains(&part.value()) {
            names.push(part.value());
        }
    }
    let parts = names.iter().map(|name| {
        let is_in = |field: &&std::rc::Rc<Field>| field.part.as_ref().is_some_and(|part| part.value() == *name);
        let fields = entity.fields.iter().filter(|field| field.kind != Kind::Skipped).filter(is_in);
        let fields = fields.map(|field| &field.name);
        quote!(_tm::PartSchema { name: #name, fields: &[#(#fields),*] })
    });
    Some(quote!(_tm::Shape { wide: #wide, chunked: &[#(#chunked),*], parts: &[#(#parts),*] }))
}
