//! The types that can stand in a key, and the constant data that describes where they stand.
//! Nothing is encoded here.

use tablemodel_store::{Value, ValueRef};

use super::{Codec, KeyType, Samples};
use crate::property::{Property, ValueError};

/// A type that can stand in a key template.
///
/// Implement it by `#[derive(Property, KeyPart)]` on a newtype or an enum;
/// [`key_laws`](crate::testing::key_laws()) checks what an implementation promises, as `key_laws::<T>()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a key",
    label = "not a key type",
    note = "key types are: bool, integers, String, char, Uuid, DateTime, SystemTime, Vec<u8>, [u8; N], f32 and \
            f64 (as `{{field:sortable}}`), Option of these in index keys, and by feature the dates and times of \
            chrono and time, Ulid and Bytes",
    note = "write `#[derive(Property, KeyPart)]` on a newtype or an enum"
)]
pub trait KeyPart: Property {
    /// The kind of value; its stored form must be the one of this kind.
    const TYPE: KeyType;
    /// Whether the key may be without it, and then the row does not exist: true for `Option` alone.
    const OPTIONAL: bool = false;
    /// What [`key_laws`](crate::testing::key_laws()) tries the type with. An enum that is written by hand names its texts.
    const SAMPLES: Samples = Samples::OfKind;
    /// Both. For generated code.
    #[doc(hidden)]
    const IN_KEY: (KeyType, bool) = (Self::TYPE, Self::OPTIONAL);
    /// What a query gives for it: the type itself, or the `T` of an `Option<T>`.
    type Key: KeyPart;
}

/// What a query accepts for a key component of type `K`: the value, a reference to it, and `&str` for texts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of this key component, which is a `{K}`",
    label = "expected `{K}`"
)]
pub trait KeyArg<K: KeyPart> {
    /// The value in its stored form.
    ///
    /// # Errors
    ///
    /// [`ValueError`] when the value has no stored form.
    fn to_key_value(&self) -> Result<Value, ValueError>;

    /// Shows the value in its stored form, which need not be made of what has it already.
    ///
    /// # Errors
    ///
    /// As those of [`to_key_value`](KeyArg::to_key_value).
    #[doc(hidden)]
    fn show_key_value(&self, see: &mut dyn FnMut(ValueRef<'_>)) -> Result<(), ValueError> {
        self.to_key_value().map(|value| see(value.as_ref()))
    }
}

impl<K: KeyPart> KeyArg<K> for K {
    fn to_key_value(&self) -> Result<Value, ValueError> {
        self.to_value()?.ok_or(ValueError::Missing)
    }
}

impl<K: KeyPart> KeyArg<K> for &K {
    fn to_key_value(&self) -> Result<Value, ValueError> {
        self.to_value()?.ok_or(ValueError::Missing)
    }
}

/// One component of a key: which field stands there, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The field's name in Rust, for messages.
    pub field: &'static str,
    /// The property's name in the row.
    pub property: &'static str,
    /// The kind of value.
    pub key_type: KeyType,
    /// Whether the value may be absent; then the key, and its row, do not exist.
    pub optional: bool,
    /// How the value is written.
    pub codec: Codec,
}

impl Part {
    /// The component that holds a field of type `T`.
    pub const fn of<T: KeyPart>(field: &'static str, property: &'static str, codec: Codec) -> Self {
        Self { field, property, key_type: T::TYPE, optional: T::OPTIONAL, codec }
    }
}

/// A piece of a key template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// Text that stands in every key.
    Literal(&'static str),
    /// A component.
    Part(Part),
}

impl Segment {
    /// A component of a type that says this of itself in keys. For generated code.
    #[doc(hidden)]
    pub const fn part(
        field: &'static str,
        property: &'static str,
        (key_type, optional): (KeyType, bool),
        codec: Codec,
    ) -> Self {
        Self::Part(Part { field, property, key_type, optional, codec })
    }
}
