//! Texts, characters and truth values as properties.
//! No text is trimmed, folded or cut.

use std::{borrow::Cow, sync::Arc};

use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::{
    entity::FieldWriter,
    key::{KeyArg, KeyPart, KeyType},
};

/// The text that is stored here.
#[inline]
pub(super) fn read(value: Option<ValueRef<'_>>) -> Result<&str, ValueError> {
    match value {
        Some(ValueRef::String(text)) => Ok(text),
        other => Err(no_text(other)),
    }
}

#[cold]
fn no_text(value: Option<ValueRef<'_>>) -> ValueError {
    value.map_or(ValueError::Missing, |other| ValueError::WrongType { expected: EdmType::String, found: other.edm() })
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Property for $type {
            const EDM: EdmType = EdmType::String;
            const CODEC: &'static str = "string";

            fn to_value(&self) -> Result<Option<Value>, ValueError> {
                Ok(Some(Value::from(&**self)))
            }

            fn add_to(&self, to: &mut FieldWriter, property: &'static str) {
                to.add_ref(property, ValueRef::String(self));
            }

            #[inline]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
                read(value).map(|text| text.to_owned().into())
            }
        }

        impl KeyPart for $type {
            const TYPE: KeyType = KeyType::Text;
            type Key = Self;
        }

        impl KeyArg<$type> for &str {
            fn to_key_value(&self) -> Result<Value, ValueError> {
                Ok(Value::from(*self))
            }

            fn show_key_value(&self, see: &mut dyn FnMut(ValueRef<'_>)) -> Result<(), ValueError> {
                see(ValueRef::String(self));
                Ok(())
            }
        }
    )*};
}

texts!(String, Box<str>, Arc<str>, Cow<'static, str>);

impl Property for char {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "char";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::String(self.to_string())))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let text = read(value)?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(c),
            _ => Err(ValueError::malformed("one character", format_args!("{text:?}"))),
        }
    }
}

impl KeyPart for char {
    const TYPE: KeyType = KeyType::Text;
    type Key = Self;
}

impl Property for bool {
    const EDM: EdmType = EdmType::Boolean;
    const CODEC: &'static str = "bool";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Boolean(*self)))
    }

    #[inline]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        match value.ok_or(ValueError::Missing)? {
            ValueRef::Boolean(truth) => Ok(truth),
            other => Err(ValueError::WrongType { expected: EdmType::Boolean, found: other.edm() }),
        }
    }
}

impl KeyPart for bool {
    const TYPE: KeyType = KeyType::Bool;
    type Key = Self;
}
