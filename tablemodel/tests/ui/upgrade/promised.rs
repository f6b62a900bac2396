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

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Long", frozen, partition = "{p}", row = "{id}")]
struct LongV1 {
    p: String,
    id: u32,
    #[table(chunked)]
    notes: String,
    summary: Option<String>,
}

/// The older version knows of chunks, and finds none of this one's summary.
#[derive(TableEntity)]
#[table(name = "Things", version = 2, previous = LongV1, readable_by = 1, partition = "{p}", row = "{id}")]
struct Long {
    p: String,
    id: u32,
    #[table(chunked)]
    notes: String,
    #[table(chunked)]
    summary: Option<String>,
}
upgrade!(LongV1 => Long);

#[derive(TableEntity)]
#[table(name = "Items", partition = "{p}", row = "{id}")]
struct Item {
    p: String,
    id: u32,
    name: String,
    price: u32,
}

#[derive(Projection)]
#[table(of = Item)]
struct Card {
    name: String,
    price: u32,
}

#[derive(Projection)]
#[table(of = Item)]
struct Name {
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Order", partition = "{p}", row = "{id}")]
struct OrderV1 {
    p: String,
    id: u32,
    #[table(copy_of(Item, key(p = p, id = id)))]
    item: Card,
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Order", version = 2, previous = OrderV1, readable_by = 1, partition = "{p}", row = "{id}")]
struct Dropped {
    p: String,
    id: u32,
}
upgrade!(OrderV1 => Dropped);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Order", version = 2, previous = OrderV1, readable_by = 1, partition = "{p}", row = "{id}")]
struct Fewer {
    p: String,
    id: u32,
    #[table(copy_of(Item, key(p = p, id = id)))]
    item: Name,
}
upgrade!(OrderV1 => Fewer);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Order", version = 2, previous = OrderV1, readable_by = 1, partition = "{p}", row = "{id}")]
struct Optional {
    p: String,
    id: u32,
    #[table(copy_of(Item, key(p = p, id = id)))]
    item: Option<Card>,
}
upgrade!(OrderV1 => Optional);

fn main() {}
