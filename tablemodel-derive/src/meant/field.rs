//! A field of an entity, a group or a projection: how it is stored and what its handles are called.
//! Rules that concern several fields are in `rules` and `names`.

use std::rc::Rc;

use proc_macro2::{Ident, Span};
use syn::{Type, Visibility, ext::IdentExt, spanned::Spanned};

use crate::{
    errors::{Errors, unknown},
    names::{Case, property_fault},
    written::{DefaultWord, FieldWords, Slot},
};

/// A resolved field.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The name without `r#`.
    pub(crate) name: String,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
    pub(crate) default: Option<DefaultWord>,
    /// The stored name; unused for groups and skipped fields.
    pub(crate) property: String,
    /// The path method, if the user named it.
    pub(crate) method: Option<Ident>,
    /// Whether it holds an aggregate.
    pub(crate) is_aggregate: bool,
    /// The handle, if the user named it.
    pub(crate) constant: Option<Ident>,
    /// Where the stored name stands.
    pub(crate) property_span: Span,
}

/// How a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As one property of its type.
    Plain,
    /// As one property that holds JSON.
    Json,
    /// As the properties of its own fields.
    Group,
    /// Not at all.
    Skipped,
}

impl Field {
    /// Resolves a field whose legal words were read with `legal`.
    pub(crate) fn resolve(field: &syn::Field, legal: &[&str], case: Case, errors: &mut Errors) -> Option<Self> {
        let ident = field.ident.clone()?;
        let words = FieldWords::read(field, legal, errors);
        let name = ident.unraw().to_string();
        refuse_conflicts(&words, errors);
        let kind = kind(&words);
        let property = words.rename.get().map_or_else(|| case.apply(&name), syn::LitStr::value);
        let property_span = words.rename.get().map_or(ident.span(), syn::LitStr::span);
        if matches!(kind, Kind::Plain | Kind::Json)
            && let Some(fault) = property_fault(&property)
        {
            errors.at(property_span, format!("field `{name}`: {fault}"));
        }
        Some(Self {
            name,
            vis: field.vis.clone(),
            ty: field.ty.clone(),
            kind,
            default: words.default.get().cloned(),
            property,
            method: words.method.get().cloned(),
            is_aggregate: words.aggregate.is_given(),
            constant: words.constant.get().cloned(),
            property_span,
            ident,
        })
    }

    /// One element of the list that the field is, as it stands in a key.
    pub(crate) fn element(&self) -> Self {
        let ty = &self.ty;
        Self {
            ident: self.ident.clone(),
            name: self.name.clone(),
            vis: self.vis.clone(),
            ty: syn::parse_quote_spanned!(ty.span()=> <#ty as ::core::iter::IntoIterator>::Item),
            kind: Kind::Plain,
            default: None,
            property: self.property.clone(),
            method: self.method.clone(),
            is_aggregate: false,
            constant: None,
            property_span: self.property_span,
        }
    }

    /// The name of the handle: the field in capitals, unless the user chose another.
    pub(crate) fn handle(&self) -> Ident {
        let capitals = || syn::parse_str(&self.name.to_uppercase()).ok().map(|ident| at(ident, self.ident.span()));
        self.constant.clone().or_else(capitals).unwrap_or_else(|| self.ident.clone())
    }

    /// Whether the field is one property.
    pub(crate) fn is_property(&self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Json)
    }
}

fn at(mut ident: Ident, span: Span) -> Ident {
    ident.set_span(span);
    ident
}

fn kind(words: &FieldWords) -> Kind {
    if words.skip.is_given() {
        Kind::Skipped
    } else if words.flatten.is_given() {
        Kind::Group
    } else if words.json.is_given() {
        Kind::Json
    } else {
        Kind::Plain
    }
}

fn refuse_conflicts(words: &FieldWords, errors: &mut Errors) {
    let FieldWords { rename, json, flatten, skip, default, method, constant, aggregate } = words;
    if kind(words) != Kind::Plain {
        aggregate.refuse("an aggregate is one plain property: remove `aggregate`, or the other word", errors);
    }
    let not_stored = |word: &str| format!("a field with `skip` is not stored: remove `{word}` or `skip`");
    let many = |word: &str| format!("a field with `flatten` is many properties: remove `{word}` or `flatten`");
    if skip.is_given() {
        flatten.refuse(&not_stored("flatten"), errors);
        refuse_property_words([rename.span(), json.span(), method.span(), constant.span()], not_stored, errors);
    } else if flatten.is_given() {
        default.refuse(&many("default"), errors);
        refuse_property_words([rename.span(), json.span(), method.span(), constant.span()], many, errors);
    } else if json.is_given() {
        method.refuse("a field with `json` cannot be part of a key: remove `method`", errors);
    }
}

fn refuse_property_words(spans: [Option<Span>; 4], message: impl Fn(&str) -> String, errors: &mut Errors) {
    for (word, span) in ["rename", "json", "method", "constant"].into_iter().zip(spans) {
        if let Some(span) = span {
            errors.at(span, message(word));
        }
    }
}

/// The field with this name.
pub(crate) fn look_up(fields: &[Rc<Field>], name: &str, span: Span, errors: &mut Errors) -> Option<Rc<Field>> {
    let found = fields.iter().find(|field| field.name == name);
    if found.is_none() {
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        errors.at(span, unknown("field", name, "fields", &names));
    }
    found.cloned()
}

/// All fields of a struct.
pub(crate) fn resolve_all(
    fields: &[syn::Field],
    legal: &[&str],
    rename_all: &Slot<Case>,
    errors: &mut Errors,
) -> Vec<Rc<Field>> {
    let case = rename_all.get().copied().unwrap_or(Case::Pascal);
    fields.iter().filter_map(|field| Field::resolve(field, legal, case, errors)).map(Rc::new).collect()
}
