//! Promises about whole expansions: no input makes a derive panic, and generated code stays small.

mod budget;
mod former;
mod half_typed;
mod services;
mod terminals;

use proc_macro2::TokenStream;
use quote::quote;

/// An entity with every room and every word.
fn entity() -> TokenStream {
    quote! {
        #[derive(Debug)]
        #[table(name = "Company", entity_type = "Employee", version = 2, rename_all = "camelCase", wide)]
        #[table(partition = "{department}_{id:shard(16)}", row = "empid_{id:06}_{at:day}_{r#type}", find = "r#loop")]
        #[table(index(r#match, row = "email_{email}_{id:06}_{at:day}_{type}", keep(first_name, skills), when = !r#type))]
        #[table(index(by_name, row = "n_{first_name}!{id:06}_{at}_{type:hash}", keys_only), allow_scan, adopt)]
        pub struct Employee {
            /// A doc comment.
            pub department: String,
            id: u32,
            pub(crate) at: std::time::SystemTime,
            r#type: Option<Vec<u8>>,
            first_name: String,
            #[table(rename = "Mail", was = "Email", method = "mail", constant = "MAIL")]
            email: String,
            #[table(default = 3)]
            age: u8,
            #[table(json, default)]
            skills: Vec<String>,
            #[table(flatten)]
            address: Address,
            #[table(flatten, part = "days", rename = "Day", constant = "DAYS")]
            days: [u32; 365],
            #[table(chunked)]
            body: String,
            #[table(blob(inline_below = 0), was = "Picture")]
            photo: Option<Blob>,
            #[table(skip, default = Cache::new)]
            cache: Cache<u8, 3>,
            #[table(copy_of(crate::Team, key(name = first_name, r#type = id), on_delete = keep), rename = "Team")]
            team: Option<TeamCard>,
        }
    }
}

fn model() -> TokenStream {
    quote! {
        #[table(crate = "::tablemodel")]
        pub enum Company { Employee(Employee), Department(crate::Department), #[table(other)] Other(Row) }
    }
}

fn projection() -> TokenStream {
    quote! {
        #[table(of = crate::Employee)]
        struct Card { first_name: String, #[table(blob)] photo: Blob, #[table(json, default, constant = "SKILLS")] skills: Vec<String> }
    }
}

fn names() -> TokenStream {
    quote! {
        #[table(rename_all = "snake_case")]
        enum Color { Red, #[table(rename = "verde")] Green, r#Self_ }
    }
}

fn group() -> TokenStream {
    quote! {
        #[table(rename_all = "UPPERCASE")]
        struct Address { #[table(rename = "Town", was = "City")] city: String, #[table(default)] zip: Option<u32> }
    }
}

fn newtype() -> TokenStream {
    quote!(
        pub struct Id(pub u32);
    )
}

/// Every derive.
const DERIVES: [fn(TokenStream) -> TokenStream; 5] = [
    crate::emit::entity::derive,
    crate::emit::model::derive,
    crate::emit::projection::derive,
    crate::emit::value::derive_property,
    crate::emit::value::derive_key_part,
];

/// Every kind of item.
fn items() -> [TokenStream; 6] {
    [entity(), model(), projection(), names(), group(), newtype()]
}

/// Whether the expansion reports an error.
fn is_refused(expansion: &TokenStream) -> bool {
    expansion.to_string().contains("compile_error")
}

#[test]
fn each_item_is_taken_by_its_derives_without_error() {
    let taken = [(0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (3, 5), (4, 3), (4, 5)];
    for (derive, expand) in DERIVES.iter().enumerate() {
        for (item, tokens) in items().into_iter().enumerate() {
            let expansion = expand(tokens);
            assert_eq!(
                is_refused(&expansion),
                !taken.contains(&(derive, item)),
                "derive {derive} of item {item}: {expansion}"
            );
        }
    }
}
