//! Names that a service keeps for itself are refused where they would be stored.

use proc_macro2::TokenStream;
use quote::quote;

use super::is_refused;

/// Whether an entity with these words and this field more is.
fn is_entity_refused(words: &TokenStream, field: &TokenStream) -> bool {
    is_refused(&crate::emit::entity::derive(quote! {
        #[table(name = "Things", partition = "{p}", row = "{id}")]
        #words
        struct Thing { p: String, id: u32, #field }
    }))
}

#[test]
fn a_field_is_not_stored_under_a_name_that_a_service_keeps_for_itself() {
    let own = quote!();
    assert!(is_entity_refused(&own, &quote!(resource_id: u32)));
    assert!(is_entity_refused(&own, &quote!(#[table(rename = "etag", blob)] note: Blob)));
    assert!(is_entity_refused(&quote!(#[table(rename_all = "camelCase")]), &quote!(rid: u32)));
    assert!(!is_entity_refused(&own, &quote!(#[table(rename = "ResourceIdentifier")] resource_id: u32)));
    assert!(!is_entity_refused(&own, &quote!(#[table(skip)] etag: u32)));
    let group = |field: TokenStream| is_refused(&crate::emit::value::derive_property(quote!(struct Group { #field })));
    assert!(group(quote!(resource_id: u32)) && !group(quote!(resource: u32)));
}

#[test]
fn what_only_keys_hold_and_what_is_there_already_may_be_called_so() {
    assert!(!is_entity_refused(&quote!(#[table(rename_all = "camelCase")]), &quote!(note: u32)), "`id` is in the key");
    for words in [quote!(#[table(adopt)]), quote!(#[table(frozen, entity_type = "Thing")])] {
        assert!(!is_entity_refused(&words, &quote!(resource_id: u32)), "{words}");
    }
}
