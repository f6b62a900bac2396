//! A blob field and its properties: the value itself in the row, or a link of three properties, as FORMAT.md draws it.
//!
//! What has to be uploaded first is collected here, and uploaded elsewhere.

use std::marker::PhantomData;

use tablemodel_store::{EdmType, Properties, PropertyName, RowKey, Value, ValueRef};

use super::{
    Blob, Link, PART_BYTES,
    name::{self, Named},
};
use crate::{
    entity::{FieldError, FieldReader, FieldWriter},
    path::field::Patch,
    property::ValueError,
};

/// The properties of a blob field: its own (the value, or the name of the blob), the length, the checksum.
pub type BlobNames = [&'static str; 3];

/// A blob of an entity whose place is not settled yet.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) names: BlobNames,
    /// Contents below so many bytes are kept in the row.
    pub(crate) inline_below: usize,
    pub(crate) blob: Blob,
}

impl Pending {
    /// As it stands, without an upload: a link, or content at hand.
    pub(crate) fn placed(&self) -> Option<Placed> {
        let link = self.blob.link().map(Placed::Link);
        link.or_else(|| self.blob.at_hand().map(|bytes| Placed::Value(bytes.to_vec())))
    }

    /// Whether a row that holds it so is as one that is written now.
    pub(crate) fn stays(&self, placed: &Placed) -> bool {
        match placed {
            Placed::Value(bytes) => bytes.len() < self.inline_below,
            Placed::Link(link) => self.is_linked(link),
        }
    }

    /// Whether what the link names is too long to be kept in the row.
    pub(crate) fn is_linked(&self, link: &Link) -> bool {
        link.length >= self.inline_below as u64
    }

    /// Its length in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.blob.at_hand().map_or(0, |bytes| bytes.len())
    }

    /// About the bytes of memory that what it does not have at hand takes while it is uploaded. None where its link is one of the entity
    /// at this key, whose row links it then, as a rule.
    pub(crate) fn fetched(&self, entity: &str, key: Option<&RowKey>) -> usize {
        match (self.blob.at_hand(), self.blob.link()) {
            (Some(_), _) => 0,
            (None, Some(link)) if key.is_some_and(|key| is_of(&link, entity, key)) => 0,
            (None, Some(link)) => usize::try_from(link.length).map_or(PART_BYTES, |length| length.min(PART_BYTES)),
            (None, None) => PART_BYTES,
        }
    }
}

/// Whether the link names a blob of the entity at this key.
fn is_of(link: &Link, entity: &str, key: &RowKey) -> bool {
    match name::parse(&link.name) {
        Some(Named::Blob(owner)) => owner.entity == entity && owner.key.as_ref() == Some(key),
        _ => false,
    }
}

impl FieldWriter {
    /// A field marked `blob`: written where it is small, else noted as one to be uploaded.
    pub fn put_blob(
        &mut self,
        names: BlobNames,
        inline_below: usize,
        blob: Option<&Blob>,
    ) -> std::result::Result<(), FieldError> {
        let Some(blob) = blob else { return Ok(()) };
        let [own, ..] = names;
        match blob.at_hand() {
            Some(bytes) if bytes.len() < inline_below => self.put(own, Ok(Some(Value::Binary(bytes.to_vec())))),
            _ => {
                self.add_blob(Pending { names, inline_below, blob: blob.clone() });
                Ok(())
            }
        }
    }
}

/// How a type is read: its `from_blob`.
type ReadBlob<T> = fn(Option<Blob>) -> std::result::Result<T, ValueError>;

impl FieldReader<'_> {
    /// A field marked `blob`, by its type's `from_blob`. Nothing is fetched.
    pub fn take_blob<T>(&self, names: BlobNames, read: ReadBlob<T>) -> std::result::Result<T, FieldError> {
        let [own, length, sum] = names;
        let blob = match self.take(own, held)? {
            None => None,
            Some(Held::Value(bytes)) => Some(Blob::from(bytes)),
            Some(Held::Name(name)) => {
                let length = self.take(length, integer)?.cast_unsigned();
                let sum = self.take(sum, integer)?.cast_unsigned();
                Some(Blob::stored(Link { name, length, sum }))
            }
        };
        read(blob).map_err(|error| FieldError { property: own, error })
    }
}

/// What the field's own property holds.
enum Held {
    Value(Vec<u8>),
    Name(String),
}

fn held(value: Option<ValueRef<'_>>) -> std::result::Result<Option<Held>, ValueError> {
    match value {
        None => Ok(None),
        Some(ValueRef::Binary(bytes)) => Ok(Some(Held::Value(bytes.to_vec()))),
        Some(ValueRef::String(name)) => Ok(Some(Held::Name(name.to_owned()))),
        Some(other) => Err(ValueError::WrongType { expected: EdmType::String, found: other.edm() }),
    }
}

fn integer(value: Option<ValueRef<'_>>) -> std::result::Result<i64, ValueError> {
    match value.ok_or(ValueError::Missing)? {
        ValueRef::Int64(number) => Ok(number),
        other => Err(ValueError::WrongType { expected: EdmType::Int64, found: other.edm() }),
    }
}

/// What a row holds of a blob once its place is settled.
#[derive(Debug)]
pub(crate) enum Placed {
    Value(Vec<u8>),
    Link(Link),
}

impl Placed {
    /// Puts it into the fields of an image, in place of what they held of it.
    pub(crate) fn put(self, names: BlobNames, fields: &mut Properties) {
        for name in names {
            fields.remove(name);
        }
        for (name, value) in self.properties(names) {
            fields.insert(PropertyName::from_static(name), value);
        }
    }

    /// The properties.
    pub(crate) fn properties(self, [own, length, sum]: BlobNames) -> Vec<(&'static str, Value)> {
        match self {
            Self::Value(bytes) => vec![(own, Value::Binary(bytes))],
            Self::Link(link) => vec![
                (own, Value::String(link.name)),
                (length, Value::Int64(link.length.cast_signed())),
                (sum, Value::Int64(link.sum.cast_signed())),
            ],
        }
    }
}

/// The handle of a blob field, such as `Employee::PHOTO`: for projections. A blob is neither compared nor patched.
pub struct BlobField<E, T> {
    names: BlobNames,
    types: PhantomData<fn() -> (E, T)>,
}

impl<E, T> Clone for BlobField<E, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T> Copy for BlobField<E, T> {}

impl<E, T> std::fmt::Debug for BlobField<E, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlobField({})", self.property())
    }
}

/// Never implemented: a blob is not set by a patch.
#[diagnostic::on_unimplemented(
    message = "a blob cannot be patched: its content has to be uploaded first",
    label = "a blob",
    note = "use `db.update(path, |entity| ..)`, and put the new `Blob` into the field"
)]
pub trait PatchBlob {
    /// The patch.
    fn patch<E>() -> Patch<E>;
}

impl<E, T> BlobField<E, T> {
    /// The field stored under these names. For generated code.
    #[doc(hidden)]
    pub const fn named(names: BlobNames) -> Self {
        Self { names, types: PhantomData }
    }

    /// The stored name.
    pub const fn property(&self) -> &'static str {
        let [own, ..] = self.names;
        own
    }

    /// The names of its three properties.
    pub const fn names(&self) -> BlobNames {
        self.names
    }

    /// Does not compile: see [`Database::update`](crate::Database::update).
    #[doc(hidden)]
    pub fn set<V>(self, _: V) -> Patch<E>
    where
        T: PatchBlob,
    {
        T::patch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::{BlobValue, Sum};

    const NAMES: BlobNames = ["Photo", "Photo_length", "Photo_sum"];

    fn taken<T: BlobValue>(properties: &[(&'static str, Value)]) -> std::result::Result<T, FieldError> {
        let properties: Properties = properties.iter().cloned().collect();
        FieldReader::new(&properties, &crate::key::NO_VALUES).take_blob(NAMES, T::from_blob)
    }

    #[test]
    fn a_link_and_a_value_come_back() {
        let link = Link { name: "a/b".to_owned(), length: u64::MAX, sum: Sum::of(b"x") };
        let blob: Blob = taken(&Placed::Link(link.clone()).properties(NAMES)).unwrap();
        assert_eq!(blob.link(), Some(link));
        let blob: Blob = taken(&Placed::Value(vec![7]).properties(NAMES)).unwrap();
        assert_eq!(blob.at_hand().map(|bytes| bytes.to_vec()), Some(vec![7]));
        assert_eq!(taken::<Option<Blob>>(&[]).unwrap(), None);
    }

    #[test]
    fn half_a_link_is_an_error_and_never_a_default() {
        let link = || Placed::Link(Link { name: "n".to_owned(), length: 1, sum: 2 }).properties(NAMES);
        for (missing, name) in NAMES.into_iter().enumerate().skip(1) {
            let mut properties = link();
            properties.remove(missing);
            let error = taken::<Option<Blob>>(&properties).unwrap_err();
            assert_eq!((error.property, error.error), (name, ValueError::Missing));
        }
        assert_eq!(taken::<Blob>(&[]).unwrap_err().error, ValueError::Missing);
        assert!(matches!(
            taken::<Blob>(&[("Photo", Value::Int32(1))]).unwrap_err().error,
            ValueError::WrongType { .. }
        ));
    }
}
