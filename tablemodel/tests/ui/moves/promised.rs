//! Moves that could not be done whole.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

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
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{p}_{id}", keys_only))]
struct Old {
    p: String,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Others", version = 2, moved_from = Old, partition = "{p}", row = "{id}")]
struct OtherType {
    p: String,
    id: u32,
}
upgrade!(Old => OtherType);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 1, moved_from = Old, partition = "{p}", row = "{id}")]
struct SameVersion {
    p: String,
    id: u32,
}
upgrade!(Old => SameVersion);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", version = 2, moved_from = Old, partition = "{id}", row = "{p}")]
struct SameKeys {
    p: String,
    id: u32,
}
upgrade!(Old => SameKeys);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
#[table(index(by_name, table = "names", partition = "{name}", row = "{p}_{id}", keys_only))]
struct SameIndexKeys {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => SameIndexKeys);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
#[table(index(by_name, row = "n_{name}", unique, keys_only))]
struct Unique {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => Unique);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
#[table(list(of_name, row = "n_{name}"))]
struct Listed {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => Listed);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, adopt, partition = "{p}", row = "t_{id}")]
struct Adopted {
    p: String,
    id: u32,
}
upgrade!(Old => Adopted);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
struct WithoutUpgrade {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", moves_to = Newer, partition = "{p}", row = "{id}")]
struct Current {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", version = 2, partition = "{p}", row = "t_{id}")]
struct Newer {
    p: String,
    id: u32,
}
upgrade!(Current => Newer);

#[derive(TableEntity)]
#[table(name = "Things", partition = "{p}", row = "t_{number}")]
struct Neighbour {
    p: String,
    number: u32,
}

#[derive(TableModel)]
enum Model {
    Current(Current),
    Neighbour(Neighbour),
}

fn main() {}
