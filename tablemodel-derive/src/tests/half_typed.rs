//! While a user types, a derive sees anything: it must answer with errors, not panic, and leave items that parse.

use proc_macro2::{Group, TokenStream, TokenTree};

use super::{DERIVES, items};

/// Every input that is one change away: a token dropped, doubled, or all that follow it dropped.
fn neighbours(tokens: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut all = Vec::new();
    for (place, tree) in trees.iter().enumerate() {
        let (before, after) = trees.split_at(place);
        let with = |middle: &[TokenTree], rest: &[TokenTree]| -> TokenStream {
            before.iter().chain(middle).chain(rest).cloned().collect()
        };
        let rest = after.get(1..).unwrap_or_default();
        all.push(with(&[], rest));
        all.push(with(&[], &[]));
        all.push(with(&[tree.clone(), tree.clone()], rest));
        if let TokenTree::Group(group) = tree {
            for inside in neighbours(&group.stream()) {
                let mut changed = Group::new(group.delimiter(), inside);
                changed.set_span(group.span());
                all.push(with(&[TokenTree::Group(changed)], rest));
            }
        }
    }
    all
}

#[test]
fn no_input_makes_a_derive_panic_and_every_answer_parses() {
    let mut tried = 0;
    for item in items() {
        for input in neighbours(&item) {
            for expand in DERIVES {
                let expansion = expand(input.clone());
                assert!(syn::parse2::<syn::File>(expansion.clone()).is_ok(), "{input}\nbecame\n{expansion}");
                tried += 1;
            }
        }
    }
    assert!(tried > 4_000, "only {tried} inputs were tried");
}

#[test]
fn every_word_can_have_any_kind_of_value() {
    let values =
        ["", "= ", "= 3", "= \"\"", "= \"{\"", "= true", "= -1", "()", "(x)", "(x = )", "[x]", "= r#\"{a\"#", "::x"];
    let words = [
        "name",
        "row",
        "version",
        "index",
        "keep",
        "when",
        "default",
        "of",
        "crate",
        "allow",
        "rename_all",
        "method",
        "copy_of",
        "key",
    ];
    for word in words {
        for value in values {
            let item = format!(
                "#[table({word} {value}, index(a, {word} {value}))] struct A {{ #[table({word} {value})] a: u8 }}"
            );
            let tokens: TokenStream = item.parse().expect("tokens");
            for expand in DERIVES {
                let expansion = expand(tokens.clone());
                assert!(syn::parse2::<syn::File>(expansion).is_ok(), "{item}");
            }
        }
    }
}

#[test]
fn keywords_as_names_of_functions_are_told_once_each() {
    for name in ["type", "match", "self", "_", "crate"] {
        let item = format!(
            "#[table(name = \"Letters\", partition = \"{{a}}\", row = \"r\", index({name}, row = \"i_{{b}}_{{a}}\"))] \
             struct A {{ a: u8, b: u8 }}"
        );
        let expansion = expand_entity(&item);
        assert!(syn::parse2::<syn::File>(expansion.clone()).is_ok(), "{item}");
        assert_eq!(expansion.to_string().matches("compile_error").count(), 1, "{name}: {expansion}");
    }
}

#[test]
fn a_missing_comma_in_a_list_is_one_error() {
    for list in ["of_b row = \"l_{b}\"", "of_b, row = \"l_{b}\" when = b"] {
        let item = format!(
            "#[table(name = \"Letters\", partition = \"{{a}}\", row = \"r_{{b}}\", list({list}))] struct A {{ a: u8, b: bool }}"
        );
        let expansion = expand_entity(&item);
        assert_eq!(expansion.to_string().matches("compile_error").count(), 1, "{list}: {expansion}");
    }
}

#[test]
fn what_is_called_alike_but_for_r_is_told() {
    let item = "#[table(name = \"Letters\", partition = \"{a}\", row = \"r\", index(by_b, row = \"i_{b}_{a}\"), \
                index(r#by_b, row = \"j_{b}_{a}\"))] struct A { a: u8, b: u8 }";
    assert!(expand_entity(item).to_string().contains("which is taken"));
    let item = "#[table(name = \"Letters\", partition = \"{a}\", row = \"{r#count}\")] struct A { a: u8, r#count: u8 }";
    assert!(expand_entity(item).to_string().contains("would hide `count`"), "{}", expand_entity(item));
}

/// What `TableEntity` makes of it.
fn expand_entity(item: &str) -> TokenStream {
    DERIVES[0](item.parse().expect("tokens"))
}

#[test]
fn an_item_that_cannot_be_parsed_is_one_error_and_keeps_what_can_be_read_of_it() {
    let words = "#[table(name = \"Letters\", partition = \"{a}\", row = \"r_{b}\")]";
    for fields in
        ["a: u8 b: u8", "a: u8, : u8, b: u8", "a: u8, b: u8, c: Vec<u8,", "a:: u8, b: u8", "a: u8, #[table(json)] b u8"]
    {
        let expansion = expand_entity(&format!("{words} struct A {{ {fields} }}")).to_string();
        assert_eq!(expansion.matches("compile_error").count(), 1, "{fields}: {expansion}");
        assert!(expansion.contains("TableEntity for A") && expansion.contains("fn find"), "{fields}: {expansion}");
    }
    let model = DERIVES[1]("enum Company { A(A) B(B) }".parse().expect("tokens")).to_string();
    assert_eq!(model.matches("compile_error").count(), 1, "{model}");
    assert!(model.contains("TableModel for Company"), "{model}");
}
