//! What a program that uses tablemodel needs in scope: the derives, the traits with methods, and the common types.
//!
//! Nothing is defined here.

// Also without a name: a program that imports `std::path::Path` keeps the terminals.
pub use crate::{ListPath as _, Path as _};

pub use tablemodel_derive::*;

#[cfg(feature = "blob")]
pub use crate::Blob;

pub use crate::{Database, EntityScan, ErrorKind, Path, Projection, Row, Seen, Stored, TableEntity, TableModel};
