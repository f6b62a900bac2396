//! Whether an entity can be read: its values of the types of their fields, its key that of its fields.

use tablemodel_store::{EdmType, ValueRef};

use super::ViolationKind;
use crate::{
    error::{Error, ErrorKind},
    plan::{group::Group, image::Image, version::Old},
    schema::{BLOB, EntitySchema, PropertySchema},
};

/// The codec of a field stored as JSON: what its type reads from nothing is not known here.
const JSON: &str = "json";

/// What is wrong with an entity.
pub(super) struct Unreadable {
    pub(super) kind: ViolationKind,
    pub(super) detail: String,
}

impl From<String> for Unreadable {
    fn from(detail: String) -> Self {
        Self { kind: ViolationKind::Corrupt, detail }
    }
}

impl From<Error> for Unreadable {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::UnknownVersion => ViolationKind::UnknownVersion,
            _ => ViolationKind::Corrupt,
        };
        Self { kind, detail: error.to_string() }
    }
}

/// An entity whose rows are as the schema of the version that wrote them says, or what is wrong with it.
pub(super) fn readable(schema: &'static EntitySchema, rows: &Group) -> std::result::Result<Old, Unreadable> {
    let old = Old::looked_at(schema, rows)?;
    let (image, by) = (&old.written, old.written.schema);
    if let Some(wrong) = by.properties().find_map(|property| misfit(property, image.fields.get(property.property))) {
        return Err(wrong.into());
    }
    if let Some(Err(wrong)) = by.reads.map(|reads| reads(&image.fields)) {
        return Err(wrong.to_string().into());
    }
    let again = Image::new(by, image.fields.clone())?;
    if again.key != image.key {
        return Err(format!("the key of its fields is {}", again.key).into());
    }
    Ok(old)
}

/// What is wrong with a stored value, by its type alone. Other programs' integers and texts are taken as reading does.
fn misfit(property: &PropertySchema, value: Option<ValueRef<'_>>) -> Option<String> {
    let Some(value) = value else {
        let may_be_absent = property.nullable || property.default.is_some() || property.codec == JSON;
        return (!may_be_absent).then(|| format!("property `{}` is absent", property.property));
    };
    let is_number = matches!(value.edm(), EdmType::Int32 | EdmType::Int64);
    let fits = match property.edm {
        edm if edm == value.edm() => true,
        EdmType::String if property.codec == BLOB => value.edm() == EdmType::Binary,
        EdmType::Int32 | EdmType::Int64 | EdmType::Double => is_number,
        EdmType::String => is_number && matches!(property.codec, "u64" | "u128" | "i128" | "decimal"),
        EdmType::Guid => value.edm() == EdmType::String,
        EdmType::Binary | EdmType::Boolean | EdmType::DateTime => false,
    };
    (!fits).then(|| format!("property `{}` is {}, not {}", property.property, value.edm(), property.edm))
}
