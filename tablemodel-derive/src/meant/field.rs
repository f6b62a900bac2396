//! A field of an entity, a group or a projection: how it is stored and what its handles are called.
//! Rules that concern several fields are in `rules` and `names`.

use std::{cell::Cell, collections::BTreeSet, rc::Rc};

use proc_macro2::{Ident, Span};
use syn::{LitStr, Type, Visibility, ext::IdentExt, spanned::Spanned};

use super::types::{borrowed, is_array, is_option, last_name, nested};
use crate::{
    errors::{Errors, unknown},
    names::{Case, property_fault},
    rooms::{blob::companions, copy::CopyWords},
    written::{DefaultWord, FieldWords, OWNED, Place, Slot},
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
    /// The word that has the value cut into chunks.
    pub(crate) chunked: Option<Span>,
    /// The part of a wide entity that the field stands in.
    pub(crate) part: Option<LitStr>,
    /// The stored name; of an array, what its names begin with; unused for groups and skipped fields.
    pub(crate) property: String,
    /// The path method, if the user named it.
    pub(crate) method: Option<Ident>,
    /// Whether it holds an aggregate.
    pub(crate) is_aggregate: bool,
    /// The handle, if the user named it.
    pub(crate) constant: Option<Ident>,
    /// Where the stored name stands.
    pub(crate) property_span: Span,
    /// What it is a copy of.
    pub(crate) copy: Option<CopyWords>,
    /// The stored name that it had before.
    pub(crate) was: Option<LitStr>,
    /// Whether nothing that it says, or that is said of it, is a mistake; else it may have been meant to be stored otherwise.
    pub(crate) is_understood: Cell<bool>,
    /// Whether `kind` is what a word was meant for that is given wrongly: no rule is asked of that.
    pub(crate) is_guessed: bool,
}

/// How a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As one property of its type.
    Plain,
    /// As one property that holds JSON.
    Json,
    /// As a blob, or in the row if it is of fewer bytes; three properties.
    Blob(usize),
    /// As the properties of its own fields.
    Group,
    /// As one property for each element.
    Array,
    /// Not at all.
    Skipped,
    /// As properties of another entity.
    Copy,
}

impl Field {
    /// Resolves a field with the words that are legal `here`.
    pub(crate) fn resolve(field: &syn::Field, here: &Place, case: Case, errors: &mut Errors) -> Option<Self> {
        let ident = field.ident.clone()?;
        let before = errors.count();
        let words = FieldWords::read(field, here, errors);
        let name = ident.unraw().to_string();
        let is_array = is_array(&field.ty);
        refuse_conflicts(&words, is_array, errors);
        let kind = kind(&words, is_array);
        if kind == Kind::Json && is_option(&field.ty) && !matches!(words.default.get(), Some(DefaultWord::Own)) {
            let message =
                "an absent property is `None`, which would be read back as the default: remove `default`, or fill the";
            words.default.refuse(&format!("field `{name}`: {message} field by `Upgrade`"), errors);
        }
        if kind == Kind::Plain
            && let Some(inner) = nested(&field.ty)
        {
            let message = "is an `Option` of an `Option`, and an absent property has one meaning: remove one of them";
            errors.at(inner.span(), format!("field `{name}` {message}"));
        }
        if kind != Kind::Skipped
            && let Some(reference) = borrowed(&field.ty)
        {
            errors.at(reference.span(), format!("field `{name}`: {OWNED}"));
        }
        let property = words.rename.get().map_or_else(|| case.apply(&name), syn::LitStr::value);
        let property_span = words.rename.get().map_or(ident.span(), syn::LitStr::span);
        // A projection's fields are stored as its entity says.
        if here.takes("rename")
            && matches!(kind, Kind::Plain | Kind::Json | Kind::Array | Kind::Blob(_) | Kind::Copy)
            && let Some(fault) =
                longest(&words, kind, &property, &field.ty).iter().find_map(|name| property_fault(name))
        {
            errors.at(property_span, format!("field `{name}`: {fault}; choose another name with `rename = \"..\"`"));
        }
        Some(Self {
            name,
            vis: field.vis.clone(),
            ty: field.ty.clone(),
            kind,
            default: words.default.get().cloned(),
            chunked: words.chunked.span(),
            part: words.part.get().cloned(),
            property,
            method: words.method.get().cloned(),
            is_aggregate: !words.aggregate.is_absent(),
            constant: words.constant.get().cloned(),
            property_span,
            copy: words.copy.get().cloned(),
            was: words.was.get().cloned(),
            is_understood: Cell::new(errors.count() == before && !errors.are_hushed()),
            is_guessed: words.is_guessed(),
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
            copy: None,
            was: None,
            is_understood: self.is_understood.clone(),
            is_guessed: self.is_guessed,
            chunked: None,
            part: None,
        }
    }

    /// The name of the handle: the field in capitals, unless the user chose another.
    pub(crate) fn handle(&self) -> Ident {
        let capitals = || syn::parse_str(&self.name.to_uppercase()).ok().map(|ident| at(ident, self.ident.span()));
        self.constant.clone().or_else(capitals).unwrap_or_else(|| self.ident.clone())
    }

    /// The stored names, as far as they show here.
    pub(crate) fn stored_names(&self) -> Vec<String> {
        match self.kind {
            Kind::Blob(_) if self.is_guessed => vec![self.property.clone()],
            kind => stored_names(kind, &self.property),
        }
    }

    /// What the field is, as messages say it, if it is not one plain property.
    pub(crate) fn special_form(&self) -> Option<&'static str> {
        Some(match self.kind {
            Kind::Plain if self.chunked.is_some() => "chunked",
            Kind::Plain => return None,
            Kind::Json => "stored as JSON",
            Kind::Blob(_) => "a blob",
            Kind::Group => "a group of properties",
            Kind::Array => "an array of properties",
            Kind::Skipped => "not stored",
            Kind::Copy => "a copy of another entity",
        })
    }

    /// Whether the field has a handle.
    pub(crate) fn has_handle(&self) -> bool {
        self.is_property() || matches!(self.kind, Kind::Array | Kind::Blob(_))
    }

    /// Whether the type is written as an `Option`.
    pub(crate) fn is_option(&self) -> bool {
        is_option(&self.ty)
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

fn stored_names(kind: Kind, property: &str) -> Vec<String> {
    match kind {
        Kind::Plain | Kind::Json | Kind::Blob(_) => named(kind, property),
        Kind::Group | Kind::Array | Kind::Skipped | Kind::Copy => Vec::new(),
    }
}

/// What the field's name gives names to.
fn named(kind: Kind, property: &str) -> Vec<String> {
    let own = std::iter::once(property.to_owned());
    match kind {
        Kind::Blob(_) => own.chain(companions(property)).collect(),
        Kind::Plain | Kind::Json | Kind::Group | Kind::Array | Kind::Skipped | Kind::Copy => own.collect(),
    }
}

/// The names that are stored, of elements and chunks one.
fn longest(words: &FieldWords, kind: Kind, property: &str, ty: &Type) -> Vec<String> {
    let chunk = words.chunked.is_given().then(|| format!("{property}_00"));
    match kind {
        Kind::Array => vec![last_name(property, ty)],
        _ => named(kind, property).into_iter().chain(chunk).collect(),
    }
}

/// Also by words that were given wrongly: what they mean is clear.
fn kind(words: &FieldWords, is_array: bool) -> Kind {
    if !words.copy.is_absent() {
        Kind::Copy
    } else if !words.skip.is_absent() {
        Kind::Skipped
    } else if !words.flatten.is_absent() {
        if is_array { Kind::Array } else { Kind::Group }
    } else if !words.json.is_absent() {
        Kind::Json
    } else if !words.blob.is_absent() {
        Kind::Blob(words.blob.get().copied().unwrap_or_default())
    } else {
        Kind::Plain
    }
}

/// A copy is stored as its source stores it.
fn refuse_with_copy(words: &FieldWords, errors: &mut Errors) {
    let given = [
        ("was", words.was.span()),
        ("json", words.json.span()),
        ("blob", words.blob.span()),
        ("flatten", words.flatten.span()),
        ("chunked", words.chunked.span()),
        ("part", words.part.span()),
        ("skip", words.skip.span()),
        ("default", words.default.span()),
        ("method", words.method.span()),
        ("constant", words.constant.span()),
        ("aggregate", words.aggregate.span()),
    ];
    for (word, span) in given {
        if let Some(span) = span {
            errors.at(
                span,
                format!("a field with `copy_of` is stored as its source stores it: remove `{word}` or `copy_of`"),
            );
        }
    }
}

fn refuse_conflicts(words: &FieldWords, is_array: bool, errors: &mut Errors) {
    let FieldWords {
        rename,
        was,
        json,
        blob,
        flatten,
        chunked,
        part,
        skip,
        default,
        method,
        constant,
        copy,
        aggregate,
        ..
    } = words;
    if !copy.is_absent() {
        refuse_with_copy(words, errors);
        return;
    }
    if kind(words, is_array) != Kind::Plain || chunked.is_given() || part.is_given() {
        aggregate.refuse("an aggregate is one plain property: remove `aggregate`, or the other word", errors);
    }
    let not_stored = |word: &str| format!("a field with `skip` is not stored: remove `{word}` or `skip`");
    let many = |word: &str| format!("a field with `flatten` is many properties: remove `{word}` or `flatten`");
    if skip.is_given() {
        was.refuse(&not_stored("was"), errors);
        flatten.refuse(&not_stored("flatten"), errors);
        chunked.refuse(&not_stored("chunked"), errors);
        part.refuse(&not_stored("part"), errors);
        blob.refuse(&not_stored("blob"), errors);
        refuse_property_words([rename.span(), json.span(), method.span(), constant.span()], not_stored, errors);
    } else if flatten.is_given() {
        was.refuse(&many("was"), errors);
        default.refuse(&many("default"), errors);
        chunked.refuse(&many("chunked"), errors);
        blob.refuse(&many("blob"), errors);
        let of_one = |span: Option<Span>| span.filter(|_| !is_array);
        let (rename, constant) = (of_one(rename.span()), of_one(constant.span()));
        refuse_property_words([rename, json.span(), method.span(), constant], many, errors);
    } else if blob.is_given() {
        json.refuse("a field with `blob` is bytes: remove `json` or `blob`", errors);
        chunked.refuse("a field with `blob` is kept beside the table: remove `chunked` or `blob`", errors);
        default.refuse("a field with `blob` has no default: remove it, and let the field be an `Option<Blob>`", errors);
        method.refuse("a field with `blob` cannot be part of a key: remove `method`", errors);
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

/// How the names of fields become stored names.
pub(crate) fn case_of(rename_all: &Slot<Case>) -> Case {
    rename_all.get().copied().unwrap_or(Case::Pascal)
}

/// All fields of a struct. Of two that are called alike rustc tells, and one goes on.
pub(crate) fn resolve_all(
    fields: &[syn::Field],
    here: &Place,
    rename_all: &Slot<Case>,
    errors: &mut Errors,
) -> Vec<Rc<Field>> {
    let case = case_of(rename_all);
    let mut names = BTreeSet::new();
    let mut is_first = |field: &&syn::Field| field.ident.as_ref().is_none_or(|ident| names.insert(ident.unraw()));
    fields
        .iter()
        .filter(|field| is_first(field))
        .filter_map(|field| Field::resolve(field, here, case, errors))
        .map(Rc::new)
        .collect()
}
