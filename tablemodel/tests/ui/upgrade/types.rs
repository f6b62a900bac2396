//! No upgrade, or none to what older programs read.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "T", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
struct ThingV1 {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "T", version = 2, previous = ThingV1, partition = "{p}", row = "{id}")]
struct Thing {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "T", entity_type = "Part", frozen, partition = "{p}", row = "part_{id}")]
struct PartV1 {
    p: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "T", version = 2, previous = PartV1, readable_by = 1, downgrade, partition = "{p}", row = "part_{id}")]
struct Part {
    p: String,
    id: u32,
}

impl Upgrade<PartV1> for Part {
    fn upgrade(PartV1 { p, id }: PartV1) -> Result<Self, UpgradeError> {
        Ok(Self { p, id })
    }
}

fn main() {
    let _ = ThingV1::find();
}
