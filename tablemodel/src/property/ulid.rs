//! ULIDs as properties and key parts.
//! No identifier is made here.

use ::ulid::{ULID_LEN, Ulid};
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::key::{KeyPart, KeyType};

impl Property for Ulid {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "ulid";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        let mut buffer = [0; ULID_LEN];
        Ok(Some(Value::from(&*self.array_to_str(&mut buffer))))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let text = super::text::read(value)?;
        let read = Self::from_string(text).ok();
        // the parser lets 26 characters overflow 128 bits
        read.filter(|ulid| text.eq_ignore_ascii_case(ulid.array_to_str(&mut [0; ULID_LEN])))
            .ok_or_else(|| ValueError::malformed("a ULID", format_args!("{text:?}")))
    }
}

impl KeyPart for Ulid {
    const TYPE: KeyType = KeyType::Ulid;
    type Key = Self;
}
