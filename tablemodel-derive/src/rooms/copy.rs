//! Copies: `copy_of(Employee, key(department = name, id = manager_id), on_delete = clear)` on a field.
//! How copies are kept in step is the runtime's; here are the words, what they mean, and the constant they become.

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, ext::IdentExt, spanned::Spanned};

use crate::{
    errors::{Errors, unknown},
    meant::{
        entity::Entity,
        field::{Field, Kind, look_up},
    },
    written::{Item, Place, Slot, Word, unknown_word},
};

const ON_DELETE: [&str; 3] = ["clear", "restrict", "keep"];

/// The words of a copy, as written.
#[derive(Clone)]
pub(crate) struct CopyWords {
    /// The entity that is copied.
    pub(crate) of: TokenStream,
    span: Span,
    /// Fields of its key, each with the field that has its value.
    key: Vec<(Ident, Ident)>,
    has_key: bool,
    on_delete: Option<Ident>,
}

impl CopyWords {
    pub(crate) const PLACE: Place = Place { item: Item::Entity, at: "in `copy_of(..)`", words: &["key", "on_delete"] };

    /// Reads `copy_of(..)`; `None` where it names no entity.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let given = word.head_and_words(errors);
        let given = given.filter(|(of, _)| syn::parse2::<Path>(of.clone()).is_ok());
        let Some((of, words)) = given else {
            let write = "`copy_of(Employee, key(id = manager_id))`";
            return word.wrong("names an entity first, and then how its key is made", write, errors);
        };
        let (mut key, mut on_delete) = (Slot::Absent, Slot::Absent);
        let mut has_unknown = false;
        for word in &words {
            match word.text().as_str() {
                "key" => key.fill(word, pairs(word, errors), errors),
                "on_delete" => on_delete.fill(word, deletion(word, errors), errors),
                _ => {
                    has_unknown = true;
                    unknown_word(word, &Self::PLACE, errors);
                }
            }
        }
        if key.is_absent() && !has_unknown {
            let example = "`key(id = manager_id)`: a field of its key, and the field here that has its value";
            errors.at(word.span(), format!("`copy_of` does not say which entity is copied: add {example}"));
        }
        let span = of.span();
        let has_key = key.is_given();
        let key = key.get().cloned().unwrap_or_default();
        Some(Self { of, span, key, has_key, on_delete: on_delete.get().cloned() })
    }
}

/// `key(department = name, id = manager_id)`
fn pairs(word: &Word, errors: &mut Errors) -> Option<Vec<(Ident, Ident)>> {
    let mut pairs: Vec<(Ident, Ident)> = Vec::new();
    let words = word.words(errors)?;
    for word in &words {
        let holder = word.value().and_then(|value| syn::parse2::<Ident>(value).ok());
        match holder {
            Some(_) if pairs.iter().any(|(source, _)| source.unraw() == word.name.unraw()) => {
                errors.at(word.span(), format!("`{}` is given twice", word.name));
            }
            Some(holder) => pairs.push((word.name.clone(), holder)),
            None => errors
                .at(word.span(), format!("`{0}` takes a field of this struct: write `{0} = manager_id`", word.name)),
        }
    }
    if words.is_empty() {
        errors.at(word.span(), "`key()` says nothing: write `key(id = manager_id)`");
    }
    (pairs.len() == words.len() && !pairs.is_empty()).then_some(pairs)
}

/// `on_delete = clear`
fn deletion(word: &Word, errors: &mut Errors) -> Option<Ident> {
    let Some(value) = word.value().and_then(|value| syn::parse2::<Ident>(value).ok()) else {
        return word.wrong("takes a word", "`on_delete = clear`, `restrict` or `keep`", errors);
    };
    let text = value.to_string();
    if !ON_DELETE.contains(&text.as_str()) {
        errors.at(value.span(), unknown("word", &text, "words of `on_delete`", &ON_DELETE));
        return None;
    }
    Some(value)
}

/// A resolved copy.
pub(crate) struct Copy {
    field: Rc<Field>,
    words: CopyWords,
    /// Fields of the source's key, each with the field that has its value.
    key: Vec<(Ident, Ident, Rc<Field>)>,
}

impl Copy {
    /// The copy that the field is.
    pub(crate) fn resolve(field: &Rc<Field>, fields: &[Rc<Field>], errors: &mut Errors) -> Option<Self> {
        let words = field.copy.clone()?;
        let holder = |(source, holder): &(Ident, Ident)| {
            let found = look_up(fields, &holder.unraw().to_string(), holder.span(), errors)?;
            if let Some(what) = found.special_form().filter(|_| found.kind != Kind::Plain) {
                let message = "and a field of a key has its value from a plain property: name a field that is one";
                errors.at(holder.span(), format!("`{holder}` is {what}, {message}"));
                return None;
            }
            Some((source.clone(), holder.clone(), found))
        };
        let key = words.key.iter().filter_map(holder).collect();
        Some(Self { field: field.clone(), words, key })
    }

    /// Whether the key of its source is made from the field.
    pub(crate) fn uses(&self, field: &Field) -> bool {
        self.key.iter().any(|(_, _, holder)| holder.name == field.name)
    }

    /// `_tm::CopySchema { .. }`
    pub(crate) fn schema(&self, entity: &Entity) -> TokenStream {
        let (Field { name, property, ty, .. }, of) = (&*self.field, &self.words.of);
        let discriminator = format!("{}.~{name}@{}", entity.entity_type, entity.version);
        let key = self.key.iter().map(|(source, _, holder)| {
            let (field, handle, holder) = (source.unraw().to_string(), self.handle(source), &holder.property);
            quote!(_tm::CopyKey { field: #field, source: #handle.property(), holder: #holder })
        });
        let copy = quote_spanned!(ty.span()=> <#ty as _tm::CopyOf<#of>>);
        let on_delete = match self.words.on_delete.as_ref().map(Ident::to_string).as_deref() {
            Some("clear") => quote!(_tm::OnDelete::Clear),
            Some("restrict") => quote!(_tm::OnDelete::Restrict),
            Some(_) => quote!(_tm::OnDelete::Keep),
            None => quote!(_tm::on_delete(#copy::OPTIONAL)),
        };
        let source = quote_spanned!(self.words.span=> <#of as _tm::TableEntity>);
        quote! {
            _tm::CopySchema {
                name: #name, property: #property, discriminator: #discriminator,
                source: || #source::SCHEMA, source_type: #source::ENTITY_TYPE,
                key: &[#(#key),*], properties: #copy::PROPERTIES, optional: #copy::OPTIONAL, on_delete: #on_delete,
                reads: #copy::check_stored,
            }
        }
    }

    /// The constants that check it against its source.
    pub(crate) fn checks(&self, place: usize) -> TokenStream {
        let of = &self.words.of;
        let pairs = self.key.iter().map(|(source, written, holder)| {
            let (handle, ty) = (self.handle(source), &holder.ty);
            quote_spanned!(written.span()=> const _: () = #handle.given_by::<#ty>();)
        });
        let whole = self.words.has_key.then(|| {
            quote_spanned! {self.words.span=>
                const _: () = _tm::check_copy(&__NAMES, <#of as _tm::TableEntity>::SCHEMA, #place);
            }
        });
        quote!(#(#pairs)* #whole)
    }

    /// `<Employee>::DEPARTMENT`
    fn handle(&self, source: &Ident) -> TokenStream {
        let of = &self.words.of;
        let capitals =
            syn::parse_str::<Ident>(&source.unraw().to_string().to_uppercase()).unwrap_or_else(|_| source.clone());
        let handle = Ident::new(&capitals.to_string(), source.span());
        quote_spanned!(source.span()=> <#of>::#handle)
    }
}
