//! What a field says of the name that its property had.

use proc_macro2::TokenStream;
use quote::quote;

fn expansion(fields: &TokenStream) -> String {
    let entity = quote! {
        #[table(name = "Stock", partition = "{shelf}", row = "{id}")]
        struct Item { shelf: String, id: u32, #fields }
    };
    crate::emit::entity::derive(entity).to_string()
}

#[test]
fn it_is_said_of_each_property_that_the_field_is() {
    let of = |fields, was: &[&str]| {
        let expansion = expansion(&fields);
        let said: Vec<_> = expansion.split("renamed (\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(said, was, "{expansion}");
    };
    of(quote!(qty: u32), &[]);
    of(quote!(#[table(was = "Qty")] quantity: u32), &["Qty"]);
    of(quote!(#[table(was = "Tags", json)] words: Vec<String>), &["Tags"]);
    of(quote!(#[table(was = "Photo", blob)] picture: Blob), &["Photo", "Photo_length", "Photo_sum"]);
}

#[test]
fn what_is_stored_as_several_properties_or_not_at_all_had_no_name_and_no_name_is_used_twice() {
    let refused = |fields, words: &str| {
        let expansion = expansion(&fields);
        assert!(expansion.contains("compile_error") && expansion.contains(words), "{expansion}");
    };
    refused(quote!(#[table(was = "Day", flatten)] days: [u32; 3]), "remove `was` or `flatten`");
    refused(quote!(#[table(was = "Seen", skip)] seen: bool), "remove `was` or `skip`");
    refused(quote!(#[table(was = "Id")] quantity: u32), "`Id` is how field `id` is stored now");
    refused(quote!(#[table(was = "Quantity")] quantity: u32), "`Quantity` is how field `quantity` is stored now");
    refused(
        quote!(#[table(was = "Qty")] sold: u32, #[table(was = "Qty")] left: u32),
        "`Qty` cannot have become both `sold` and `left`",
    );
    refused(quote!(#[table(was)] quantity: u32), "`was` takes a text");
    refused(
        quote!(#[table(was = "A", copy_of(Team, key(name = shelf)))] team: Option<Card>),
        "remove `was` or `copy_of`",
    );
}
