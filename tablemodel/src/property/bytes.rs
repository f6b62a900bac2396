//! Bytes as properties: `Edm.Binary`.
//! A property holds 64 KiB at most; the store checks that.

#[cfg(feature = "bytes")]
use ::bytes::Bytes;
use tablemodel_store::{EdmType, Value, ValueRef};

use super::{Property, ValueError};
use crate::{
    entity::FieldWriter,
    key::{KeyPart, KeyType, Samples},
};

fn read(value: Option<ValueRef<'_>>) -> Result<&[u8], ValueError> {
    match value.ok_or(ValueError::Missing)? {
        ValueRef::Binary(bytes) => Ok(bytes),
        other => Err(ValueError::WrongType { expected: EdmType::Binary, found: other.edm() }),
    }
}

impl Property for Vec<u8> {
    const EDM: EdmType = EdmType::Binary;
    const CODEC: &'static str = "bytes";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Binary(self.clone())))
    }

    fn add_to(&self, to: &mut FieldWriter, property: &'static str) {
        to.add_ref(property, ValueRef::Binary(self));
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        read(value).map(<[u8]>::to_vec)
    }
}

impl KeyPart for Vec<u8> {
    const TYPE: KeyType = KeyType::Binary;
    type Key = Self;
}

#[cfg(feature = "bytes")]
impl Property for Bytes {
    const EDM: EdmType = EdmType::Binary;
    const CODEC: &'static str = "bytes";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Binary(self.to_vec())))
    }

    fn add_to(&self, to: &mut FieldWriter, property: &'static str) {
        to.add_ref(property, ValueRef::Binary(self));
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        read(value).map(Self::copy_from_slice)
    }
}

#[cfg(feature = "bytes")]
impl KeyPart for Bytes {
    const TYPE: KeyType = KeyType::Binary;
    type Key = Self;
}

impl<const N: usize> Property for [u8; N] {
    const EDM: EdmType = EdmType::Binary;
    const CODEC: &'static str = ArrayName::<N>::TEXT;

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        Ok(Some(Value::Binary(self.to_vec())))
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let bytes = read(value)?;
        bytes.try_into().map_err(|_| ValueError::malformed(Self::CODEC, format_args!("{} bytes", bytes.len())))
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    const TYPE: KeyType = KeyType::Binary;
    const SAMPLES: Samples = Samples::Bytes(N);
    type Key = Self;
}

/// The length is part of the format, so it stands in the codec's name: `[u8; 32]`.
struct ArrayName<const N: usize>;

impl<const N: usize> ArrayName<N> {
    const BUFFER: [u8; 32] = name(N);
    const TEXT: &'static str = match std::str::from_utf8(&Self::BUFFER) {
        Ok(padded) => padded.trim_ascii_end(),
        Err(_) => "[u8; N]",
    };
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling; the buffer holds any usize")]
const fn name(len: usize) -> [u8; 32] {
    let mut name = [b' '; 32];
    let (mut at, mut divisor) = (5, 1);
    while len / divisor > 9 {
        divisor *= 10;
    }
    [name[0], name[1], name[2], name[3], name[4]] = *b"[u8; ";
    while divisor > 0 && at < name.len() - 1 {
        name[at] = b'0' + (len / divisor % 10) as u8;
        divisor /= 10;
        at += 1;
    }
    name[at] = b']';
    name
}
