//! A projection, resolved.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use syn::{Generics, spanned::Spanned};

use super::{
    entity::runtime,
    field::{Field, Kind, resolve_all},
    types::is_spread,
};
use crate::{
    errors::Errors,
    written::{Container, ContainerWords, FieldWords, Input, Slot},
};

/// The projection.
pub(crate) struct Projection<'a> {
    pub(crate) ident: &'a Ident,
    /// Of a projection that is refused for them.
    pub(crate) generics: &'a Generics,
    /// The crate of the runtime.
    pub(crate) runtime: TokenStream,
    /// The entity; `None` if it was not given well.
    pub(crate) of: Option<TokenStream>,
    pub(crate) fields: Vec<Rc<Field>>,
}

impl<'a> Projection<'a> {
    /// Resolves what was written.
    pub(crate) fn resolve(input: &'a Input, errors: &mut Errors) -> Self {
        let words = ContainerWords::read(&input.words, &ContainerWords::OF_PROJECTION, errors);
        let fields = match &input.shape {
            Container::Named(fields) => fields.as_slice(),
            Container::Newtype(_) | Container::Enum(_) | Container::Other(_) => {
                let message = "a projection is a struct with named fields, some of those of its entity";
                errors.at(input.ident.span(), message);
                &[]
            }
        };
        if words.of.is_absent() {
            let message = format!("`{}` does not name its entity: add `#[table(of = Employee)]`", input.ident);
            errors.at(input.ident.span(), message);
        }
        let fields = resolve_all(fields, &FieldWords::OF_PROJECTION, &Slot::Absent, errors);
        fields.iter().for_each(|field| refuse_array(field, errors));
        let runtime = runtime(&words.runtime);
        Self { ident: &input.ident, generics: &input.generics, runtime, of: words.of.get().cloned(), fields }
    }
}

/// In the entity it is either many properties, or JSON.
fn refuse_array(field: &Field, errors: &mut Errors) {
    if field.kind == Kind::Plain && field.is_understood.get() && is_spread(&field.ty) {
        let message = "is an array, and a projection reads single properties: remove the field, or say";
        errors.at(field.ty.span(), format!("field `{}` {message} `json` if the entity does", field.name));
        field.is_understood.set(false);
    }
}
