// The old version added to an aggregate that the new one keeps; its frozen struct has to say so, and as the lock does.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "Pages", entity_type = "LockedPage", partition = "{name}", row = "page")]
struct Page {
    name: String,
    #[table(aggregate)]
    visits: i64,
}

macro_rules! newest {
    ($name:ident of $old:ident) => {
        #[derive(TableEntity)]
        #[table(name = "Pages", entity_type = "LockedVisit", version = 2, previous = $old)]
        #[table(partition = "{site}", row = "visit_{id:06}")]
        #[table(count(Page, key(name = site), into = visits))]
        struct $name {
            site: String,
            id: u32,
            note: Option<String>,
        }

        impl Upgrade<$old> for $name {
            fn upgrade(_: $old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("never"))
            }
        }
    };
}

#[derive(TableEntity)]
#[table(name = "Pages", entity_type = "LockedVisit", partition = "{site}", row = "visit_{id:06}", frozen)]
struct Without {
    site: String,
    id: u32,
}
newest!(Visit of Without);

#[derive(TableEntity)]
#[table(name = "Pages", entity_type = "LockedVisit", partition = "{site}", row = "visit_{id:06}", frozen)]
#[table(sum(Page, key(name = site), of = id, into = visits))]
struct Another {
    site: String,
    id: u32,
}
newest!(Second of Another);

fn main() {}
