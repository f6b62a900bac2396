//! Why a value could not be stored or read.
//! Names of fields and rows are not known here; whoever calls adds them.

use std::fmt;

use tablemodel_store::EdmType;

/// Why a value has no stored form, or a stored value is not one of the Rust type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// The property is absent, and the Rust type is not an `Option`.
    Missing,
    /// What is asked for is an order that the stored values do not have.
    Unordered,
    /// The property is stored as another type, and no lossless reading exists.
    WrongType {
        /// The type that is stored for this Rust type.
        expected: EdmType,
        /// The type that was found.
        found: EdmType,
    },
    /// The value lies outside what the target can hold.
    OutOfRange {
        /// The Rust type, or the Edm type, that cannot hold the value.
        target: &'static str,
        /// The value, or what is wrong with it.
        detail: String,
    },
    /// The stored text or bytes are not a value of the type.
    Malformed {
        /// What was expected, such as `an RFC 9562 UUID`.
        expected: &'static str,
        /// What was found instead, or the parser's own words.
        detail: String,
    },
}

impl ValueError {
    /// [`ValueError::OutOfRange`].
    pub fn out_of_range(target: &'static str, detail: impl fmt::Display) -> Self {
        Self::OutOfRange { target, detail: detail.to_string() }
    }

    /// [`ValueError::Malformed`].
    pub fn malformed(expected: &'static str, detail: impl fmt::Display) -> Self {
        Self::Malformed { expected, detail: detail.to_string() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the property is missing; declare the field as an `Option` if it may be"),
            Self::Unordered => f.write_str(
                "its values are stored as texts, which are not in their order: ask for equal values, or compare what was read",
            ),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::OutOfRange { target, detail } => write!(f, "out of range for {target}: {detail}"),
            Self::Malformed { expected, detail } => write!(f, "expected {expected}: {detail}"),
        }
    }
}

impl std::error::Error for ValueError {}
