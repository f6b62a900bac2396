//! What a field's handle takes for a value.
//! Nothing is compared or set here.

use serde::{Serialize, de::DeserializeOwned};
use tablemodel_store::{EdmType, Value, ValueRef};

use crate::property::{Property, ValueError, json};

/// A value that a field of type `T` can be compared with or set to: a `T`; what is in it, where it is an `Option`; and
/// `&str` for a `String`.
///
/// ```
/// use tablemodel::prelude::*;
///
/// #[derive(Debug, TableEntity)]
/// #[table(name = "Desks", partition = "{floor}", row = "{id}", allow_scan)]
/// struct Desk {
///     floor: u8,
///     id: u32,
///     label: Option<String>,
///     seats: Option<u8>,
/// }
///
/// let _patch = Desk::LABEL.set("by the window").and(Desk::SEATS.set(2));
/// let _clears = Desk::LABEL.set(None).and(Desk::SEATS.set(Some(2))); // as they are kept
/// let _empty = Desk::scan_table().matching(Desk::LABEL.eq(None).or(Desk::SEATS.lt(1)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of this field, which is a `{T}`",
    label = "expected `{T}`"
)]
pub trait FieldArg<T> {
    /// The value as a `T`.
    fn into_field(self) -> T;
}

impl<T: Property> FieldArg<T> for T {
    fn into_field(self) -> T {
        self
    }
}

impl<T: Property> FieldArg<Option<T>> for T {
    fn into_field(self) -> Option<T> {
        Some(self)
    }
}

impl FieldArg<String> for &str {
    fn into_field(self) -> String {
        self.to_owned()
    }
}

impl FieldArg<Option<String>> for &str {
    fn into_field(self) -> Option<String> {
        Some(self.to_owned())
    }
}

/// The type of the handle of a field marked `json`.
#[derive(Debug, Clone)]
pub struct AsJson<T>(pub T);

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Property for AsJson<T> {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "json";
    const ORDERED: bool = false;

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        let value = json::to_value(&self.0)?;
        let read: Result<T, _> = json::from_value(value.as_ref().map(Value::as_ref));
        read.map_err(|error| json::unreadable(&error))?;
        Ok(value)
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        json::from_value(value).map(Self)
    }
}

impl<T> FieldArg<AsJson<T>> for T {
    fn into_field(self) -> AsJson<T> {
        AsJson(self)
    }
}

impl<T> FieldArg<AsJson<Option<T>>> for T {
    fn into_field(self) -> AsJson<Option<T>> {
        AsJson(Some(self))
    }
}
