//! What kind of value stands in a key.
//! How it is written is the codec's.

use tablemodel_store::EdmType;

/// The kind of a key component, as [`KeyPart::TYPE`](super::KeyPart::TYPE) tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Any text, ordered by UTF-16 code units as every store orders keys.
    Text,
    /// An unsigned integer of 8, 16, 32, 64 or 128 bits.
    Unsigned(u8),
    /// A signed integer of 8, 16, 32, 64 or 128 bits.
    Signed(u8),
    /// A floating point number.
    Float,
    /// A truth value; `false` sorts first.
    Bool,
    /// A UUID, ordered by its bytes.
    Uuid,
    /// A ULID, ordered by time.
    Ulid,
    /// A calendar date without a zone.
    Date,
    /// A point in time, in ticks of 100 ns.
    Time,
    /// Bytes.
    Binary,
    /// A name from a fixed list.
    Enum {
        /// Whether the order of the Rust type is the order of the stored names.
        ordered: bool,
    },
}

impl KeyType {
    /// The type under which a property of this kind is stored.
    pub const fn edm(self) -> EdmType {
        match self {
            Self::Unsigned(0..=16) | Self::Signed(0..=32) => EdmType::Int32,
            Self::Unsigned(17..=32) | Self::Signed(33..=64) => EdmType::Int64,
            Self::Float => EdmType::Double,
            Self::Bool => EdmType::Boolean,
            Self::Uuid => EdmType::Guid,
            Self::Time => EdmType::DateTime,
            Self::Binary => EdmType::Binary,
            Self::Text
            | Self::Ulid
            | Self::Date
            | Self::Enum { .. }
            | Self::Unsigned(33..=u8::MAX)
            | Self::Signed(65..=u8::MAX) => EdmType::String,
        }
    }
}
