//! What range and prefix methods of a path accept.
//!
//! Only bounds with messages; the values themselves are encoded in `key`.

use std::time::SystemTime;

use tablemodel_store::{DateTime, Uuid};

use crate::key::{KeyArg, KeyPart};

/// What form the keys of a type have. Implemented for every built-in key part, and by `#[derive(KeyPart)]`.
#[diagnostic::on_unimplemented(
    message = "the form of `{Self}` in a key is not known",
    label = "not a key type, or one without `KeyForm`",
    note = "write `#[derive(KeyPart)]`, or implement `KeyForm` beside `KeyPart`"
)]
pub trait KeyForm {
    /// [`Fixed`], [`Text`], [`Unordered`] or [`Other`].
    type Form;
}

/// Keys of fixed width: a range method exists wherever the part stands.
#[derive(Debug)]
pub enum Fixed {}

/// Text: it has prefixes.
#[derive(Debug)]
pub enum Text {}

/// Names whose texts do not ascend as their values do: no range of them is a range of keys.
#[derive(Debug)]
pub enum Unordered {}

/// None of these: other enums, and bytes.
#[derive(Debug)]
pub enum Other {}

/// A form whose keys are in the order of their values: all but [`Unordered`].
pub trait OrderedForm {}

impl OrderedForm for Fixed {}
impl OrderedForm for Text {}
impl OrderedForm for Other {}

/// A bound of a range over a key part that is the last of its template, or that `!` follows.
#[diagnostic::on_unimplemented(
    message = "`{K}` has no range: its texts do not ascend in the order of its variants, so that key order is not its own order",
    label = "no `_between` for this component",
    note = "let the texts ascend by `#[table(rename = \"..\")]` on the variants, or ask for one value after the other"
)]
pub trait OrderedArg<K> {}

#[diagnostic::do_not_recommend]
impl<K: KeyForm<Form: OrderedForm>, A> OrderedArg<K> for A {}

/// A bound of a range over a key part that another part follows.
#[diagnostic::on_unimplemented(
    message = "`{K}` has no range here: another part follows it, and across the separator key order is not its own order",
    label = "no `_between` for this component",
    note = "let the part be the last of the template, or follow it with `!`, which sorts below every text"
)]
pub trait RangeArg<K: KeyPart>: KeyArg<K> {}

#[diagnostic::do_not_recommend]
impl<K: KeyPart + KeyForm<Form = Fixed>, A: KeyArg<K>> RangeArg<K> for A {}

/// A prefix of a key part that is text.
#[diagnostic::on_unimplemented(
    message = "`{K}` is not text, so it has no prefixes",
    label = "no `_starts_with` for this component"
)]
pub trait PrefixOf<K>: AsRef<str> {}

#[diagnostic::do_not_recommend]
impl<K: KeyForm<Form = Text>, T: AsRef<str>> PrefixOf<K> for T {}

macro_rules! forms {
    ($form:ident: $($type:ty),* $(,)?) => {$(
        impl KeyForm for $type {
            type Form = $form;
        }
    )*};
}

forms!(Fixed: bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64, Uuid, DateTime, SystemTime);
forms!(Text: String, Box<str>, std::sync::Arc<str>, std::borrow::Cow<'static, str>);
forms!(Other: char, Vec<u8>);
#[cfg(feature = "bytes")]
forms!(Other: bytes::Bytes);
#[cfg(feature = "chrono")]
forms!(Fixed: chrono::DateTime<chrono::Utc>, chrono::NaiveDate);
#[cfg(feature = "time")]
forms!(Fixed: time::OffsetDateTime, time::Date);
#[cfg(feature = "ulid")]
forms!(Fixed: ulid::Ulid);

impl<const N: usize> KeyForm for [u8; N] {
    type Form = Other;
}

impl<T: KeyForm> KeyForm for Option<T> {
    type Form = T::Form;
}
