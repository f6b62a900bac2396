//! A type that is a property or a key part, resolved.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use syn::{Generics, Type, spanned::Spanned};

use super::{
    entity::runtime,
    field::{Field, resolve_all},
    names::{check_properties, check_services},
    types::borrowed,
    variants::{Text, resolve},
};
use crate::{
    errors::Errors,
    written::{Container, ContainerWords, FieldWords, Input, OWNED, refuse_words},
};

/// The type.
pub(crate) struct Value<'a> {
    pub(crate) ident: &'a Ident,
    /// Of a type that is refused for them.
    pub(crate) generics: &'a Generics,
    /// The crate of the runtime.
    pub(crate) runtime: TokenStream,
    pub(crate) kind: Kind<'a>,
}

/// What it is.
pub(crate) enum Kind<'a> {
    /// `struct Id(u32);`: stored as what is inside.
    Newtype(&'a Type),
    /// `enum Color { Red, Green }`: stored as text.
    Names(Vec<Text>),
    /// `struct Address { .. }`: several properties.
    Group(Vec<Rc<Field>>),
    /// None of these; an error was reported.
    Unfit,
}

impl<'a> Value<'a> {
    /// Resolves what was written.
    pub(crate) fn resolve(input: &'a Input, errors: &mut Errors) -> Self {
        let here = match input.shape {
            Container::Newtype(_) => &ContainerWords::OF_NEWTYPE,
            Container::Enum(_) => &ContainerWords::OF_NAMES,
            Container::Named(_) | Container::Other(_) => &ContainerWords::OF_GROUP,
        };
        let words = ContainerWords::read(&input.words, here, errors);
        let kind = match &input.shape {
            Container::Newtype(inner) => {
                let remedy = "a newtype is stored as what is inside; say it on the field of the entity";
                refuse_words(inner, remedy, errors);
                if let Some(reference) = borrowed(&inner.ty) {
                    errors.at(reference.span(), OWNED);
                }
                Kind::Newtype(&inner.ty)
            }
            Container::Enum(variants) => Kind::Names(resolve(input, variants, words.rename_all.get().copied(), errors)),
            Container::Named(fields) => {
                let fields = resolve_all(fields, &FieldWords::OF_GROUP, &words.rename_all, errors);
                check_properties(&fields, errors);
                check_services(&fields, errors);
                Kind::Group(fields)
            }
            Container::Other(what) => {
                errors.at(input.ident.span(), unfit(input, what));
                Kind::Unfit
            }
        };
        Self { ident: &input.ident, generics: &input.generics, runtime: runtime(&words.runtime), kind }
    }
}

fn unfit(input: &Input, what: &str) -> String {
    let forms = "a newtype such as `struct Id(u32);`, an enum of names, or a struct with named fields";
    format!("`{}` is {what}: a stored type is {forms}", input.ident)
}
