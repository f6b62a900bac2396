//! Older versions that kept an aggregate otherwise than it is kept now: what they left would be misread.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "Shops", partition = "{name}", row = "shop", sharded(count = i64))]
struct Shop {
    name: String,
    #[table(aggregate)]
    best: Option<u32>,
    #[table(aggregate)]
    largest: Option<u64>,
    #[table(aggregate)]
    total: f64,
    #[table(aggregate)]
    sales: i64,
}

/// The shop as it was.
#[derive(TableEntity)]
#[table(name = "Shops", entity_type = "Shop", partition = "{name}", row = "shop")]
struct OldShop {
    name: String,
    #[table(aggregate)]
    count: i64,
}

macro_rules! versions {
    ($old:ident($was:meta), $new:ident($is:meta), $price:ty, $now:ty) => {
        #[derive(TableEntity)]
        #[table(name = "Sales", entity_type = "Sale", partition = "{shop}", row = "{id:06}", frozen)]
        #[$was]
        struct $old {
            shop: String,
            id: u32,
            price: $price,
        }

        #[derive(TableEntity)]
        #[table(name = "Sales", entity_type = "Sale", version = 2, previous = $old, partition = "{shop}", row = "{id:06}")]
        #[$is]
        struct $new {
            shop: String,
            id: u32,
            price: $now,
        }

        impl Upgrade<$old> for $new {
            fn upgrade(_: $old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("never"))
            }
        }
    };
}

versions!(
    Least(table(min(Shop, key(name = shop), of = price, into = best))),
    Greatest(table(max(Shop, key(name = shop), of = price, into = best))),
    u32,
    u32
);
versions!(
    Narrow(table(max(Shop, key(name = shop), of = price, into = largest))),
    Wide(table(max(Shop, key(name = shop), of = price, into = largest))),
    u32,
    u64
);
versions!(
    Whole(table(sum(Shop, key(name = shop), of = price, into = total))),
    Broken(table(sum(Shop, key(name = shop), of = price, into = total))),
    i32,
    f64
);
versions!(
    Counted(table(count(Shop, key(name = shop), into = total))),
    Summed(table(sum(Shop, key(name = shop), of = price, into = total))),
    f64,
    f64
);
versions!(
    Ranked(table(max(Shop, key(name = shop), of = price, into = sales))),
    Added(table(sum(Shop, key(name = shop), of = price, into = sales))),
    u32,
    u32
);
versions!(
    Many(table(count(Shop, key(name = shop), into = best))),
    First(table(min(Shop, key(name = shop), of = price, into = best))),
    u32,
    u32
);
versions!(
    InOne(table(count(OldShop, key(name = shop), into = count))),
    InParts(table(count(Shop, key(name = shop), into = count))),
    u32,
    u32
);

fn main() {}
