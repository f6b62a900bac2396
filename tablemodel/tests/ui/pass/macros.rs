//! Derives in macros of the user, which give them types and names.
#![deny(warnings, missing_docs, nonstandard_style, unreachable_pub, single_use_lifetimes)]
#![deny(missing_debug_implementations, unnameable_types)]
#![deny(clippy::all, clippy::pedantic, clippy::indexing_slicing, clippy::unwrap_used)]

/// A struct made by a macro, with types and texts that come as fragments.
macro_rules! entity {
    ($name:ident, $table:literal, $key:ty) => {
        /// Made by a macro.
        #[derive(Debug, tablemodel::TableEntity)]
        #[table(name = $table, partition = "{tenant}", row = "{id}")]
        pub struct $name {
            /// A field.
            pub tenant: $key,
            /// A field.
            pub id: $key,
        }
    };
}
entity!(Made, "Made", String);
entity!(MadeAgain, "Made", u64);

macro_rules! entity_of_names {
    ($name:ident, $key:ident, $($value:tt)*) => {
        /// Made by a macro that was given names.
        #[derive(Debug, tablemodel::TableEntity)]
        #[table(name = "MadeOfNames", partition = "{tenant}", row = "{id}")]
        pub struct $name {
            /// A field.
            pub tenant: $key,
            /// A field.
            pub id: $key,
            /// A field.
            pub value: $($value)*,
            /// A field.
            #[table(json)]
            pub list: $key,
        }
    };
}
entity_of_names!(MadeOfNames, String, u32);

macro_rules! model_of_names {
    ($name:ident, $entity:ident, $other:ident, $of:ident) => {
        /// Made by a macro that was given names.
        #[derive(Debug, tablemodel::TableModel)]
        pub enum $name {
            /// A variant.
            Entity($entity),
            /// What it does not know.
            #[table(other)]
            Other(tablemodel::$other),
        }

        /// A projection of it.
        #[derive(Debug, tablemodel::Projection)]
        #[table(of = $entity)]
        pub struct $of {
            /// A field.
            pub value: u32,
        }
    };
}
model_of_names!(ModelOfNames, MadeOfNames, Row, PartOfNames);

/// What a crate has that passes tablemodel on, together with macros of its own.
pub mod facade {
    pub use ::tablemodel as tm;
}

macro_rules! passed_on {
    ($name:ident, $group:ident, $key:ident) => {
        /// Made by a macro of a crate that passes tablemodel on: who uses it need not depend on tablemodel.
        #[derive(Debug, $crate::facade::tm::TableEntity)]
        #[table(crate = $crate::facade::tm, name = "PassedOn", partition = "{tenant}", row = "{id}")]
        pub struct $name {
            /// A field.
            pub tenant: $key,
            /// A field.
            pub id: $key,
            /// A field.
            #[table(flatten)]
            pub group: $group,
        }

        /// Beside it.
        #[derive(Debug, $crate::facade::tm::Property)]
        #[table(crate = crate::facade::tm)]
        pub struct $group {
            /// A field.
            pub value: u32,
        }
    };
}
passed_on!(PassedOn, PassedOnGroup, String);

fn main() {
    let path = PassedOn::find().tenant("a").id("b");
    let _ = tablemodel::Path::explain(&path);
    let path = MadeOfNames::find().tenant("a").id("b");
    let _ = tablemodel::Path::explain(&path);
}
