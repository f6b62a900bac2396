//! What an entity costs the user's compiler: lines of generated code, as prettyplease lays them out (a call of three
//! arguments is often five lines).

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::emit::entity::derive;

fn lines(fields: usize, parts: usize, indexes: usize) -> usize {
    let file = syn::parse2(derive(entity(fields, parts, indexes))).expect("the expansion parses");
    let text = prettyplease::unparse(&file);
    assert!(!text.contains("compile_error"), "{text}");
    text.lines().count()
}

/// All parts of the row key are texts, which have the most methods.
fn entity(fields: usize, parts: usize, indexes: usize) -> TokenStream {
    let names: Vec<_> = (0..fields).map(|n| format_ident!("field{n}")).collect();
    let row: Vec<_> = (1..=parts).map(|n| format!("{{field{n}}}")).collect();
    let row = row.join("_");
    let rows = (0..indexes).map(|n| format!("i{n}_{row}"));
    let indexes = (0..indexes).map(|n| format_ident!("index{n}"));
    quote! {
        #[table(name = "Table", partition = "{field0}", row = #row)]
        #(#[table(index(#indexes, row = #rows))])*
        struct Entity { #(#names: String),* }
    }
}

#[test]
fn generated_lines_grow_little_with_fields_parts_and_indexes() {
    let base = lines(2, 1, 0);
    let per_field = lines(11, 1, 0) - lines(10, 1, 0);
    let per_part = lines(11, 3, 0) - lines(11, 2, 0);
    let per_index = lines(11, 3, 2) - lines(11, 3, 1);
    let found = [base, per_field, per_part, per_index];
    // Some are but the breaks of lines: the names of the types of paths are long, since they say what a path asks for.
    let budget = [276, 25, 64, 120];
    assert!(found.iter().zip(budget).all(|(found, budget)| *found <= budget), "{found:?} of {budget:?} lines");
}
