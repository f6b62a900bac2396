//! How an entity is cut into several rows, as constant data.
//!
//! Nothing is cut here.

/// How an entity is cut into several rows: a head at its keys, and parts behind it. See [`rooms::wide`](crate::rooms::wide).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Whether it may have more properties than a row takes.
    pub wide: bool,
    /// The stored names of the properties that are cut into chunks.
    pub chunked: &'static [&'static str],
    /// Fields that stand together, in parts of their own.
    pub parts: &'static [PartSchema],
}

/// Fields of an entity that stand together, apart from the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSchema {
    /// What the program calls the part; not stored.
    pub name: &'static str,
    /// The Rust fields.
    pub fields: &'static [&'static str],
}
