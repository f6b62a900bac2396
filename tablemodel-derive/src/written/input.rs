//! The item under a derive: its shape, its fields or variants, and its words.
//! Which shapes and words a derive takes is the derive's to say.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::{
    Attribute, Data, DeriveInput, Expr, Field, Fields, GenericParam, Generics, Visibility, ext::IdentExt, parse_quote,
};

use super::{Item, Place, Slot, Word, attribute_words, salvage::salvaged, unknown_word};
use crate::errors::Errors;

/// The item.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// Of a type that is refused for them, bounded by what every stored type is.
    pub(crate) generics: Generics,
    pub(crate) words: Vec<Word>,
    pub(crate) shape: Container,
}

/// The shapes that some derive takes; the others are refused when read.
pub(crate) enum Container {
    /// `struct X { a: A }`
    Named(Vec<Field>),
    /// `struct X(A);`
    Newtype(Box<Field>),
    /// `enum X { A, B(C) }`
    Enum(Vec<Variant>),
    /// A tuple struct of another length, a unit struct or a union.
    Other(&'static str),
}

/// A variant of an enum.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) fields: Fields,
    /// The number that the user gave it.
    pub(crate) discriminant: Option<Expr>,
}

impl Input {
    /// Reads the item; `None` where even its shape cannot be used.
    pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> Option<Self> {
        let input = match parse(tokens.clone()) {
            Ok(input) => input,
            Err(error) => {
                errors.at(error.span(), error);
                errors.hush();
                parse(salvaged(tokens)).ok()?
            }
        };
        let words = attribute_words(&input.attrs, errors);
        let mut generics = input.generics;
        if !generics.params.is_empty() || generics.where_clause.is_some() {
            refuse_generics(&input.ident, &generics, errors);
            generics
                .make_where_clause()
                .predicates
                .push(parse_quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static));
        }
        Some(Self { ident: input.ident, vis: input.vis, generics, words, shape: shape(input.data) })
    }

    /// The name without `r#`.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

/// With `Self` written out, since types also stand where there is none. A generic type has no other name of that kind, and is refused.
fn parse(tokens: TokenStream) -> syn::Result<DeriveInput> {
    let input = syn::parse2::<DeriveInput>(tokens.clone())?;
    match input.generics.params.is_empty() {
        true => syn::parse2(written_out(tokens, &input.ident)),
        false => Ok(input),
    }
}

fn written_out(tokens: TokenStream, own: &Ident) -> TokenStream {
    let trees = tokens.into_iter().map(|tree| match tree {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut own = own.clone();
            own.set_span(ident.span());
            TokenTree::Ident(own)
        }
        TokenTree::Group(group) => {
            let mut out = Group::new(group.delimiter(), written_out(group.stream(), own));
            out.set_span(group.span());
            TokenTree::Group(out)
        }
        other => other,
    });
    trees.collect()
}

/// What to write in place of a reference.
pub(crate) const OWNED: &str = "what is stored owns its data: write `String` for `&str`, and `Vec<u8>` for `&[u8]`";

/// What is stored outlives what it was made from; and each type has one format.
fn refuse_generics(own: &Ident, generics: &Generics, errors: &mut Errors) {
    let (lifetimes, others): (Vec<_>, Vec<_>) =
        generics.params.iter().partition(|parameter| matches!(parameter, GenericParam::Lifetime(_)));
    if let Some(first) = lifetimes.first() {
        let name = parameter_name(first);
        errors.at(name.span(), format!("`'{name}`: {OWNED}"));
    }
    if lifetimes.is_empty() || !others.is_empty() {
        let span = others.first().map_or(own.span(), |first| parameter_name(first).span());
        errors.at(span, "generic types cannot be stored: the stored format is one constant per type");
    }
}

/// `T`, `'a` or `N`.
pub(crate) fn parameter_name(parameter: &GenericParam) -> &Ident {
    match parameter {
        GenericParam::Lifetime(parameter) => &parameter.lifetime.ident,
        GenericParam::Type(parameter) => &parameter.ident,
        GenericParam::Const(parameter) => &parameter.ident,
    }
}

fn shape(data: Data) -> Container {
    match data {
        Data::Struct(data) => match data.fields {
            Fields::Named(fields) => Container::Named(fields.named.into_iter().collect()),
            Fields::Unnamed(fields) => match single(fields.unnamed.into_iter()) {
                Some(field) => Container::Newtype(Box::new(field)),
                None => Container::Other("a tuple struct"),
            },
            Fields::Unit => Container::Other("a unit struct"),
        },
        Data::Enum(data) => Container::Enum(data.variants.into_iter().map(variant).collect()),
        Data::Union(_) => Container::Other("a union"),
    }
}

fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

fn variant(variant: syn::Variant) -> Variant {
    let discriminant = variant.discriminant.map(|(_, value)| value);
    Variant { ident: variant.ident, attributes: variant.attrs, fields: variant.fields, discriminant }
}

/// Reports the words of a field that takes none; `remedy` says where they belong.
pub(crate) fn refuse_words(field: &Field, remedy: &str, errors: &mut Errors) {
    for word in attribute_words(&field.attrs, errors) {
        errors.at(word.span(), format!("`{}` has no effect here: {remedy}", word.name));
    }
}

/// The words of a variant.
#[derive(Default)]
pub(crate) struct VariantWords {
    pub(crate) rename: Slot<syn::LitStr>,
    pub(crate) other: Slot<()>,
}

impl VariantWords {
    /// The words of a variant that is stored as text.
    pub(crate) const OF_NAMES: Place = Place { item: Item::Names, at: "on a variant", words: &["rename"] };
    /// The words of a variant that lists an entity.
    pub(crate) const OF_MODEL: Place = Place { item: Item::Model, at: "on a variant of a model", words: &["other"] };

    /// Reads the words that are legal `here`.
    pub(crate) fn read(variant: &Variant, here: &Place, errors: &mut Errors) -> Self {
        let mut words = Self::default();
        for word in attribute_words(&variant.attributes, errors) {
            match word.text().as_str() {
                name if !here.takes(name) => unknown_word(&word, here, errors),
                "rename" => words.rename.fill(&word, word.string(errors), errors),
                _ => words.other.fill(&word, word.flag(errors), errors),
            }
        }
        words
    }
}
