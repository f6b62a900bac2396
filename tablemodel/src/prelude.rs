//! What a program that uses tablemodel needs in scope: the derives, the traits with methods, and the common types.
//!
//! Nothing is defined here.

pub use tablemodel_derive::*;

pub use crate::{Database, EntityScan, ErrorKind, Path, Projection, Row, Seen, Stored, TableEntity, TableModel};
