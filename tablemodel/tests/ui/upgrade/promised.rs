//! Versions that do not fit together.

use tablemodel::{Downgrade, Upgrade, UpgradeError, prelude::*};

macro_rules! upgrade {
    ($old:ident => $new:ident) => {
        impl Upgrade<$old> for $new {
            fn upgrade(_: $old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("never"))
            }
        }
    };
}

#[derive(TableEntity)]
#[table(name = "Things", frozen, partition = "{p}", row = "{id}")]
struct Old {
    p: String,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Things", version = 2, previous = Old, partition = "{p}", row = "{id}")]
struct OtherType {
    p: String,
    id: u32,
}
upgrade!(Old => OtherType);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 1, previous = Old, partition = "{p}", row = "{id}")]
struct SameVersion {
    p: String,
    id: u32,
}
upgrade!(Old => SameVersion);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 2, previous = Old, partition = "{p}", row = "{id:06}")]
struct OtherKey {
    p: String,
    id: u32,
}
upgrade!(Old => OtherKey);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Old", version = 2, previous = Old, partition = "{p}", row = "{id}")]
struct OtherTable {
    p: String,
    id: u32,
}
upgrade!(Old => OtherTable);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 2, previous = Old, readable_by = 1, partition = "{p}", row = "{id}")]
struct Unreadable {
    p: String,
    id: u32,
}
upgrade!(Old => Unreadable);

#[derive(TableModel)]
enum Model {
    Old(Old),
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 2, frozen, partition = "{p}", row = "{id}")]
struct Second {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 3, previous = Second, adopt, partition = "{p}", row = "{id}")]
struct Adopting {
    p: String,
    id: u32,
}
upgrade!(Second => Adopting);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", frozen, partition = "{p}", row = "{id}")]
struct Named {
    p: String,
    id: u32,
    name: Option<String>,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 2, previous = Named, partition = "{p}", row = "{id}")]
struct Numbered {
    p: String,
    id: u32,
    name: u32,
}
upgrade!(Named => Numbered);

/// Under one name the two before it have two things, of which a row can hold one.
#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Old", version = 3, previous = Numbered, readable_by = 1, downgrade)]
#[table(partition = "{p}", row = "{id}")]
struct Torn {
    p: String,
    id: u32,
}
upgrade!(Numbered => Torn);

impl Downgrade<Numbered> for Torn {
    fn downgrade(&self) -> Numbered {
        unreachable!("never")
    }
}

fn main() {}
