//! How delivery of an outbox row stands, as the row says.

use tablemodel_store::{DateTime, Properties, PropertyName, Row, Value, ValueRef};

use super::{ATTEMPTS, DELIVERED, DUE, POISON, POISON_UNITS};
use crate::plan::system;

/// The properties that say how delivery of an outbox row stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    pub(crate) attempts: i32,
    pub(crate) due: Option<DateTime>,
    pub(crate) delivered: Option<DateTime>,
    /// Why it was set aside, unless it was delivered since.
    pub(crate) poison: Option<String>,
}

impl Progress {
    /// As the row says.
    pub(crate) fn of(row: &Row) -> Self {
        let time = |name: &str| match row.properties.get(name) {
            Some(ValueRef::DateTime(time)) => Some(time),
            _ => None,
        };
        let attempts = match row.properties.get(ATTEMPTS) {
            Some(ValueRef::Int32(attempts)) => attempts,
            _ => 0,
        };
        let delivered = time(DELIVERED);
        let poison = match row.properties.get(POISON) {
            Some(ValueRef::String(text)) if delivered.is_none() => Some(text.to_owned()),
            _ => None,
        };
        Self { attempts, due: time(DUE), delivered, poison }
    }
}

/// That rows were delivered at this sequence; what is left is to sweep their tombstones once the fence has passed.
pub(crate) fn delivered(at: DateTime, sequence: i64) -> Properties {
    let mut properties = Properties::new();
    properties.insert(PropertyName::from_static(DELIVERED), at);
    properties.insert(PropertyName::from_static(system::SEQUENCE), Value::Int64(sequence));
    properties
}

/// That an attempt failed. Of why it is given up, as much is said as every row has room for: one that cannot say so would never be set aside.
pub(crate) fn failed(attempts: i32, due: DateTime, poison: Option<String>) -> Properties {
    let mut properties = Properties::new();
    properties.insert(PropertyName::from_static(ATTEMPTS), attempts);
    properties.insert(PropertyName::from_static(DUE), due);
    if let Some(poison) = poison {
        properties.insert(PropertyName::from_static(POISON), beginning(&poison));
    }
    properties
}

fn beginning(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= POISON_UNITS
    };
    text.chars().take_while(fits).collect()
}
