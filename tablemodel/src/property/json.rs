//! Values kept as JSON text, for fields under `#[table(json)]`.
//! Such a text has no order and no key.
//!
//! A value whose JSON is `null` is an absent property. JSON has its limits: an `Option` of an `Option` loses a level. A float
//! that is not finite is refused, where serde_json would write `null`, and so is a value whose text cannot be read back, as
//! with `skip_serializing_if` and no `default`. A map in random order, such as `HashMap`, gives another text each time, and so
//! a row that seems changed; take `BTreeMap`.

use serde::{Serialize, de::DeserializeOwned};
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError, finite, text};
use crate::key::KeyPart;

/// The type of the stored value.
pub const EDM: EdmType = EdmType::String;
/// The identity of the encoding.
pub const CODEC: &str = "json";

/// The JSON that is not stored.
pub(crate) const ABSENT: &str = "null";

/// The value as JSON text; `None` for `null`.
///
/// ```
/// use tablemodel::property::json;
///
/// let stored = json::to_value(&vec!["Rust", "SQL"])?;
/// assert_eq!(stored, Some(r#"["Rust","SQL"]"#.into()));
/// assert_eq!(json::to_value(&None::<u8>)?, None);
/// # Ok::<(), tablemodel::property::ValueError>(())
/// ```
///
/// # Errors
///
/// [`ValueError::Malformed`] when the value has no JSON form, such as a map with keys that are no texts, or a float that is not
/// finite.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Option<Value>, ValueError> {
    const EXPECTED: &str = "a value that JSON can hold";
    let text = serde_json::to_string(value).map_err(|error| ValueError::malformed(EXPECTED, error))?;
    finite::check(value).map_err(|error| ValueError::malformed(EXPECTED, error))?;
    Ok((text != ABSENT).then_some(Value::String(text)))
}

/// The error for a value whose JSON cannot be read back: serde's attributes on the type do not belong together.
pub(crate) fn unreadable(error: &ValueError) -> ValueError {
    ValueError::malformed("a value whose JSON its own type reads back", error)
}

/// The error for `null` in a field that reads as another default where it is absent.
pub(crate) fn null_for_default() -> ValueError {
    ValueError::malformed(
        "a value other than `null`",
        "that is not stored, and reads as the field's default; take an `Option` without one",
    )
}

/// The stored form of the default of a field marked `json`. For generated code.
#[doc(hidden)]
pub fn default_value<T: Serialize>(default: impl FnOnce() -> T) -> Result<Option<Value>, ValueError> {
    to_value(&default())
}

/// The value of a JSON text; an absent property reads as `null`.
///
/// # Errors
///
/// [`ValueError::Missing`] when the property is absent and the type has no `null`; [`ValueError::Malformed`] when the
/// text is not JSON of the type.
pub fn from_value<T: DeserializeOwned>(value: Option<ValueRef<'_>>) -> Result<T, ValueError> {
    if value.is_none() {
        return serde_json::from_str(ABSENT).map_err(|_| ValueError::Missing);
    }
    serde_json::from_str(text::read(value)?).map_err(|error| ValueError::malformed("JSON of the field's type", error))
}

/// The elements of a list stored as JSON, each in its own stored form; none of an absent list.
///
/// # Errors
///
/// [`ValueError`] where the text is no such list, or an element has no stored form.
pub fn elements<C>(value: Option<ValueRef<'_>>) -> Result<Vec<Value>, ValueError>
where
    C: DeserializeOwned + IntoIterator<Item: KeyPart>,
{
    if value.is_none() {
        return Ok(Vec::new());
    }
    let list: C = from_value(value)?;
    let values = list.into_iter().filter_map(|element| element.to_value().transpose());
    values.collect()
}
