//! The whole expansion of an entity.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{array, checks, fallback, fields, handles, hidden, parameters, path, schema};
use crate::{
    errors::Errors,
    lock,
    meant::{
        entity::Entity,
        path::{Component, Path},
    },
    written::Input,
};

/// `#[derive(TableEntity)]`
pub(crate) fn derive(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = Input::read(tokens, &mut errors) else { return errors.into_tokens() };
    let entity = Entity::resolve(&input, &mut errors);
    if errors.is_empty() {
        return expand(&entity);
    }
    let fallback = fallback::entity(&entity);
    let errors = errors.into_tokens();
    quote!(#errors #fallback)
}

fn expand(entity: &Entity) -> TokenStream {
    let paths = entity.paths();
    let implementation = implementation(entity);
    let arrays = array::markers(&entity.fields);
    let checks = checks::checks(entity);
    let gate = lock::gate(entity);
    if entity.lineage.frozen {
        return hidden(&entity.runtime, &quote!(#arrays #implementation #checks #gate));
    }
    let types = path::paths(entity, &paths);
    let (handles, parameters) = (handles::handles(entity, &paths), parameters(names(&paths)));
    let implementation = hidden(&entity.runtime, &quote!(#arrays #implementation #checks #gate));
    let own = hidden(&entity.runtime, &quote!(#parameters #arrays #types #handles));
    quote!(#implementation #own)
}

/// What parameters of the entity's own functions are called, each name once.
fn names(paths: &[Path]) -> BTreeSet<Ident> {
    let of_methods = ["value", "range", "text"].map(|name| format_ident!("{name}"));
    let given = paths.iter().take(1).flat_map(|primary| &primary.components).filter(|component| !component.in_row);
    of_methods.into_iter().chain(given.map(Component::method)).collect()
}

fn implementation(entity: &Entity) -> TokenStream {
    let (ident, entity_type) = (&entity.ident, &entity.entity_type);
    let (parts, schema) = (schema::parts(entity), schema::entity(entity));
    let write = fields::write(&entity.fields);
    let read = fields::read(&entity.fields);
    let copies = fields::read_copies(&entity.fields);
    quote! {
        #parts
        #[automatically_derived]
        impl _tm::TableEntity for #ident {
            const ENTITY_TYPE: &'static str = #entity_type;
            const SCHEMA: &'static _tm::EntitySchema = &#schema;
            #write
            #read
            #copies
        }
    }
}
