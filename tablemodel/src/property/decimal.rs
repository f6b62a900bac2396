//! Decimal numbers as properties: their text, which keeps trailing zeros.
//! They have no key form: their texts do not sort as the numbers do.

use rust_decimal::Decimal;
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};

impl Property for Decimal {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "decimal";
    const ORDERED: bool = false;

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::String(self.to_string())))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        match value.ok_or(ValueError::Missing)? {
            ValueRef::String(text) => Self::from_str_exact(text)
                .map_err(|error| ValueError::malformed("a decimal number", format_args!("{text:?}: {error}"))),
            ValueRef::Int32(number) => Ok(number.into()),
            ValueRef::Int64(number) => Ok(number.into()),
            other => Err(ValueError::WrongType { expected: EdmType::String, found: other.edm() }),
        }
    }
}
