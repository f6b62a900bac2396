//! The derive macros of tablemodel.

mod codec;
mod emit;
mod errors;
mod meant;
mod names;
mod rooms;
mod template;
mod written;

/// Keeps a struct in a table.
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn table_entity(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    emit::entity::derive(item.into()).into()
}

/// The types an application keeps.
#[proc_macro_derive(TableModel, attributes(table))]
pub fn table_model(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    emit::model::derive(item.into()).into()
}

/// Some fields of an entity.
#[proc_macro_derive(Projection, attributes(table))]
pub fn projection(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    emit::projection::derive(item.into()).into()
}

/// A type that can be stored.
#[proc_macro_derive(Property, attributes(table))]
pub fn property(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    emit::value::derive_property(item.into()).into()
}

/// A type that can stand in a key.
#[proc_macro_derive(KeyPart, attributes(table))]
pub fn key_part(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    emit::value::derive_key_part(item.into()).into()
}
