//! An enum kept as text: the text of each variant.

use proc_macro2::Ident;
use syn::{Expr, ExprLit, ExprUnary, Fields, Lit, UnOp, ext::IdentExt};

use crate::{
    errors::Errors,
    names::Case,
    written::{Input, Variant, VariantWords},
};

/// A variant and its text.
pub(crate) struct Text {
    pub(crate) ident: Ident,
    pub(crate) text: String,
    /// The number that the user gave it.
    number: Option<Expr>,
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
        texts.push(Text { ident: variant.ident.clone(), text, number: variant.discriminant.clone() });
    }
    texts
}

fn text(variant: &Variant, case: Option<Case>, errors: &mut Errors) -> (String, proc_macro2::Span) {
    let words = VariantWords::read(variant, &VariantWords::OF_NAMES, errors);
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

/// Whether the texts ascend as keys are compared, by UTF-16 code units, in the order of the variants: that of their
/// numbers, where the user gives some. A number that does not show here may be any.
pub(crate) fn ascend(texts: &[Text]) -> bool {
    let by_text = texts.is_sorted_by(|a, b| a.text.encode_utf16().lt(b.text.encode_utf16()));
    let numbers = texts.iter().scan(-1, |last, text| {
        *last = text.number.as_ref().map_or(i128::checked_add(*last, 1), literal)?;
        Some(*last)
    });
    let numbers: Vec<i128> = numbers.collect();
    by_text && numbers.len() == texts.len() && numbers.is_sorted()
}

/// `3` or `-3`
fn literal(number: &Expr) -> Option<i128> {
    match number {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => literal(expr)?.checked_neg(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn text(text: &str, number: Option<Expr>) -> Text {
        Text { ident: Ident::new("A", Span::call_site()), text: text.to_owned(), number }
    }

    fn ascends(texts: &[&str]) -> bool {
        ascend(&texts.iter().map(|of| text(of, None)).collect::<Vec<_>>())
    }

    fn ascends_by(numbers: &[Option<Expr>]) -> bool {
        let texts = ["A", "B", "C"].iter().zip(numbers).map(|(of, number)| text(of, number.clone()));
        ascend(&texts.collect::<Vec<_>>())
    }

    #[test]
    fn texts_ascend_by_code_units() {
        assert!(ascends(&["Blue", "Green", "Red"]) && ascends(&[]) && ascends(&["x"]));
        assert!(!ascends(&["Red", "Green"]) && !ascends(&["a", "a"]));
        assert!(ascends(&["\u{10000}", "\u{ffee}"]), "a surrogate pair begins lower than U+FFEE");
    }

    #[test]
    fn variants_with_numbers_are_in_the_order_of_these() {
        let number = |text: &str| Some(syn::parse_str(text).unwrap());
        assert!(ascends_by(&[number("1"), None, number("3_u8")]));
        assert!(ascends_by(&[number("-0x10"), None, number("-1")]));
        assert!(!ascends_by(&[number("2"), number("1"), None]));
        assert!(!ascends_by(&[None, None, number("0")]));
        assert!(!ascends_by(&[None, number("LAST"), None]), "a constant may be any number");
    }
}
