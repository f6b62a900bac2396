//! UUIDs as properties and key parts.
//! No identifier is made here.

use ::uuid::Uuid;
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType};

impl Property for Uuid {
    const EDM: EdmType = EdmType::Guid;
    const CODEC: &'static str = "uuid";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Guid(*self)))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        match value.ok_or(ValueError::Missing)? {
            ValueRef::Guid(uuid) => Ok(uuid),
            ValueRef::String(text) => Self::parse_str(text)
                .map_err(|error| ValueError::malformed("a UUID", format_args!("{text:?}: {error}"))),
            other => Err(ValueError::WrongType { expected: EdmType::Guid, found: other.edm() }),
        }
    }
}

impl KeyPart for Uuid {
    const TYPE: KeyType = KeyType::Uuid;
    type Key = Self;
}
