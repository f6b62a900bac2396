//! Values that may be absent.
//! A row has no null: an absent value is an absent property.

use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::{
    entity::FieldWriter,
    key::{KeyPart, KeyType, Samples},
};

impl<T: Property> Property for Option<T> {
    const EDM: EdmType = {
        assert!(!T::NULLABLE, "an Option of an Option cannot be stored: an absent property has one meaning");
        T::EDM
    };
    const CODEC: &'static str = T::CODEC;
    const NULLABLE: bool = true;
    const ORDERED: bool = T::ORDERED;

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        self.as_ref().map_or(Ok(None), T::to_value)
    }

    fn add_to(&self, to: &mut FieldWriter, property: &'static str) {
        if let Some(value) = self {
            value.add_to(to, property);
        }
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        value.map(|value| T::from_value(Some(value))).transpose()
    }
}

impl<T: KeyPart> KeyPart for Option<T> {
    const TYPE: KeyType = T::TYPE;
    const OPTIONAL: bool = true;
    const SAMPLES: Samples = T::SAMPLES;
    type Key = T;
}
