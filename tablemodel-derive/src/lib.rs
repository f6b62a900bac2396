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
