//! The texts of enums, for `#[derive(Property)]`.
//! Which texts an enum has is the derive's to say.

use tablemodel_store::ValueRef;

use super::{ValueError, text};

/// The text that is stored for a variant.
pub fn variant_text(value: Option<ValueRef<'_>>) -> Result<&str, ValueError> {
    text::read(value)
}

/// The error for a text that is none of the enum's; `expected` names the enum.
pub fn unknown_variant<T>(expected: &'static str, text: &str) -> Result<T, ValueError> {
    Err(ValueError::malformed(expected, format_args!("{text:?} is none of its texts")))
}
