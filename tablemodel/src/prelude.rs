//! What a program that uses tablemodel needs in scope: the derives, the traits with methods, and the common types.
//!
//! Nothing is defined here.

pub use crate::{
    Database, EntityScan, ErrorKind, KeyPart, Path, Projection, Property, Row, Seen, Stored, TableEntity, TableModel,
};
