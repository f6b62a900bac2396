//! Why a key could not be made or understood.
//! The entity and the path are not known here; whoever calls adds them.

use std::fmt;

use tablemodel_store::EdmType;

/// A key could not be made, or a text is not a key of the template. Nothing was read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyError {
    /// The field in question, by its Rust name; `None` when the fault lies between the fields.
    pub field: Option<&'static str>,
    /// What is wrong.
    pub fault: KeyFault,
}

/// What is wrong with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFault {
    /// A component has no value, and is not optional.
    Missing,
    /// The value is stored as another type than this component's.
    WrongType {
        /// The type that the component is stored as.
        expected: EdmType,
        /// The type of the value given.
        found: EdmType,
    },
    /// The template gives the component a codec that does not fit its type: [`Codec::fits`](super::Codec::fits).
    Unfit,
    /// The number has more digits than the template gives it.
    Overflow {
        /// The digits there are.
        width: u8,
    },
    /// A negative number where the template gives a width: `{id:06}` holds none.
    Negative,
    /// The number is a NaN, which has no place in an order.
    NotANumber,
    /// The value lies outside its type: a time before 1601, 300 for a `u8`.
    OutOfRange,
    /// The value's text is not one of its type: `2014-02-30` for a date.
    MalformedValue,
    /// A `raw` text holds a character that may not stand in a key.
    IllegalCharacter(char),
    /// A `raw` text holds the character that separates it from what follows.
    HoldsSeparator(char),
    /// A `raw` text would make a key of the framework's own: beginning with `~~`, or holding ` ~~`.
    Reserved,
    /// The key is too long.
    TooLong {
        /// Its UTF-16 code units.
        chars: usize,
        /// The most that a store takes.
        limit: usize,
    },
    /// The text is not a key of this template.
    NotThisTemplate,
    /// A bound or a prefix was given, but every component already has a value.
    NothingLeft,
    /// A range was asked of a component whose key order is not its own order.
    NotOrdered,
    /// A prefix was asked of a component that is no text.
    NotText,
}

impl KeyFault {
    pub(super) const fn of(self, field: &'static str) -> KeyError {
        KeyError { field: Some(field), fault: self }
    }

    pub(crate) const fn alone(self) -> KeyError {
        KeyError { field: None, fault: self }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "key field `{field}`: ")?;
        }
        self.fault.fmt(f)
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no value was given, and the key cannot do without"),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Unfit => f.write_str("the codec does not fit the type"),
            Self::Overflow { width } => write!(
                f,
                "the number has more than the {width} digits of its key; give the template more, or leave the width out"
            ),
            Self::Negative => {
                f.write_str("a negative number cannot stand in a field of fixed width; leave the width out")
            }
            Self::NotANumber => {
                f.write_str("NaN has no place in an order; keep it in a property, and another field in the key")
            }
            Self::OutOfRange => {
                f.write_str("the value lies outside the range of its type (a time: the years 1601 to 9999)")
            }
            Self::MalformedValue => f.write_str("the text is not a value of its type"),
            Self::IllegalCharacter(c) => write!(f, "{c:?} may not stand in a key; use a codec other than `raw`"),
            Self::HoldsSeparator(c) => {
                write!(f, "the text holds {c:?}, which separates it from what follows; use a codec other than `raw`")
            }
            Self::Reserved => {
                f.write_str("keys beginning with `~~` or holding ` ~~` are reserved; use a codec other than `raw`")
            }
            Self::TooLong { chars, limit } => {
                write!(
                    f,
                    "the key has {chars} characters, and at most {limit} are allowed; `{{field:hash}}` makes a short key of a long text"
                )
            }
            Self::NotThisTemplate => f.write_str("the text is not a key of this template"),
            Self::NothingLeft => f.write_str("every component already has a value"),
            Self::NotOrdered => f.write_str("keys are not in the order of this field, so it has no ranges"),
            Self::NotText => f.write_str("only a text has prefixes"),
        }
    }
}

impl std::error::Error for KeyError {}
