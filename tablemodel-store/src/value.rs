//! Property values: the eight Edm types of a table store, owned and borrowed.
//!
//! No conversion to or from Rust types of an application lives here (that is `tablemodel::property`).

use uuid::Uuid;

use crate::DateTime;

/// The type of a property, by its OData name.
///
/// Source: Azure Table service, "Understanding the Table service data model", property types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdmType {
    /// `Edm.Binary`: up to 64 KiB of bytes.
    Binary,
    /// `Edm.Boolean`.
    Boolean,
    /// `Edm.DateTime`: UTC, in steps of 100 ns, from 1601 to 9999.
    DateTime,
    /// `Edm.Double`: IEEE 754, 64 bits.
    Double,
    /// `Edm.Guid`: 128 bits.
    Guid,
    /// `Edm.Int32`.
    Int32,
    /// `Edm.Int64`.
    Int64,
    /// `Edm.String`: up to 32,768 UTF-16 code units (64 KiB).
    String,
}

impl EdmType {
    /// The OData name, such as `Edm.Int64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "Edm.Binary",
            Self::Boolean => "Edm.Boolean",
            Self::DateTime => "Edm.DateTime",
            Self::Double => "Edm.Double",
            Self::Guid => "Edm.Guid",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::String => "Edm.String",
        }
    }

    /// The type with this OData name.
    pub fn from_name(name: &str) -> Option<Self> {
        const ALL: [EdmType; 8] = [
            EdmType::Binary,
            EdmType::Boolean,
            EdmType::DateTime,
            EdmType::Double,
            EdmType::Guid,
            EdmType::Int32,
            EdmType::Int64,
            EdmType::String,
        ];
        ALL.into_iter().find(|edm| edm.name() == name)
    }
}

impl std::fmt::Display for EdmType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One property value, owned.
///
/// Equality is by type and value; two doubles are equal when their bits are (so `NaN` equals itself
/// and `-0.0` differs from `0.0`), since a stored value either is the same or is not.
#[derive(Debug, Clone)]
pub enum Value {
    /// `Edm.Binary`.
    Binary(Vec<u8>),
    /// `Edm.Boolean`.
    Boolean(bool),
    /// `Edm.DateTime`.
    DateTime(DateTime),
    /// `Edm.Double`.
    Double(f64),
    /// `Edm.Guid`.
    Guid(Uuid),
    /// `Edm.Int32`.
    Int32(i32),
    /// `Edm.Int64`.
    Int64(i64),
    /// `Edm.String`.
    String(String),
}

/// One property value, borrowed from a row.
#[derive(Debug, Clone, Copy)]
pub enum ValueRef<'a> {
    /// `Edm.Binary`.
    Binary(&'a [u8]),
    /// `Edm.Boolean`.
    Boolean(bool),
    /// `Edm.DateTime`.
    DateTime(DateTime),
    /// `Edm.Double`.
    Double(f64),
    /// `Edm.Guid`.
    Guid(Uuid),
    /// `Edm.Int32`.
    Int32(i32),
    /// `Edm.Int64`.
    Int64(i64),
    /// `Edm.String`.
    String(&'a str),
}

impl Value {
    /// The value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Binary(bytes) => ValueRef::Binary(bytes),
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::DateTime(value) => ValueRef::DateTime(*value),
            Self::Double(value) => ValueRef::Double(*value),
            Self::Guid(value) => ValueRef::Guid(*value),
            Self::Int32(value) => ValueRef::Int32(*value),
            Self::Int64(value) => ValueRef::Int64(*value),
            Self::String(text) => ValueRef::String(text),
        }
    }

    /// The type of this value.
    pub fn edm(&self) -> EdmType {
        self.as_ref().edm()
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Value {}

impl ValueRef<'_> {
    /// The type of this value.
    pub fn edm(&self) -> EdmType {
        match self {
            Self::Binary(_) => EdmType::Binary,
            Self::Boolean(_) => EdmType::Boolean,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Double(_) => EdmType::Double,
            Self::Guid(_) => EdmType::Guid,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::String(_) => EdmType::String,
        }
    }

    /// The value, copied.
    pub fn to_value(self) -> Value {
        match self {
            Self::Binary(bytes) => Value::Binary(bytes.to_vec()),
            Self::Boolean(value) => Value::Boolean(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Double(value) => Value::Double(value),
            Self::Guid(value) => Value::Guid(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::String(text) => Value::String(text.to_owned()),
        }
    }
}

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::DateTime(a), Self::DateTime(b)) => a == b,
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            (Self::Guid(a), Self::Guid(b)) => a == b,
            (Self::Int32(a), Self::Int32(b)) => a == b,
            (Self::Int64(a), Self::Int64(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for ValueRef<'_> {}

macro_rules! value_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

value_from! {
    Vec<u8> => Binary, &[u8] => Binary, bool => Boolean, DateTime => DateTime, f64 => Double, Uuid => Guid,
    i32 => Int32, i64 => Int64, String => String, &str => String,
}
