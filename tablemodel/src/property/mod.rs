//! How a Rust type becomes one property of a row, and comes back.
//! No key is made here (that is [`key`](crate::key)), and no row.
//!
#![doc = include_str!("../../docs/types.md")]

pub(crate) mod array;
mod bytes;
mod error;
mod finite;
mod instant;
mod optional;
mod text;

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(any(feature = "chrono", feature = "time"))]
mod civil;
#[cfg(feature = "decimal")]
mod decimal;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "ulid")]
mod ulid;
mod uuid;

pub mod json;

pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod variant;

use tablemodel_store::{EdmType, Value, ValueRef};

use crate::entity::FieldWriter;

pub use self::{
    array::{PropertyArray, SlotNames},
    error::ValueError,
};

/// What a [`Property`] says of its stored form. For generated code: one constant is looked up in place of three.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct StoredAs {
    pub edm: EdmType,
    pub codec: &'static str,
    pub nullable: bool,
}

/// Gives the default of a field in its stored form; nothing where that is an absent property.
pub type StoredDefault = fn() -> Result<Option<Value>, ValueError>;

/// The stored form of a field's default. For generated code.
#[doc(hidden)]
pub fn default_value<T: Property>(default: impl FnOnce() -> T) -> Result<Option<Value>, ValueError> {
    default().to_value()
}

/// A Rust type that can be stored as one property.
///
/// The pair must be a round trip: what [`to_value`](Property::to_value) wrote, [`from_value`](Property::from_value)
/// gives back. The encoding is part of the stored format: a change of it needs another [`CODEC`](Property::CODEC).
///
/// ```
/// use tablemodel::property::Property;
/// use tablemodel_store::{Value, ValueRef};
///
/// assert_eq!(7_u8.to_value(), Ok(Some(Value::Int32(7))));
/// assert_eq!(u8::from_value(Some(ValueRef::Int64(7))), Ok(7)); // another program wrote it wider
/// assert!(u8::from_value(Some(ValueRef::Int64(300))).is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a table property",
    label = "not a property type",
    note = "properties are: bool, i8..i128, u8..u128, f32, f64, char, String, Vec<u8>, [u8; N], Uuid, DateTime, \
            SystemTime, Option of these, and by feature the types of bytes, chrono, time, ulid and rust_decimal",
    note = "for `usize` and `isize` use `u64` and `i64`: their width would depend on the machine",
    note = "a struct with named fields and `#[derive(Property)]`, or an array, is several properties: write \
            `#[table(flatten)]` on the field",
    note = "write `#[derive(Property)]` on a newtype or an enum, or `#[table(json)]` on the field to keep any other type as \
            JSON; a `Blob` is kept under `#[table(blob)]`"
)]
pub trait Property: Sized + Send + Sync + 'static {
    /// The type of the stored value.
    const EDM: EdmType;
    /// The identity of the encoding, part of the stored format: `"u32"`, `"string"`, `"json"`.
    const CODEC: &'static str;
    /// Whether a value can be absent from the row: true for `Option` alone.
    const NULLABLE: bool = false;
    /// Whether two values compare as what is stored of them does: a scan asks where they do not for equal ones alone.
    const ORDERED: bool = true;
    /// What is stored. For generated code.
    #[doc(hidden)]
    const STORED: StoredAs = StoredAs { edm: Self::EDM, codec: Self::CODEC, nullable: Self::NULLABLE };

    /// The value as it is stored; `None` when the property is absent.
    ///
    /// # Errors
    ///
    /// [`ValueError`] when the value has no stored form, such as a time before 1601.
    fn to_value(&self) -> Result<Option<Value>, ValueError>;

    /// Writes the value under a name, without a copy in between where its type needs none. For generated code.
    #[doc(hidden)]
    fn add_to(&self, to: &mut FieldWriter, property: &'static str) {
        to.add(property, self.to_value());
    }

    /// The value that is stored; `None` when the property is absent.
    ///
    /// # Errors
    ///
    /// [`ValueError`] when the property is missing, of another type, or not a value of this type. A default is
    /// never invented.
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError>;
}
