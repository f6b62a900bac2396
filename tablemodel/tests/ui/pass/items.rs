//! Fields named like structs and constants that are in scope: no pattern may be called like those.
#![deny(warnings, missing_docs, unreachable_pub)]
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
