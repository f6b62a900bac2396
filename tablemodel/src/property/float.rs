//! Floating point numbers as properties: `Edm.Double`.
//! NaN and the sign of zero are kept; keys are stricter.

use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType};

/// The float that is stored here; integers that a float holds exactly are read too, since JSON has no other kind of
/// number.
pub(crate) fn read(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Double(number) => Some(number),
        ValueRef::Int32(number) => Some(f64::from(number)),
        ValueRef::Int64(number) => Some(number as f64).filter(|float| *float as i128 == i128::from(number)),
        _ => None,
    }
}

#[inline]
fn required(value: Option<ValueRef<'_>>) -> Result<f64, ValueError> {
    let value = value.ok_or(ValueError::Missing)?;
    read(value).ok_or(ValueError::WrongType { expected: EdmType::Double, found: value.edm() })
}

impl Property for f64 {
    const EDM: EdmType = EdmType::Double;
    const CODEC: &'static str = "f64";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Double(*self)))
    }

    #[inline]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        required(value)
    }
}

impl Property for f32 {
    const EDM: EdmType = EdmType::Double;
    const CODEC: &'static str = "f32";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Double(f64::from(*self))))
    }

    #[inline]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let wide = required(value)?;
        let narrow = wide as f32;
        let is_exact = f64::from(narrow) == wide || wide.is_nan();
        is_exact.then_some(narrow).ok_or_else(|| ValueError::out_of_range("f32", wide))
    }
}

impl KeyPart for f64 {
    const TYPE: KeyType = KeyType::Float;
    type Key = Self;
}

impl KeyPart for f32 {
    const TYPE: KeyType = KeyType::Float;
    type Key = Self;
}
