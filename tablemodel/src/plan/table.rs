//! Names of tables: what the entity says, after the database's prefix, and before its slice where it has slices.
//!
//! Whether a name is legal is the store's to say.

use std::fmt;

/// The name of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableName {
    /// The run-time prefix of the database.
    pub(crate) prefix: String,
    /// The table, as the entity says.
    pub(crate) table: &'static str,
    /// The slice, for a table that is cut by time: its digits stand behind the name.
    pub(crate) slice: Option<String>,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.prefix, self.table, self.slice.as_deref().unwrap_or_default())
    }
}
