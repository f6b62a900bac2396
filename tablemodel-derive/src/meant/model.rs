//! A model, resolved: one variant per entity, and perhaps one for all other rows.

use proc_macro2::{Ident, TokenStream};
use syn::{Fields, Generics, Type, Visibility};

use super::entity::runtime;
use crate::{
    errors::Errors,
    written::{Container, ContainerWords, Input, Variant, VariantWords, refuse_words},
};

/// The model.
pub(crate) struct Model<'a> {
    pub(crate) ident: &'a Ident,
    /// Of a model that is refused for them.
    pub(crate) generics: &'a Generics,
    pub(crate) vis: &'a Visibility,
    /// The crate of the runtime.
    pub(crate) runtime: TokenStream,
    pub(crate) entities: Vec<Listed<'a>>,
    pub(crate) other: Option<Listed<'a>>,
}

/// A variant and the type inside.
pub(crate) struct Listed<'a> {
    pub(crate) variant: &'a Ident,
    pub(crate) ty: &'a Type,
}

impl<'a> Model<'a> {
    /// Resolves what was written.
    pub(crate) fn resolve(input: &'a Input, errors: &mut Errors) -> Self {
        let words = ContainerWords::read(&input.words, &ContainerWords::OF_MODEL, errors);
        let runtime = runtime(&words.runtime);
        let Input { ident, generics, vis, .. } = input;
        let mut model = Self { ident, generics, vis, runtime, entities: Vec::new(), other: None };
        match &input.shape {
            Container::Enum(variants) => variants.iter().for_each(|variant| model.list(variant, errors)),
            Container::Named(_) | Container::Newtype(_) | Container::Other(_) => {
                let message = "a model is an enum with one variant per entity, such as";
                errors.at(input.ident.span(), format!("{message} `enum {} {{ Order(Order) }}`", input.ident));
                return model;
            }
        }
        if model.entities.is_empty() && errors.is_empty() {
            errors.at(
                input.ident.span(),
                format!("`{}` lists no entity: add a variant such as `Order(Order)`", input.ident),
            );
        }
        model
    }

    fn list(&mut self, variant: &'a Variant, errors: &mut Errors) {
        let words = VariantWords::read(variant, &VariantWords::OF_MODEL, errors);
        let Some(listed) = Listed::resolve(variant, words.other.is_given(), errors) else { return };
        match &self.other {
            _ if !words.other.is_given() => self.entities.push(listed),
            None => self.other = Some(listed),
            Some(first) => {
                let message = format!("`{}` takes all other rows already", first.variant);
                errors.at(variant.ident.span(), format!("{message}: only one variant can be `other`"));
            }
        }
    }
}

impl<'a> Listed<'a> {
    fn resolve(variant: &'a Variant, is_other: bool, errors: &mut Errors) -> Option<Self> {
        let Variant { ident, fields, .. } = variant;
        if let Fields::Unnamed(fields) = fields
            && let (Some(field), 1) = (fields.unnamed.first(), fields.unnamed.len())
        {
            refuse_words(field, "say it on the variant, or on the entity itself", errors);
            return Some(Self { variant: ident, ty: &field.ty });
        }
        let inside = if is_other { "Row".to_owned() } else { ident.to_string() };
        errors.at(ident.span(), format!("variant `{ident}` must hold one type: write `{ident}({inside})`"));
        None
    }
}
