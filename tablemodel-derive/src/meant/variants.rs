//! An enum kept as text: the text of each variant.

use proc_macro2::Ident;
use syn::{Fields, ext::IdentExt};

use crate::{
    errors::Errors,
    names::Case,
    written::{Input, Variant, VariantWords},
};

/// A variant and its text.
pub(crate) struct Text {
    pub(crate) ident: Ident,
    pub(crate) text: String,
}

/// The texts of the variants, in the order of the enum.
pub(crate) fn resolve(input: &Input, variants: &[Variant], case: Option<Case>, errors: &mut Errors) -> Vec<Text> {
    if variants.is_empty() {
        errors.at(input.ident.span(), format!("`{}` has no variants, so it has no value to store", input.ident));
    }
    let mut texts: Vec<Text> = Vec::new();
    for variant in variants {
        let (text, span) = text(variant, case, errors);
        if let Some(earlier) = texts.iter().find(|earlier| earlier.text == text) {
            let message = format!("variants `{}` and `{}` would both be stored as", earlier.ident, variant.ident);
            errors.at(span, format!("{message} `{text}`: give one another text with `rename = \"..\"`"));
        }
        texts.push(Text { ident: variant.ident.clone(), text });
    }
    texts
}

fn text(variant: &Variant, case: Option<Case>, errors: &mut Errors) -> (String, proc_macro2::Span) {
    let words = VariantWords::read(variant, &["rename"], errors);
    if !matches!(variant.fields, Fields::Unit) {
        let message = format!("variant `{}` holds data, and only names can be stored as text", variant.ident);
        errors.at(variant.ident.span(), format!("{message}: use a struct, or `#[table(json)]` on the field"));
    }
    let name = variant.ident.unraw().to_string();
    match words.rename.get() {
        Some(given) => (given.value(), given.span()),
        None => (case.map_or_else(|| name.clone(), |case| case.apply(&name)), variant.ident.span()),
    }
}

/// Whether the texts ascend as keys are compared: by UTF-16 code units.
pub(crate) fn ascend(texts: &[Text]) -> bool {
    texts.is_sorted_by(|a, b| a.text.encode_utf16().lt(b.text.encode_utf16()))
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn ascends(texts: &[&str]) -> bool {
        let text = |text: &&str| Text { ident: Ident::new("A", Span::call_site()), text: (*text).to_owned() };
        ascend(&texts.iter().map(text).collect::<Vec<_>>())
    }

    #[test]
    fn texts_ascend_by_code_units() {
        assert!(ascends(&["Blue", "Green", "Red"]) && ascends(&[]) && ascends(&["x"]));
        assert!(!ascends(&["Red", "Green"]) && !ascends(&["a", "a"]));
        assert!(ascends(&["\u{10000}", "\u{ffee}"]), "a surrogate pair begins lower than U+FFEE");
    }
}
