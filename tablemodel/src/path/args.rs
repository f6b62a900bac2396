//! What range and prefix methods of a path accept.
//!
//! Only bounds with messages; the values themselves are encoded in `key`.

use crate::key::{KeyArg, KeyPart, KeyType};

/// A key part of fixed width: its range method exists wherever it stands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no range here: another part follows it, and across the separator key order is not its own order",
    label = "no `_between` for this component",
    note = "let the part be the last of the template, or follow it with `!`, which sorts below every text"
)]
pub trait FixedWidth {}

/// A key part that is text: it has prefixes.
#[diagnostic::on_unimplemented(message = "`{Self}` is not text, so it has no prefixes", label = "no `_starts_with` for this component")]
pub trait TextPart {}

/// A bound of a range over a key part of fixed width.
pub trait RangeArg<K: KeyPart>: KeyArg<K> {}

#[diagnostic::do_not_recommend]
impl<K: KeyPart + FixedWidth, A: KeyArg<K>> RangeArg<K> for A {}

/// A prefix of a key part that is text.
pub trait PrefixOf<K>: AsRef<str> {}

#[diagnostic::do_not_recommend]
impl<K: TextPart, T: AsRef<str>> PrefixOf<K> for T {}

macro_rules! marks {
    ($mark:ident for $($type:ty),* $(,)?) => {$(impl $mark for $type {})*};
}

marks!(FixedWidth for bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64, tablemodel_store::DateTime, std::time::SystemTime);
marks!(TextPart for String);

/// Whether every key of this type has one width.
pub const fn is_fixed_width(key_type: KeyType) -> bool {
    !matches!(key_type, KeyType::Text | KeyType::Binary | KeyType::Enum { .. })
}
