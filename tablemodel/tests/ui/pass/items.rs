//! Fields named like structs and constants that are in scope: no parameter is taken for those.
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications)]
#![deny(clippy::all, clippy::pedantic)]

/// An entity among them.
#[allow(non_camel_case_types, non_upper_case_globals, dead_code)]
pub mod items {
    struct tenant(u8);
    struct region;
    const year: u32 = 3;
    static r#type: u32 = 3;
    struct id(u8);
    const note: &str = "a";
    const value: u8 = 4;
    static range: u8 = 3;
    struct text;
    struct to;
    struct from;
    struct row;
    struct partition(u8);
    const model: u32 = 3;
    static entity: u32 = 3;
    const other: &str = "a";

    /// The entity.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Items", partition = "{tenant}_{region}_{year}_{type}", row = "{id}", allow_scan)]
    #[table(index(by_note, partition = "{note}_{id}", row = "{tenant}_{region}_{year}_{type}", keys_only))]
    #[table(list(of_note, row = "note_{note}"))]
    pub struct Items {
        /// A field.
        pub tenant: String,
        /// A field.
        pub region: String,
        /// A field.
        pub year: u32,
        /// A field.
        pub r#type: u32,
        /// A field.
        pub id: u64,
        /// A field.
        pub note: String,
        /// A field.
        #[table(default = (value))]
        pub grade: u8,
        /// A field.
        pub kind: Kind,
        /// A field.
        #[table(flatten)]
        pub place: Place,
    }

    /// A value.
    #[derive(Clone, Copy, tablemodel::Property, tablemodel::KeyPart)]
    pub enum Kind {
        /// A variant.
        One,
    }

    /// A value.
    #[derive(tablemodel::Property, tablemodel::KeyPart)]
    pub struct Size(pub u8);

    /// A group.
    #[derive(tablemodel::Property)]
    pub struct Place {
        /// A field.
        #[table(default = Size(value))]
        pub size: Size,
    }

    /// A projection.
    #[derive(tablemodel::Projection)]
    #[table(of = Items)]
    pub struct Grade {
        /// A field.
        #[table(default = (value))]
        pub grade: u8,
    }

    /// A model.
    #[derive(tablemodel::TableModel)]
    pub enum Model {
        /// A variant.
        Items(Items),
        /// A variant.
        #[table(other)]
        Other(tablemodel::Row),
    }

    /// Names the partition.
    #[must_use]
    pub fn explained() -> String {
        let _ = Items::in_partition("a", "b", year, 4_u32);
        Items::scan_partition("a", "b", year, 4_u32).explain().to_string()
    }
}

fn main() {
    assert!(!items::explained().is_empty());
}
