//! Indexes that would be taken for those of the version before.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

macro_rules! upgrade {
    ($old:ident => $new:ident) => {
        impl Upgrade<$old> for $new {
            fn upgrade($old { p, id, name }: $old) -> Result<Self, UpgradeError> {
                Ok(Self { p, id, name })
            }
        }
    };
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{p}_{id}", keys_only))]
#[table(list(of_name, row = "l_{name}"))]
#[table(index(plain, row = "n_{name}_{id}", keys_only))]
struct Old {
    p: String,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", version = 2, previous = Old, partition = "{p}", row = "{id}")]
#[table(index(named, table = "Names", partition = "{name}", row = "{p}_{id}", keys_only))]
struct OtherName {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => OtherName);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", version = 2, previous = Old, partition = "{p}", row = "{id}")]
#[table(index(of_name, row = "l_{name}", unique, keys_only))]
struct NoList {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => NoList);

/// What is written over may have another name, and the same may hold something else.
#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", version = 2, previous = Old, partition = "{p}", row = "{id}")]
#[table(index(other, row = "n_{name}_{id}", keys_only))]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{p}_{id}"))]
#[table(index(named, table = "Named", partition = "{name}", row = "{p}_{id}", keys_only))]
struct Allowed {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => Allowed);

fn main() {}
