//! What frozen structs and the upgrades between them are written with.
//! Which struct that is, and what it is made to, is the user's code.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
pub use serde_json::Value as Json;
use tablemodel_store::{EdmType, Properties, PropertyName, Value, ValueRef};

use crate::{
    entity::{FieldError, FieldReader, FieldWriter, TableEntity},
    key::{KeyPart, KeyType, NO_VALUES},
    path::{KeyForm, Other},
    property::{Property, ValueError, variant::variant_text},
    upgrade::UpgradeError,
};

/// The text of an enum that is no longer in the program, as it is stored. `ORDERED`: the enum's texts ascended in the
/// order of its variants.
///
/// In an upgrade that `cargo tablemodel diff` wrote in full, [`carry`] makes it the enum that the new struct has, where that has a
/// variant with this text. In one that you end, [`read`](Word::read) does so, and what else it becomes is said there:
///
/// ```
/// use tablemodel::{Property, UpgradeError, format::Word};
///
/// #[derive(Debug, PartialEq, Property)]
/// enum Grade {
///     Junior,
///     Senior,
/// }
///
/// fn grade(old: &Word) -> Result<Grade, UpgradeError> {
///     match old.0.as_str() {
///         "Apprentice" => Ok(Grade::Junior), // of two variants one
///         _ => old.read(),
///     }
/// }
///
/// assert_eq!(grade(&Word("Apprentice".into())).unwrap(), Grade::Junior);
/// assert_eq!(grade(&Word("Senior".into())).unwrap(), Grade::Senior);
/// assert!(grade(&Word("Master".into())).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Word<const ORDERED: bool = true>(pub String);

impl<const ORDERED: bool> Word<ORDERED> {
    /// The enum of today that has a variant with this text.
    ///
    /// # Errors
    ///
    /// That it has none, for an [`Upgrade`](crate::Upgrade) to give on.
    pub fn read<T: Property>(&self) -> Result<T, UpgradeError> {
        T::from_value(Some(ValueRef::String(&self.0))).map_err(|error| UpgradeError::new(error.to_string()))
    }
}

/// What a `json` field of a frozen struct holds, as the type that it has today.
///
/// # Errors
///
/// That it is none of that type, for an [`Upgrade`](crate::Upgrade) to give on.
///
/// ```
/// use tablemodel::format::{Json, read_json};
///
/// let old = Json::from(vec!["sql", "rust"]);
/// let skills: Vec<String> = read_json(old)?;
/// assert_eq!(skills, ["sql", "rust"]);
/// # Ok::<(), tablemodel::UpgradeError>(())
/// ```
pub fn read_json<T: DeserializeOwned>(old: Json) -> Result<T, UpgradeError> {
    serde_json::from_value(old).map_err(|error| UpgradeError::new(error.to_string()))
}

impl<const ORDERED: bool> Property for Word<ORDERED> {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "enum";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::String(self.0.clone())))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        variant_text(value).map(|text| Self(text.to_owned()))
    }
}

/// As a unit variant is written.
impl<const ORDERED: bool> Serialize for Word<ORDERED> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de, const ORDERED: bool> Deserialize<'de> for Word<ORDERED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

impl<const ORDERED: bool> KeyPart for Word<ORDERED> {
    const TYPE: KeyType = KeyType::Enum { ordered: ORDERED };
    type Key = Self;
}

impl<const ORDERED: bool> KeyForm for Word<ORDERED> {
    type Form = Other;
}

/// The new struct with what the old one stores: each property under its name, or under the one that `renames` gives it
/// (stored names, the old one first). What the new one has not is left out; what only it has is its default, or `None`.
///
/// An integer that became wider, a type that became an `Option`, a newtype or an enum in place of what it is stored as:
/// all that reads the same stored value is taken over. No request is made.
///
/// # Errors
///
/// [`FieldError`] for a property that the new struct needs and the old one has not, or that is no value of its type.
///
/// ```
/// use tablemodel::{format::carry, prelude::*};
///
/// #[derive(TableEntity)]
/// #[table(name = "Stock", entity_type = "Item", partition = "{shelf}", row = "{id}")]
/// struct ItemV1 {
///     shelf: String,
///     id: u32,
///     qty: u16,
/// }
///
/// #[derive(Debug, PartialEq, TableEntity)]
/// #[table(name = "Stock", partition = "{shelf}", row = "{id}", version = 2)]
/// struct Item {
///     shelf: String,
///     id: u32,
///     quantity: u32,
///     note: Option<String>,
/// }
///
/// let old = ItemV1 { shelf: "A".into(), id: 7, qty: 3 };
/// let new: Item = carry(&old, &[("Qty", "Quantity")]).unwrap();
/// assert_eq!(new, Item { shelf: "A".into(), id: 7, quantity: 3, note: None });
/// ```
pub fn carry<Old: TableEntity, New: TableEntity>(old: &Old, renames: &[(&str, &str)]) -> Result<New, FieldError> {
    let mut writer = FieldWriter::with_capacity(Old::SCHEMA.property_count());
    old.write_fields(&mut writer)?;
    let stored = writer.into_properties();
    let renamed = |name: &str| renames.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| *to).to_owned();
    let properties: Properties =
        stored.iter().map(|(name, value)| (PropertyName::from(renamed(name.as_str())), value.to_value())).collect();
    New::read_fields(&FieldReader::new(&properties, &NO_VALUES))
}
