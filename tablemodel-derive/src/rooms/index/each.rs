//! `each(skills)`: the list whose elements have a row each, and what stands in keys for it.
//! That the type is a list of key types is the runtime's to check.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use crate::{
    errors::Errors,
    meant::field::{Field, Kind, look_up},
};

/// The list whose elements have rows.
pub(super) fn list(name: &Ident, fields: &[Rc<Field>], errors: &mut Errors) -> Option<Rc<Field>> {
    let field = look_up(fields, &name.unraw().to_string(), name.span(), errors)?;
    let fault = if field.kind != Kind::Json {
        format!("`each` takes a list stored as JSON: write `#[table(json)]` on `{name}`, a `Vec` of a key type")
    } else if field.is_option() {
        let remedy = "write a `Vec` under `#[table(json, default)]`, which is empty where there is none";
        format!("`each` takes a list, and `{name}` is an `Option`: {remedy}")
    } else {
        return Some(field);
    };
    errors.at(name.span(), fault);
    field.is_understood.set(false);
    None
}

/// The fields as they stand in keys: of the list, one element.
pub(super) fn with_elements(fields: &[Rc<Field>], each: Option<&Field>) -> Vec<Rc<Field>> {
    let in_key = |field: &Rc<Field>| match each.is_some_and(|each| each.name == field.name) {
        true => Rc::new(field.element()),
        false => field.clone(),
    };
    fields.iter().map(in_key).collect()
}

/// `_tm::Each`
pub(super) fn schema(each: &Field) -> TokenStream {
    let Field { property, ty, .. } = each;
    let elements = quote_spanned!(ty.span()=> _tm::json::elements::<#ty>);
    quote!(_tm::Each { property: #property, elements: #elements })
}
