//! Key templates as constant data, and the pure functions that make keys and key ranges of them.
//! No row, no store and no user type is known here: values come as stored ones.
//!
//! A [`Template`] is a list of literals and [`Part`]s. The derive makes it of `row = "empid_{id:06}"`; everything
//! that a rule needs to know about it is a `const fn`, so that a broken template does not compile. What holds of
//! every template without a [`Problem`]:
//!
//! - *Injective*: two rows share a key only if all components that are not lossy are equal.
//! - *Ordered*: where [`Template::orders`] says so, keys sort as the component's values do.
//! - *Legal*: every value has a key, unless it is a NaN, out of range, or too long; no key holds `/ \ # ? %`, `'`, a
//!   space or a control character (`raw` texts may hold `'` and spaces).
//! - *Prefix-exact*: [`Next::StartsWith`] is a range of exactly the texts that begin so.
//!
//! Keys sort by UTF-16 code units, see [`tablemodel_store::key`]; so do texts in ranges, where Rust's own order
//! differs for characters from U+E000 on.
//!
#![doc = include_str!("../../docs/keys.md")]

mod check;
mod codec;
mod digest;
mod error;
mod fold;
mod key_type;
mod overlap;
mod part;
mod range;
mod read;
mod samples;
mod shape;
mod template;
mod text;
mod values;
mod write;

pub(crate) mod calendar;
pub(crate) mod digits;

pub use self::{
    check::Problem,
    codec::Codec,
    error::{KeyError, KeyFault},
    key_type::KeyType,
    part::{KeyArg, KeyPart, Part, Segment},
    range::Next,
    samples::Samples,
    template::Template,
};
pub(crate) use self::{
    range::beginning_with,
    read::KeyValue,
    values::{KeyValues, NO_VALUES, is_same},
};

/// A text as it stands at the end of a key: without `!`, and read back by [`text_of_code`].
pub(crate) fn text_code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    text::push(&mut code, text, None);
    code
}

/// The text that has this code, and no other.
pub(crate) fn text_of_code(code: &str) -> Option<String> {
    text::decode(code).filter(|text| text_code(text) == code)
}

/// The bucket of a text, below `buckets`: as `shard(n)` has it.
pub(crate) fn bucket_of(text: &str, buckets: u16) -> u16 {
    digest::Framed::new(text.as_bytes()).shard(buckets)
}

/// Decimal digits of a time's ticks: `DateTime::MAX` has 19.
const TICK_DIGITS: u8 = 19;
