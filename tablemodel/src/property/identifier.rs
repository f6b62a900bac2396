//! UUIDs and ULIDs as properties.
//! No identifier is made here.

use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType};

impl Property for uuid::Uuid {
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

impl KeyPart for uuid::Uuid {
    const TYPE: KeyType = KeyType::Uuid;
    type Key = Self;
}

#[cfg(feature = "ulid")]
impl Property for ulid::Ulid {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "ulid";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        let mut buffer = [0; ulid::ULID_LEN];
        Ok(Some(Value::from(&*self.array_to_str(&mut buffer))))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let text = super::text::read(value)?;
        let read = Self::from_string(text).ok();
        // the parser lets 26 characters overflow 128 bits
        read.filter(|ulid| text.eq_ignore_ascii_case(ulid.array_to_str(&mut [0; ulid::ULID_LEN])))
            .ok_or_else(|| ValueError::malformed("a ULID", format_args!("{text:?}")))
    }
}

#[cfg(feature = "ulid")]
impl KeyPart for ulid::Ulid {
    const TYPE: KeyType = KeyType::Ulid;
    type Key = Self;
}
