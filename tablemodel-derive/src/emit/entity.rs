//! The whole expansion of an entity.

use proc_macro2::TokenStream;
use quote::quote;

use super::{array, checks, fallback, fields, handles, hidden, path, schema};
use crate::{errors::Errors, lock, meant::entity::Entity, written::Input};

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
    let handles = handles::handles(entity, &paths);
    hidden(&entity.runtime, &quote!(#arrays #implementation #checks #gate #types #handles))
}

fn implementation(entity: &Entity) -> TokenStream {
    let (ident, entity_type) = (&entity.ident, &entity.entity_type);
    let schema = schema::entity(entity);
    let write = fields::write(&entity.fields);
    let read = fields::read(&entity.fields);
    let copies = fields::read_copies(&entity.fields);
    quote! {
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
