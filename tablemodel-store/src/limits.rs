//! Each number that a table store limits, with its unit and source.
//!
//! Sources: (model) Azure "Understanding the Table service data model"; (targets) Azure "Scalability and
//! performance targets for Table storage"; (batch) Azure "Performing entity group transactions";
//! (query) Azure "Query timeout and pagination"; (filter) Azure "Querying tables and entities".

/// Characters (UTF-16 code units) of a partition key, and of a row key. (model): 1 KiB each.
pub const MAX_KEY_CHARS: usize = 1_024;
/// Properties of a row beside PartitionKey, RowKey and Timestamp. (model): 255 with those three.
pub const MAX_PROPERTIES: usize = 252;
/// UTF-16 code units of a property's name. (model)
pub const MAX_PROPERTY_NAME_CHARS: usize = 255;
/// Bytes of one `Edm.Binary` value. (model)
pub const MAX_BINARY_BYTES: usize = 64 * 1024;
/// UTF-16 code units of one `Edm.String` value: 64 KiB of UTF-16. (model)
pub const MAX_STRING_CHARS: usize = 32 * 1024;
/// Bytes of one row by [`size::row_bytes`](crate::size::row_bytes). (model): 1 MiB.
pub const MAX_ROW_BYTES: usize = 1024 * 1024;
/// Operations of one batch. (batch)
pub const MAX_BATCH_OPERATIONS: usize = 100;
/// Bytes of one batch's request body, as Azure's JSON, by [`size::batch_bytes`](crate::size::batch_bytes). (batch): 4 MiB.
pub const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Rows of one page. (query)
pub const MAX_PAGE_ROWS: usize = 1_000;
/// Comparisons of one query: of its filter, and of the keys that its range names. (filter)
pub const MAX_QUERY_COMPARISONS: usize = 15;
/// Letters and digits of a table's name, at least. (model)
pub const MIN_TABLE_NAME_CHARS: usize = 3;
/// Letters and digits of a table's name, at most. (model)
pub const MAX_TABLE_NAME_CHARS: usize = 63;
