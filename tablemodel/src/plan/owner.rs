//! Whose a derived row is, as the last components of its key: where that stands in another partition.

use super::system;
use crate::key::{Codec, KeyType, Part};

/// The partition key of the entity.
pub const OWNER_PARTITION: Part = owner("partition key", system::OWNER_PARTITION);
/// The row key of the entity.
pub const OWNER_ROW: Part = owner("row key", system::OWNER_ROW);

const fn owner(field: &'static str, property: &'static str) -> Part {
    Part { field, property, key_type: KeyType::Text, optional: false, codec: Codec::Plain }
}
